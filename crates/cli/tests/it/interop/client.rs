//! The programs that call the server, and what they say about it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::root;
use super::sdk::{Binding, Fate, Language};

/// Long enough for a slow machine; a client that hangs says so itself, much sooner.
const PATIENCE: Duration = Duration::from_secs(600);

/// One SDK over one binding.
#[derive(Debug)]
pub(super) struct Client {
    /// What it is, such as `Python 1.3.0`.
    pub(super) name: String,
    pub(super) binding: Binding,
    language: Language,
    script: &'static str,
    compat: bool,
}

impl Client {
    /// Every SDK over every binding it has.
    pub(super) fn all() -> Vec<Self> {
        let (python, script) = (Language::Python, "python/client_1x.py");
        let javascript = Language::JavaScript;
        let before_rest = &[Binding::JsonRpc, Binding::Grpc];
        [
            (python("1.x"), script, false, Binding::ALL),
            (python("1.x"), script, true, Binding::ALL),
            (python("0.3"), "python/client_0x.py", false, Binding::ALL),
            (python("0.2"), "python/client_0x.py", false, before_rest.as_slice()),
            (javascript, "js/client_1x.mjs", false, Binding::ALL),
            (javascript, "js/client_1x.mjs", true, Binding::ALL),
            (javascript, "js/client_0_3.mjs", false, Binding::ALL),
        ]
        .into_iter()
        .flat_map(|(language, script, compat, bindings)| {
            let name = language.name(script, compat);
            bindings.iter().map(move |&binding| Self {
                name: name.clone(),
                binding,
                language,
                script,
                compat,
            })
        })
        .collect()
    }

    /// Lets it ask everything of the demo server, and of the one that can do little.
    pub(super) fn run(&self, bases: &[String; 2]) -> Vec<Fate> {
        let mut fates = read(self.command(bases));
        let early = || Fate::Failed { detail: "the client ended before it".to_owned() };
        operations()
            .map(|(_, operation, _)| fates.remove(&operation).unwrap_or_else(early))
            .collect()
    }

    fn command(&self, bases: &[String; 2]) -> Command {
        let mut command = self.language.run(&root().join("tests/interop").join(self.script));
        command.args(bases).arg(self.binding.argument()).args(self.compat.then_some("--compat"));
        command
    }
}

/// Every operation, in order: its group, its key and what it is.
pub(super) fn operations() -> impl Iterator<Item = (String, String, String)> {
    let file = fs::read_to_string(root().join("tests/interop/operations.json"));
    let groups: Map<String, Value> =
        serde_json::from_str(&file.expect("it is there")).expect("it is JSON");
    groups.into_iter().flat_map(|(group, operations)| {
        let operations: Map<String, Value> =
            serde_json::from_value(operations).expect("it is an object");
        operations.into_iter().map(move |(key, title)| (group.clone(), key, text(&title)))
    })
}

/// Runs a command to its end, or until patience ends, and reads what it says.
fn read(mut command: Command) -> BTreeMap<String, Fate> {
    let mut process =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it is there");
    let out = BufReader::new(process.stdout.take().expect("piped"));
    let (tell, told) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            tell.send(fate(&line)).ok();
        }
    });
    wait(&mut process);
    reader.join().expect("a client prints what was agreed");
    told.into_iter().collect()
}

/// What a line says: an operation, and how it went.
fn fate(line: &str) -> (String, Fate) {
    let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    let (detail, note) = (text(&line["detail"]), text(&line["note"]));
    let fate = match line["ok"].as_bool() {
        Some(true) => Fate::Worked { note: Some(note).filter(|it| !it.is_empty()) },
        Some(false) => Fate::Failed { detail },
        None => Fate::Absent { reason: detail },
    };
    (text(&line["operation"]), fate)
}

fn text(value: &Value) -> String {
    value.as_str().expect("it is text").to_owned()
}

fn wait(process: &mut Child) {
    let deadline = Instant::now() + PATIENCE;
    while process.try_wait().expect("it is our process").is_none() {
        if Instant::now() > deadline {
            process.kill().ok();
        }
        thread::sleep(Duration::from_millis(50));
    }
}
