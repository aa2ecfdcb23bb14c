//! Help, versions, and what is wrong on the command line.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::Place;

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
    ("completion", &["completion"]),
];

#[test]
fn help_is_as_it_was_and_fits_a_screen() {
    let place = Place::new();
    for (name, command) in COMMANDS {
        let ran = place.run(&[command, &["--help"][..]].concat());
        assert_eq!((ran.code, ran.errors.as_str()), (Some(0), ""), "{name}");
        for line in ran.out.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        assert!(ran.out.lines().count() <= 60, "{name}");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/help/{name}.txt"));
        if std::env::var_os("UPDATE_HELP").is_some() {
            fs::write(&path, &ran.out).unwrap();
        }
        let known = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(ran.out, known, "{name}: run this test with UPDATE_HELP=1 if that is meant");
    }
}

#[test]
fn the_version_is_told_both_ways() {
    for flag in ["-v", "--version"] {
        let ran = Place::new().run(&[flag]);
        assert_eq!(ran.code, Some(0));
        assert_eq!(ran.out, format!("latimer {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn a_wrong_command_line_is_explained_with_code_2() {
    for (arguments, want) in [
        (&["serv"][..], "a similar subcommand exists: 'serve'"),
        (&["serve", "--lisen", "x"], "a similar argument exists: '--listen'"),
        (&["serve", "--echo", "--exec", "x"], "cannot be used with"),
        (&["serve", "--chunk", "x"], "--exec <COMMAND>"),
        (&["completion", "tcl"], "possible values"),
        (&[], "Usage: latimer"),
    ] {
        let ran = Place::new().run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(ran.errors.contains(want), "{arguments:?}: {}", ran.errors);
        assert_eq!(ran.out, "", "{arguments:?}");
    }
}

#[test]
fn completion_scripts_are_scripts() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = place.run(&["completion", shell]);
        assert_eq!(ran.code, Some(0), "{shell}");
        assert!(ran.out.contains("demo-server"), "{shell}");
        let path = place.path(shell);
        fs::write(&path, ran.out).unwrap();
        // Only those that are installed can tell.
        if matches!(shell, "bash" | "zsh" | "fish")
            && let Ok(checked) = Command::new(shell).arg("-n").arg(&path).status()
        {
            assert!(checked.success(), "{shell}");
        }
    }
}
