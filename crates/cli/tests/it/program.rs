//! Runs the binary in a temporary directory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Temporary directory and environment in which a test runs the binary.
pub(crate) struct TestDir {
    pub(crate) temp_dir: tempfile::TempDir,
    env_vars: Vec<(String, String)>,
}

impl TestDir {
    pub(crate) fn new() -> Self {
        Self { temp_dir: tempfile::tempdir().unwrap(), env_vars: Vec::new() }
    }

    pub(crate) fn with_env_var(mut self, name: &str, value: &str) -> Self {
        self.env_vars.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn with_file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp_dir.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latimer"));
        command.args(args).current_dir(self.temp_dir.path()).env_clear();
        command.env("HOME", self.temp_dir.path()).env("PATH", std::env::var_os("PATH").unwrap());
        command.envs(self.env_vars.iter().cloned());
        command
    }

    /// Runs a command until it exits.
    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        self.command(args).output().unwrap().into()
    }

    /// Runs a command with this standard input until it exits.
    pub(crate) fn run_with_stdin(&self, args: &[&str], input: &[u8]) -> CommandOutput {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap().into()
    }

    /// Runs a command with this standard output until it exits.
    pub(crate) fn run_with_stdout(&self, args: &[&str], stdout: Stdio) -> CommandOutput {
        self.spawn(args, stdout).wait_with_output().unwrap().into()
    }

    /// Starts a command with this standard output and a pipe as standard error.
    pub(crate) fn spawn(&self, args: &[&str], stdout: Stdio) -> Child {
        self.command(args).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Starts a server and waits until it is ready.
    pub(crate) fn serve(&self, args: &[&str]) -> ServerProcess {
        self.start(args, Stdio::piped())
    }

    /// Starts a server that logs to a file, because its log may exceed the capacity of a pipe.
    pub(crate) fn serve_logging_to(&self, name: &str, args: &[&str]) -> ServerProcess {
        self.start(args, File::create(self.path(name)).unwrap().into())
    }

    fn start(&self, args: &[&str], log: Stdio) -> ServerProcess {
        let mut command = self.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut log = child.stderr.take().map(BufReader::new);
        let mut startup_output = String::new();
        // As text, or as a JSON line.
        while !["ready in", r#""message":"ready""#].iter().any(|it| startup_output.contains(it)) {
            if stdout.read_line(&mut startup_output).unwrap() == 0 {
                let mut errors = String::new();
                if let Some(log) = &mut log {
                    log.read_to_string(&mut errors).unwrap();
                }
                panic!("{startup_output}\n{errors}");
            }
        }
        ServerProcess { child, startup_output, stdout, log }
    }
}

/// Exit code and output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A running server process. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
    pub(crate) startup_output: String,
    stdout: BufReader<ChildStdout>,
    log: Option<BufReader<ChildStderr>>,
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl ServerProcess {
    /// Returns the address in the startup output.
    pub(crate) fn address(&self) -> String {
        let url = match serde_json::from_str::<Value>(&self.startup_output) {
            Ok(ready) => ready["fields"]["a2a_url"].as_str().unwrap().to_owned(),
            Err(_) => {
                let line = self.startup_output.lines().find(|it| it.starts_with("a2a")).unwrap();
                line.split_whitespace().nth(1).unwrap().to_owned()
            }
        };
        url.split_once("://").unwrap().1.trim_end_matches("/a2a").to_owned()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for a log line that contains `text` and returns it.
    pub(crate) fn wait_for_log(&mut self, text: &str) -> String {
        let log = self.log.as_mut().expect("the log is a pipe");
        loop {
            let mut line = String::new();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "{text:?} was not logged");
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Waits until the process exits.
    pub(crate) fn wait_for_exit(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < Duration::from_secs(30), "the process does not exit");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Reads the rest of the startup output and returns the example command in it.
    pub(crate) fn read_example_command(&mut self) -> String {
        let mut text = String::new();
        while !text.trim_end().ends_with("}'") {
            assert_ne!(self.stdout.read_line(&mut text).unwrap(), 0, "{text}");
        }
        text.split_once("Try it:").unwrap().1.trim().to_owned()
    }

    /// Returns the remaining log of an exited process.
    pub(crate) fn remaining_log(&mut self) -> String {
        let mut text = String::new();
        self.log.as_mut().expect("the log is a pipe").read_to_string(&mut text).unwrap();
        text
    }

    /// Returns the remaining standard output of an exited process.
    pub(crate) fn remaining_stdout(&mut self) -> String {
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        text
    }

    /// Fetches a path and returns the body.
    pub(crate) fn fetch(&self, path: &str) -> String {
        self.fetch_as(path, "*/*")
    }

    /// Fetches a path as one media type and returns the body.
    pub(crate) fn fetch_as(&self, path: &str, accept: &str) -> String {
        self.fetch_response(path, accept).1
    }

    /// Fetches a path as one media type and returns the head and the body.
    pub(crate) fn fetch_response(&self, path: &str, accept: &str) -> (String, String) {
        let address = self.address();
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        (head.to_ascii_lowercase(), body.to_owned())
    }

    /// Posts JSON of version 1.0 and returns the response with its headers.
    pub(crate) fn post(&self, path: &str, body: &str) -> String {
        self.post_with_headers(path, body, "")
    }

    /// Posts JSON with additional header lines, each with its line end.
    pub(crate) fn post_with_headers(&self, path: &str, body: &str, headers: &str) -> String {
        let (address, length) = (self.address(), body.len());
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nA2A-Version: 1.0\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    /// Calls a JSON-RPC method and returns its result.
    pub(crate) fn call(&self, method: &str, parameters: Value) -> Value {
        let body = serde_json::json!({
            "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters,
        });
        let response = self.post("/a2a", &body.to_string());
        let body = response.split_once("\r\n\r\n").unwrap().1;
        let response: Value = serde_json::from_str(body).unwrap();
        assert!(response["error"].is_null(), "{response}");
        response["result"].clone()
    }

    /// Sends a message and returns the task.
    pub(crate) fn send_message(&self, id: &str, text: &str, immediately: bool) -> Value {
        let message =
            serde_json::json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
        let configuration = serde_json::json!({"returnImmediately": immediately});
        let parameters = serde_json::json!({"message": message, "configuration": configuration});
        self.call("SendMessage", parameters)["task"].clone()
    }

    pub(crate) fn get_task(&self, task: &Value) -> Value {
        self.call("GetTask", serde_json::json!({"id": task["id"]}))
    }

    /// Waits until a task meets a condition and returns it.
    pub(crate) fn wait_until(&self, task: &Value, condition: impl Fn(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            let task = self.get_task(task);
            if condition(&task) {
                return task;
            }
            assert!(started.elapsed() < Duration::from_secs(20), "{task}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Returns whether a process exits within 5 seconds. A zombie counts as exited.
pub(crate) fn process_exits(pid: &str) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(5) {
        match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) if !stat.contains(") Z ") => std::thread::sleep(Duration::from_millis(10)),
            _ => return true,
        }
    }
    false
}
