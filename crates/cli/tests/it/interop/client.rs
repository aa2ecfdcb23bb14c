//! Client programs built with the SDKs, and their results.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::sdk::{Binding, CheckOutcome, Language};
use super::workspace_root;

/// Time allowed for all checks of a client, sufficient on a slow machine. A client reports a check
/// that hangs much earlier.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(600);

/// Client program of an SDK, with the bindings that the SDK supports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sdk {
    language: Language,
    script: &'static str,
    bindings: &'static [Binding],
    /// Whether an SDK for 1.x runs in its compatibility mode for 0.3.
    compat: bool,
}

const fn sdk(language: Language, script: &'static str) -> Sdk {
    Sdk { language, script, bindings: Binding::ALL, compat: false }
}

pub(super) const PYTHON: Sdk = sdk(Language::Python("1.x"), "python/client_1x.py");
pub(super) const PYTHON_0_3: Sdk = sdk(Language::Python("0.3"), "python/client_0x.py");
pub(super) const PYTHON_0_2: Sdk = Sdk {
    bindings: &[Binding::JsonRpc, Binding::Grpc],
    language: Language::Python("0.2"),
    ..PYTHON_0_3
};
pub(super) const JS: Sdk = sdk(Language::JavaScript, "js/client_1x.mjs");
pub(super) const JS_0_3: Sdk = sdk(Language::JavaScript, "js/client_0_3.mjs");

/// Every SDK.
const SDKS: [Sdk; 7] = [
    PYTHON,
    Sdk { compat: true, ..PYTHON },
    PYTHON_0_3,
    PYTHON_0_2,
    JS,
    Sdk { compat: true, ..JS },
    JS_0_3,
];

/// One SDK over one binding.
#[derive(Debug)]
pub(super) struct SdkClient {
    /// Language and version, such as `Python 1.3.0`.
    pub(super) name: String,
    pub(super) binding: Binding,
    sdk: Sdk,
}

impl SdkClient {
    /// Returns every SDK over every binding that it supports.
    pub(super) fn all() -> Vec<Self> {
        SDKS.into_iter().flat_map(Self::for_sdk).collect()
    }

    /// Returns an SDK over every binding that it supports.
    pub(super) fn for_sdk(sdk: Sdk) -> impl Iterator<Item = Self> {
        let name = sdk.language.name(sdk.script, sdk.compat);
        sdk.bindings.iter().map(move |&binding| Self { name: name.clone(), binding, sdk })
    }

    /// Runs all checks against two agents: one with all features and a minimal one.
    pub(super) fn run(&self, base_urls: &[String; 2]) -> Vec<CheckOutcome> {
        let mut outcomes = run_to_end(self.command(base_urls));
        let not_reported =
            || CheckOutcome::Failed { detail: "the client exited before this check".to_owned() };
        operations()
            .map(|(_, operation, _)| outcomes.remove(&operation).unwrap_or_else(not_reported))
            .collect()
    }

    fn command(&self, base_urls: &[String; 2]) -> Command {
        let Sdk { language, script, compat, .. } = self.sdk;
        let mut command = language.run(&workspace_root().join("tests/interop").join(script));
        command.args(base_urls).arg(self.binding.argument()).args(compat.then_some("--compat"));
        command
    }
}

/// Returns group, key and title of every operation, in order.
pub(super) fn operations() -> impl Iterator<Item = (String, String, String)> {
    let file = fs::read_to_string(workspace_root().join("tests/interop/operations.json"));
    let groups: Map<String, Value> =
        serde_json::from_str(&file.expect("operations.json exists")).expect("valid JSON");
    groups.into_iter().flat_map(|(group, operations)| {
        let operations: Map<String, Value> = serde_json::from_value(operations).expect("an object");
        operations.into_iter().map(move |(key, title)| (group.clone(), key, string(&title)))
    })
}

/// Runs a client until it exits or `CLIENT_TIMEOUT` has passed, and returns its results by
/// operation.
fn run_to_end(mut command: Command) -> BTreeMap<String, CheckOutcome> {
    let mut process =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the client starts");
    let out = BufReader::new(process.stdout.take().expect("piped"));
    let (sender, receiver) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            sender.send(parse_outcome(&line)).ok();
        }
    });
    wait_with_timeout(&mut process);
    reader.join().expect("the output of the client is valid");
    receiver.into_iter().collect()
}

/// Parses a line of output: an operation and its result.
fn parse_outcome(line: &str) -> (String, CheckOutcome) {
    let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    let (detail, note) = (string(&line["detail"]), string(&line["note"]));
    let outcome = match line["ok"].as_bool() {
        Some(true) => CheckOutcome::Passed { note: Some(note).filter(|it| !it.is_empty()) },
        Some(false) => CheckOutcome::Failed { detail },
        None => CheckOutcome::Unsupported { reason: detail },
    };
    (string(&line["operation"]), outcome)
}

fn string(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn wait_with_timeout(process: &mut Child) {
    let deadline = Instant::now() + CLIENT_TIMEOUT;
    while process.try_wait().expect("a child process").is_none() {
        if Instant::now() > deadline {
            process.kill().ok();
        }
        thread::sleep(Duration::from_millis(50));
    }
}
