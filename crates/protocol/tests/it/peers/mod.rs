//! Interoperability with the official SDKs: payloads written by Latimer are read by an SDK, and
//! signed cards are exchanged.
//!
//! Each test starts an SDK as a process, sends it samples of every message type, and reads what the
//! SDK writes. `scripts/setup-peers` installs the SDKs.

mod cards;
mod change;
mod js;
mod python;
mod samples;
mod sdk_round_trip;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use latimer_protocol::Version;
use serde::{Deserialize, Serialize};

/// Process that decodes and encodes messages with an SDK. Dropping it stops the process.
#[derive(Debug)]
struct Sdk {
    version: &'static str,
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Sdk {
    /// Starts the Python SDK of a release line: `1.x`, `0.3` or `0.2`.
    fn python(line: &str) -> Self {
        let version = if line == "1.x" { "1.0" } else { "0.3" };
        Self::start(version, Command::new(python(line)).arg(peers_dir().join("python/parse.py")))
    }

    /// Starts the JavaScript SDK for a protocol version.
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

    /// Sends `wire` to the SDK and returns what the SDK writes, or its error.
    fn round_trip(&mut self, request: &SdkRequest<'_>) -> Result<String, String> {
        let mut line = serde_json::to_vec(&RequestLine { version: self.version, request })
            .expect("request is encodable");
        line.push(b'\n');
        self.stdin.write_all(&line).expect("SDK process is running");
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("SDK writes UTF-8");
        let response: SdkResponse = serde_json::from_str(&line).expect("SDK writes a response");
        if response.ok { Ok(response.wire) } else { Err(response.error) }
    }
}

impl Drop for Sdk {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Request to an SDK process, see `tests/peers/python/parse.py`.
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

/// Returns the path of the Python interpreter for an SDK release line.
fn python(line: &str) -> PathBuf {
    let venv = workspace_root().join(".venv").join(line);
    assert_installed(&venv.join(".stamp"));
    venv.join("bin/python")
}

/// Returns the directory of the scripts that run in the SDKs.
fn peers_dir() -> PathBuf {
    workspace_root().join("tests/peers")
}

fn workspace_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn assert_installed(stamp: &Path) {
    assert!(stamp.exists(), "an SDK is missing ({}): run scripts/setup-peers", stamp.display());
}
