//! The server under test: the binary as it is built.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The configuration of an agent that reads nothing but text.
const TEXT: &str = r#"
[[agents]]
name = "text"
kind = "echo"
input_modes = ["text/plain"]

[store]
kind = "memory"
"#;

/// A server, as long as it is kept.
#[derive(Debug)]
pub(super) struct Server {
    process: Child,
    base: String,
    /// Kept open, so that it can go on writing.
    _out: BufReader<ChildStdout>,
}

impl Server {
    /// The agent that does what it is told.
    pub(super) fn demo() -> Self {
        Self::start(&["demo-server"])
    }

    /// An agent that reads nothing but text.
    pub(super) fn of_text() -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        let file = folder.path().join("latimer.toml");
        fs::write(&file, TEXT).expect("there is room");
        Self::start(&["serve", "--config", file.to_str().expect("a plain path")])
    }

    fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_latimer"))
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary is built");
        let mut out = BufReader::new(process.stdout.take().expect("piped"));
        let base = out.by_ref().lines().map_while(Result::ok).find_map(|line| address(&line));
        Self { process, base: base.expect("the server says where it listens"), _out: out }
    }

    /// Where it is, such as `http://127.0.0.1:8080`.
    pub(super) fn base(&self) -> &str {
        &self.base
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The first address in a line, without its path.
fn address(line: &str) -> Option<String> {
    let start = line.find("http://")?;
    let host = &line[start + "http://".len()..];
    let end = host.find(|it: char| !(it.is_ascii_alphanumeric() || ".:".contains(it)));
    Some(format!("http://{}", &host[..end.unwrap_or(host.len())]))
}
