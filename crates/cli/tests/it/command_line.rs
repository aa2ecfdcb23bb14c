//! Help, versions, invalid arguments and completion scripts.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::TestDir;

const COMMANDS: &[(&str, &[&str])] = &[
    ("latimer", &[]),
    ("serve", &["serve"]),
    ("demo-server", &["demo-server"]),
    ("card", &["card"]),
    ("card-keygen", &["card", "keygen"]),
    ("card-sign", &["card", "sign"]),
    ("card-verify", &["card", "verify"]),
    ("config", &["config"]),
    ("config-check", &["config", "check"]),
    ("config-show", &["config", "show"]),
    ("config-hash-key", &["config", "hash-key"]),
    ("push", &["push"]),
    ("push-dead", &["push", "dead"]),
    ("push-dead-list", &["push", "dead", "list"]),
    ("push-dead-replay", &["push", "dead", "replay"]),
    ("push-dead-drop", &["push", "dead", "drop"]),
    ("completion", &["completion"]),
];

#[test]
fn help_matches_the_snapshot_and_fits_a_screen() {
    let dir = TestDir::new();
    for (name, command) in COMMANDS {
        let output = dir.run(&[command, &["--help"][..]].concat());
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{name}");
        for line in output.stdout.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        assert!(output.stdout.lines().count() <= 60, "{name}");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/help/{name}.txt"));
        if std::env::var_os("UPDATE_HELP").is_some() {
            fs::write(&path, &output.stdout).unwrap();
        }
        let snapshot = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            output.stdout, snapshot,
            "{name}: run this test with UPDATE_HELP=1 if the change is intended"
        );
    }
}

#[test]
fn version_flags_print_the_version() {
    for flag in ["-v", "-V", "--version"] {
        let output = TestDir::new().run(&[flag]);
        assert_eq!(output.code, Some(0));
        assert_eq!(output.stdout, format!("latimer {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn invalid_arguments_exit_with_code_2() {
    for (args, want) in [
        (&["serv"][..], "a similar subcommand exists: 'serve'"),
        (&["serve", "--lisen", "x"], "a similar argument exists: '--listen'"),
        (&["serve", "--echo", "--exec", "x"], "cannot be used with"),
        (&["serve", "--chunk", "x"], "--exec <COMMAND>"),
        (&["serve", "--exec", " "], "the command is empty"),
        (&["serve", "--env", "LANG"], "--exec <COMMAND>"),
        (&["serve", "--call-url"], "--proxy <URL>"),
        (&["serve", "--port", "8080"], "a similar argument exists: '--listen'"),
        (&["serve", "--port", "8080"], "--listen 127.0.0.1:PORT"),
        (&["demo-server", "--port=8080"], "--listen 127.0.0.1:PORT"),
        (&["completion", "tcl"], "possible values"),
        (&[], "Usage: latimer"),
    ] {
        let output = TestDir::new().run(args);
        assert_eq!(output.code, Some(2), "{args:?}");
        assert!(output.stderr.contains(want), "{args:?}: {}", output.stderr);
        assert_eq!(output.stdout, "", "{args:?}");
    }
}

#[test]
fn completion_scripts_are_valid() {
    let dir = TestDir::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = dir.run(&["completion", shell]);
        assert_eq!(output.code, Some(0), "{shell}");
        assert!(output.stdout.contains("demo-server"), "{shell}");
        let path = dir.path(shell);
        fs::write(&path, output.stdout).unwrap();
        // Checked by the shells that are installed.
        if matches!(shell, "bash" | "zsh" | "fish")
            && let Ok(checked) = Command::new(shell).arg("-n").arg(&path).status()
        {
            assert!(checked.success(), "{shell}");
        }
    }
}
