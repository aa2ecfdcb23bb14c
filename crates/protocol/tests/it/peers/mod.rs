//! What we write, as the official SDKs read it; and cards signed here and there.
//!
//! Each test starts an SDK as a process, hands it samples of every type of message, and reads what
//! the SDK makes of them. `scripts/setup-peers` installs the SDKs.

mod cards;
mod change;
mod js;
mod peer_leg;
mod python;
mod samples;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use latimer_protocol::Version;
use serde::{Deserialize, Serialize};

/// An SDK that reads and writes for us, as long as it is kept.
#[derive(Debug)]
struct Sdk {
    version: &'static str,
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Sdk {
    /// The SDK for Python of one line: `1.x`, `0.3` or `0.2`.
    fn python(line: &str) -> Self {
        let version = if line == "1.x" { "1.0" } else { "0.3" };
        Self::start(version, Command::new(python(line)).arg(peers_dir().join("python/parse.py")))
    }

    /// The SDK for JavaScript of one version.
    fn javascript(version: Version) -> Self {
        let version = if version == Version::V1_0 { "1.0" } else { "0.3" };
        assert_installed(&peers_dir().join("js/node_modules/.stamp"));
        Self::start(version, Command::new("node").arg(peers_dir().join("js/parse.mjs")))
    }

    fn start(version: &'static str, command: &mut Command) -> Self {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = started.unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
        let stdin = process.stdin.take().expect("piped");
        let stdout = BufReader::new(process.stdout.take().expect("piped"));
        Self { version, process, stdin, stdout }
    }

    /// Lets the SDK read `wire`, and returns what it writes, or why it does not.
    fn round_trip(&mut self, request: &SdkRequest<'_>) -> Result<String, String> {
        let mut line = serde_json::to_vec(&RequestLine { version: self.version, request })
            .expect("plain data");
        line.push(b'\n');
        self.stdin.write_all(&line).expect("the SDK is there");
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("the SDK answers in UTF-8");
        let response: SdkResponse = serde_json::from_str(&line).expect("the SDK answers");
        if response.ok { Ok(response.wire) } else { Err(response.error) }
    }
}

impl Drop for Sdk {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// What an SDK is asked to read: see `tests/peers/python/parse.py`.
#[derive(Debug, Serialize)]
struct SdkRequest<'a> {
    form: &'a str,
    r#type: &'a str,
    method: &'a str,
    wire: &'a str,
}

#[derive(Serialize)]
struct RequestLine<'a> {
    version: &'a str,
    #[serde(flatten)]
    request: &'a SdkRequest<'a>,
}

#[derive(Deserialize)]
struct SdkResponse {
    ok: bool,
    #[serde(default)]
    wire: String,
    #[serde(default)]
    error: String,
}

/// The interpreter of one line of the SDK for Python.
fn python(line: &str) -> PathBuf {
    let venv = workspace_root().join(".venv").join(line);
    assert_installed(&venv.join(".stamp"));
    venv.join("bin/python")
}

/// The folder of scripts that run in the SDKs.
fn peers_dir() -> PathBuf {
    workspace_root().join("tests/peers")
}

fn workspace_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn assert_installed(stamp: &Path) {
    assert!(stamp.exists(), "an SDK is missing ({}): run scripts/setup-peers", stamp.display());
}
