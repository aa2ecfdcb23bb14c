//! A server that is killed and started again.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::Place;

#[test]
fn a_killed_server_goes_on_where_it_was() {
    let place = Place::new();
    let arguments = ["demo-server", "--listen", "127.0.0.1:0", "--store", "tasks.db"];
    let mut first = place.serve(&arguments);
    let chunks = first.send("m1", "chunks 12 100", true);
    let asked = first.send("m2", "ask Which city?", false);
    first.until(&chunks, |it| {
        it["artifacts"][0]["parts"].as_array().is_some_and(|it| it.len() >= 3)
    });
    first.signal(Signal::KILL);
    first.end();

    let second = place.serve(&arguments);
    assert!(second.greeting.contains("1 task taken over"), "{}", second.greeting);
    let done = second.until(&chunks, |it| it["status"]["state"] == "TASK_STATE_COMPLETED");
    let parts = done["artifacts"][0]["parts"].as_array().unwrap();
    let texts: Vec<_> = parts.iter().map(|it| it["text"].as_str().unwrap().to_owned()).collect();
    let want: Vec<_> = (1..=12).map(|it| format!("chunk {it} of 12\n")).collect();
    assert_eq!(texts, want);
    assert_eq!(second.get(&asked)["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
}

/// The texts of the chunks of a task.
fn chunks_of(task: &Value) -> usize {
    task["artifacts"][0]["parts"].as_array().map_or(0, Vec::len)
}

fn to(task: &Value, id: &str, text: &str) -> Value {
    json!({
        "message": {
            "messageId": id, "taskId": task["id"], "role": "ROLE_USER", "parts": [{"text": text}],
        },
        "configuration": {"returnImmediately": true},
    })
}

const DEMO: [&str; 5] = ["demo-server", "--listen", "127.0.0.1:0", "--store", "tasks.db"];

#[test]
fn what_was_said_to_a_running_task_does_not_confuse_its_recovery() {
    let place = Place::new();
    let mut first = place.serve(&DEMO);
    let chunks = first.send("m1", "chunks 20 50", true);
    first.until(&chunks, |it| chunks_of(it) >= 3);
    let told = first.call("SendMessage", to(&chunks, "m2", "and this"))["task"].clone();
    assert_eq!(told["history"].as_array().unwrap().len(), 2, "{told}");
    first.signal(Signal::KILL);
    first.end();

    let second = place.serve(&DEMO);
    let done = second.until(&chunks, |it| it["status"]["state"] == "TASK_STATE_COMPLETED");
    assert_eq!((chunks_of(&done), done["history"].as_array().unwrap().len()), (20, 2), "{done}");
}

#[test]
fn who_waits_for_a_task_when_the_server_stops_changes_nothing_about_it() {
    let place = Place::new().file(
        "latimer.toml",
        "[server]\ndrain = \"300ms\"\n\n[[agents]]\nname = \"demo\"\nkind = \"demo\"\n\n\
         [store]\npath = \"tasks.db\"\n",
    );
    let arguments = ["serve", "--listen", "127.0.0.1:0"];
    let mut first = place.serve(&arguments);
    let chunks = first.send("m1", "chunks 30 50", true);
    first.until(&chunks, |it| chunks_of(it) >= 2);
    let mut waits = to(&chunks, "m2", "and this");
    waits["configuration"] = json!({});
    let address = first.address();
    let waiting = std::thread::spawn(move || {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": waits});
        std::process::Command::new("curl")
            .args(["-s", &format!("http://{address}/a2a"), "-H", "Content-Type: application/json"])
            .args(["-d", &body.to_string()])
            .output()
            .unwrap()
    });
    std::thread::sleep(std::time::Duration::from_millis(100));
    first.signal(Signal::TERM);
    assert!(first.end().success());
    let answer = String::from_utf8(waiting.join().unwrap().stdout).unwrap();
    assert!(answer.contains("shutting down"), "{answer}");

    let second = place.serve(&arguments);
    let done = second.until(&chunks, |it| it["status"]["state"] == "TASK_STATE_COMPLETED");
    assert_eq!(chunks_of(&done), 30, "{done}");
}

#[test]
fn a_queue_is_still_one_after_a_restart() {
    let place = Place::new().file(
        "latimer.toml",
        "[[agents]]\nname = \"demo\"\nkind = \"demo\"\ncontexts = \"queue\"\n\n\
         [store]\npath = \"tasks.db\"\n",
    );
    let arguments = ["serve", "--listen", "127.0.0.1:0"];
    let mut first = place.serve(&arguments);
    let [one, other] = ["chunks 20 50", "echo done"].map(|text| {
        let message = json!({
            "messageId": text, "contextId": "c", "role": "ROLE_USER", "parts": [{"text": text}],
        });
        let configuration = json!({"returnImmediately": true});
        let request = json!({"message": message, "configuration": configuration});
        first.call("SendMessage", request)["task"].clone()
    });
    first.until(&one, |it| chunks_of(it) >= 3);
    first.signal(Signal::KILL);
    first.end();

    let second = place.serve(&arguments);
    let last = second.until(&other, |it| it["status"]["state"] == "TASK_STATE_COMPLETED");
    assert_eq!(second.get(&one)["status"]["state"], "TASK_STATE_COMPLETED", "{last}");
}
