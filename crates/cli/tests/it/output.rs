//! Standard output that cannot be written: a full disk and a closed pipe.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, pipe};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use crate::program::{CommandOutput, TestDir};

/// Commands that print a result, in a directory with a signing key and a card.
const COMMANDS: &[&[&str]] = &[
    &["card", "keygen"],
    &["card", "sign", "--key", "signing.pem", "card.json"],
    &["config", "show"],
    &["config", "check"],
    &["serve", "--check"],
    &["completion", "bash"],
    &["serve", "--help"],
    &["--version"],
];

fn signing_dir() -> TestDir {
    let card = r#"{"name": "a", "url": "https://a.example", "version": "1"}"#;
    let dir = TestDir::new().with_file("card.json", card);
    assert_eq!(dir.run(&["card", "keygen", "--out", "signing.pem"]).code, Some(0));
    let signed = dir.run(COMMANDS[1]);
    assert_eq!(signed.code, Some(0), "{signed:?}");
    dir
}

/// Returns a device that fails every write, like a full disk.
fn full_device() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

/// Returns the write end of a pipe whose read end is closed.
fn closed_pipe() -> Stdio {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    writer.into()
}

#[cfg(target_os = "linux")]
#[test]
fn unwritable_stdout_is_an_error() {
    let dir = signing_dir();
    for command in COMMANDS {
        let CommandOutput { code, stderr, .. } = dir.run_with_stdout(command, full_device());
        assert_eq!(code, Some(1), "{command:?}: {stderr}");
        let want = "error: cannot write to standard output: No space left on device";
        assert!(stderr.contains(want), "{command:?}: {stderr}");
    }
}

#[test]
fn closed_stdout_pipe_is_no_error() {
    let dir = signing_dir();
    for command in COMMANDS {
        let CommandOutput { code, stderr, .. } = dir.run_with_stdout(command, closed_pipe());
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{command:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn server_runs_if_its_summary_cannot_be_printed() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let dir = TestDir::new();
    let mut server = dir.spawn(&["demo-server", "--listen", &address], full_device());
    let mut log = BufReader::new(server.stderr.take().unwrap()).lines();
    let warning = log.find(|it| it.as_ref().is_ok_and(|it| it.starts_with("warning: ")));
    let listens = TcpStream::connect(&address).is_ok();
    server.kill().unwrap();
    server.wait().unwrap();
    let warning = warning.expect("a warning").unwrap();
    assert!(warning.contains("cannot write to standard output"), "{warning}");
    assert!(listens, "the server stopped");
}
