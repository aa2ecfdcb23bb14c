//! Interfaces that users depend on are unchanged: nothing in `recorded/`, the output of a previous
//! build, is missing. Additions are compatible.
//!
//! | file in `recorded/` | contents |
//! | --- | --- |
//! | `flags.txt` | every subcommand, flag and argument in the help texts |
//! | `metrics.txt`, `openmetrics.txt` | types, names and labels of all metrics, in both formats |
//! | `every_key.toml`, `every_key.json` | a configuration that sets every key, and its effective values |
//! | `defaults.json` | effective values without a configuration |
//! | `tasks.db`, `tasks.db.key`, `expected.json` | a database after `kill -9`, and the tasks in it |

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{ServerProcess, TestDir};

/// A server with the agents and limits that the files in `recorded/` were recorded with.
const CONFIG: &str = r#"
listen = "127.0.0.1:0"

[store]
path = "tasks.db"
max_age = "36500d"

[push]
attempts = 2
first_pause = "10ms"
longest_pause = "20ms"

[[agents]]
name = "demo"
kind = "demo"

[[agents]]
name = "echo"
kind = "echo"
"#;

const COMMANDS: &[&str] = &[
    "",
    "serve",
    "demo-server",
    "card",
    "card keygen",
    "card sign",
    "card verify",
    "config",
    "config check",
    "config show",
    "config hash-key",
    "push",
    "push dead",
    "push dead list",
    "push dead replay",
    "push dead drop",
    "completion",
];

fn recorded_path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/it/compatibility/recorded", name].iter().collect()
}

fn recorded_lines(name: &str) -> BTreeSet<String> {
    fs::read_to_string(recorded_path(name)).unwrap().lines().map(str::to_owned).collect()
}

fn recorded_json(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(recorded_path(name)).unwrap()).unwrap()
}

/// Checks that nothing recorded is missing. Additions are compatible.
fn assert_contains(subject: &str, current: &BTreeSet<String>, recorded: &BTreeSet<String>) {
    let missing: Vec<_> = recorded.difference(current).collect();
    assert!(missing.is_empty(), "{subject}: {missing:#?}");
}

#[test]
fn help_lists_the_recorded_flags() {
    let directory = TestDir::new();
    let mut listed = BTreeSet::new();
    for command in COMMANDS {
        let arguments: Vec<_> = command.split_whitespace().chain(["--help"]).collect();
        let help = directory.run(&arguments).stdout;
        let name = if command.is_empty() { "latimer" } else { command };
        listed.extend(entries(&help).map(|it| format!("{name}: {it}")));
    }
    assert_contains("help", &listed, &recorded_lines("flags.txt"));
}

/// Returns subcommands, flags and arguments of a help text: the first column below the headings.
fn entries(help: &str) -> impl Iterator<Item = &str> {
    let mut heading = "";
    help.lines().filter(|line| !line.is_empty()).filter_map(move |line| {
        if !line.starts_with(' ') {
            heading = line;
            return None;
        }
        let entry = line.trim_start().split("  ").next()?;
        let indent = line.len() - line.trim_start().len();
        match heading {
            "Commands:" => (indent == 2).then(|| entry.split(' ').next()).flatten(),
            "Options:" | "Arguments:" => {
                (indent <= 6 && entry.starts_with(['-', '<', '['])).then_some(entry)
            }
            _ => None,
        }
    })
}

#[test]
fn metrics_have_the_recorded_names_and_labels() {
    let directory = TestDir::new().with_file("latimer.toml", CONFIG);
    let server = directory.serve(&["serve"]);
    server.send_message("m1", "hello", false);
    for (accept, recorded) in
        [("text/plain", "metrics.txt"), ("application/openmetrics-text", "openmetrics.txt")]
    {
        let text = server.fetch_as("/metrics", accept);
        let names: BTreeSet<_> = text.lines().filter_map(metric).collect();
        assert_contains(accept, &names, &recorded_lines(recorded));
    }
}

/// Returns a `# TYPE` line as it is, and a sample as its name and label names.
fn metric(line: &str) -> Option<String> {
    if line.starts_with('#') {
        return line.starts_with("# TYPE").then(|| line.to_owned());
    }
    let (sample, _value) = line.rsplit_once(' ')?;
    let Some((name, labels)) = sample.split_once('{') else { return Some(sample.to_owned()) };
    let labels = labels.trim_end_matches('}').split("\",");
    let labels: Vec<_> = labels.filter_map(|it| it.split('=').next()).collect();
    Some(format!("{name}{{{}}}", labels.join(",")))
}

/// Keys of one kind of agent that have a default.
const DEFAULTS_BY_KIND: &[(&str, &[&str])] = &[
    ("command", &["input", "env", "inherit_home", "max_output", "show_stderr"]),
    ("demo", &["extended_card", "open_ended"]),
    (
        "a2a",
        &[
            "call_url",
            "headers",
            "oauth.scopes",
            "oauth.servers",
            "idle_timeout",
            "stream",
            "signatures",
            "trusted_keys",
            "hops",
            "forward_user",
        ],
    ),
];

/// Defaults that were changed on purpose, with the reason.
const CHANGED_DEFAULTS: &[(&str, &str)] = &[(
    "common clients give up a stream that is silent for five seconds",
    r#"{"key":"server.keep_alive","value":"\"15s\"","source":"default"}"#,
)];

