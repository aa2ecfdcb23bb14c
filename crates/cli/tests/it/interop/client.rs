//! The programs that call the server, and what they say about it.

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

/// Long enough for a slow machine; a client that hangs says so itself, much sooner.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(600);

/// The client of an SDK, and the bindings it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sdk {
    language: Language,
    script: &'static str,
    bindings: &'static [Binding],
    /// Whether it is one of 1.x that speaks 0.3 as well, and is asked to.
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
    /// What it is, such as `Python 1.3.0`.
    pub(super) name: String,
    pub(super) binding: Binding,
    sdk: Sdk,
}

impl SdkClient {
    /// Every SDK over every binding it has.
    pub(super) fn all() -> Vec<Self> {
        SDKS.into_iter().flat_map(Self::for_sdk).collect()
    }

    /// An SDK over every binding it has.
    pub(super) fn for_sdk(sdk: Sdk) -> impl Iterator<Item = Self> {
        let name = sdk.language.name(sdk.script, sdk.compat);
        sdk.bindings.iter().map(move |&binding| Self { name: name.clone(), binding, sdk })
    }

    /// Lets it ask everything of the demo server, and of the one that can do little.
    pub(super) fn run(&self, base_urls: &[String; 2]) -> Vec<CheckOutcome> {
        let mut outcomes = run_to_end(self.command(base_urls));
        let not_reported =
            || CheckOutcome::Failed { detail: "the client ended before it".to_owned() };
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

/// Every operation, in order: its group, its key and what it is.
pub(super) fn operations() -> impl Iterator<Item = (String, String, String)> {
    let file = fs::read_to_string(workspace_root().join("tests/interop/operations.json"));
    let groups: Map<String, Value> =
        serde_json::from_str(&file.expect("it is there")).expect("it is JSON");
    groups.into_iter().flat_map(|(group, operations)| {
        let operations: Map<String, Value> =
            serde_json::from_value(operations).expect("it is an object");
        operations.into_iter().map(move |(key, title)| (group.clone(), key, string(&title)))
    })
}

/// Runs a command to its end, or until patience ends, and reads what it says.
fn run_to_end(mut command: Command) -> BTreeMap<String, CheckOutcome> {
    let mut process =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it is there");
    let out = BufReader::new(process.stdout.take().expect("piped"));
    let (sender, receiver) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            sender.send(parse_outcome(&line)).ok();
        }
    });
    wait_with_timeout(&mut process);
    reader.join().expect("a client prints what was agreed");
    receiver.into_iter().collect()
}

/// What a line says: an operation, and how it went.
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
    value.as_str().expect("it is text").to_owned()
}

fn wait_with_timeout(process: &mut Child) {
    let deadline = Instant::now() + CLIENT_TIMEOUT;
    while process.try_wait().expect("it is our process").is_none() {
        if Instant::now() > deadline {
            process.kill().ok();
        }
        thread::sleep(Duration::from_millis(50));
    }
}