#[test]
fn every_configuration_key_has_the_recorded_effect() {
    let directory = TestDir::new();
    fs::copy(recorded_path("every_key.toml"), directory.path("every_key.toml")).unwrap();
    for (arguments, recorded) in [
        (&["config", "show", "-o", "json", "--config", "every_key.toml"][..], "every_key.json"),
        (&["config", "show", "-o", "json"], "defaults.json"),
    ] {
        let ran = directory.run(arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let home = directory.path("").display().to_string();
        let shown = ran.stdout.replace(home.trim_end_matches('/'), "/home/user");
        let shown = settings(&serde_json::from_str(&shown).unwrap());
        let mut want = settings(&without_other_kinds(recorded_json(recorded)));
        want.retain(|it| !CHANGED_DEFAULTS.iter().any(|(_, setting)| it == setting));
        assert_contains(recorded, &shown, &want);
    }
}

/// Removes default values of keys that belong to another kind than that of their agent. The previous
/// build listed them for agents of every kind.
fn without_other_kinds(recorded: Value) -> Value {
    let listed = recorded.as_array().unwrap();
    let value = |key: &str| listed.iter().find(|it| it["key"] == key).map(|it| &it["value"]);
    let is_kept = |setting: &&Value| {
        let key = setting["key"].as_str().unwrap();
        let agent = key.split_once("].").filter(|(agent, _)| agent.starts_with("agents["));
        let Some((agent, key)) = agent.filter(|_| setting["source"] == "default") else {
            return true;
        };
        let kind = value(&format!("{agent}].kind")).unwrap().as_str().unwrap().trim_matches('"');
        let owner = DEFAULTS_BY_KIND.iter().find(|(_, keys)| keys.contains(&key));
        owner.is_none_or(|(owner, _)| *owner == kind)
    };
    listed.iter().filter(is_kept).cloned().collect()
}

/// Returns key, value and source of each effective setting.
fn settings(shown: &Value) -> BTreeSet<String> {
    shown.as_array().unwrap().iter().map(Value::to_string).collect()
}

/// Returns a directory with the recorded database and the configuration that it was recorded with.
fn dir_with_recorded_database() -> TestDir {
    let directory = TestDir::new().with_file("latimer.toml", CONFIG);
    for name in ["tasks.db", "tasks.db.key"] {
        fs::copy(recorded_path(name), directory.path(name)).unwrap();
    }
    directory
}

#[test]
fn database_of_the_previous_build_is_read_and_continued() {
    let directory = dir_with_recorded_database();
    let server = directory.serve(&["serve"]);
    assert!(server.startup_output.contains("recovering 1 task"), "{}", server.startup_output);
    let recorded = recorded_json("expected.json");
    for (name, task) in recorded["tasks"].as_object().unwrap() {
        let read = server.get_task(task);
        if name == "m-wait" {
            assert_eq!(read["status"]["state"], "TASK_STATE_WORKING", "{read}");
            assert_eq!(read["history"], task["history"]);
        } else {
            assert_eq!(read, *task, "{name}");
        }
    }
    check_resend(&server, &recorded["tasks"]["m-echo"]);
    check_follow_up(&server, &recorded["tasks"]["m-ask"]);
    let dead_letters: Value = serde_json::from_str(&server.fetch("/api/push/dead")).unwrap();
    assert_eq!(dead_letters, recorded["dead"]);
    let webhook = serde_json::json!({"taskId": recorded["ids"]["m-hook"], "id": "hook"});
    let webhook = server.call("GetTaskPushNotificationConfig", webhook);
    assert_eq!(webhook["url"], "http://127.0.0.1:9/gone?token=planted", "{webhook}");
}

#[test]
fn recorded_message_resent_in_time_returns_its_task() {
    let directory = dir_with_recorded_database();
    extend_idempotency_window(&directory.path("tasks.db"), ECHO_ROW);
    let server = directory.serve(&["serve"]);
    let resent = server.send_message("m-echo", "hello", false);
    assert_eq!(resent, recorded_json("expected.json")["tasks"]["m-echo"]);
}

/// Row of the table `sent` with the idempotency record of the message `m-echo`.
const ECHO_ROW: i64 = 1;

/// Moves the expiry of an idempotency record to the year 2100. A record consists of a key of 16
/// bytes, the expiry in milliseconds and the row of an event, both little-endian.
fn extend_idempotency_window(database: &Path, row: i64) {
    const YEAR_2100_MILLIS: i64 = 4_102_444_800_000;
    let database = rusqlite::Connection::open(database).unwrap();
    let select = "SELECT messages FROM sent WHERE place = ?1";
    let mut record: Vec<u8> = database.query_row(select, [row], |it| it.get(0)).unwrap();
    assert_eq!(record.len(), 32, "the row has one record");
    record[16..24].copy_from_slice(&YEAR_2100_MILLIS.to_le_bytes());
    let update = "UPDATE sent SET messages = ?1 WHERE place = ?2";
    assert_eq!(database.execute(update, rusqlite::params![record, row]), Ok(1));
}

/// The idempotency window of the recorded message has expired: a resend creates a new task.
fn check_resend(server: &ServerProcess, task: &Value) {
    let resent = server.send_message("m-echo", "hello", false);
    assert_ne!(resent["id"], task["id"]);
    assert_eq!(resent["status"]["state"], "TASK_STATE_COMPLETED", "{resent}");
}

fn check_follow_up(server: &ServerProcess, task: &Value) {
    let message = serde_json::json!({
        "messageId": "m-city", "taskId": task["id"], "role": "ROLE_USER", "parts": [{"text": "Paris"}],
    });
    let answered = server.call("SendMessage", serde_json::json!({"message": message}));
    assert_eq!(answered["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{answered}");
}
