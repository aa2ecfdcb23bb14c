//! Recovery of tasks when a server is stopped and restarted.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::TestDir;

#[test]
fn killed_server_resumes_running_tasks() {
    let dir = TestDir::new();
    let args = ["demo-server", "--listen", "127.0.0.1:0", "--store", "tasks.db"];
    let mut first = dir.serve(&args);
    let chunks = first.send_message("m1", "chunks 12 100", true);
    let question = first.send_message("m2", "ask Which city?", false);
    first.wait_until(&chunks, |it| {
        it["artifacts"][0]["parts"].as_array().is_some_and(|it| it.len() >= 3)
    });
    first.signal(Signal::KILL);
    first.wait_for_exit();

    let second = dir.serve(&args);
    assert!(second.startup_output.contains("recovering 1 task"), "{}", second.startup_output);
    let done = second.wait_until(&chunks, |it| it["status"]["state"] == "TASK_STATE_COMPLETED");
    let parts = done["artifacts"][0]["parts"].as_array().unwrap();
    let texts: Vec<_> = parts.iter().map(|it| it["text"].as_str().unwrap().to_owned()).collect();
    let want: Vec<_> = (1..=12).map(|it| format!("chunk {it} of 12\n")).collect();
    assert_eq!(texts, want);
    assert_eq!(second.get_task(&question)["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
}

/// Returns the number of parts in the first artifact.
fn chunk_count(task: &Value) -> usize {
    task["artifacts"][0]["parts"].as_array().map_or(0, Vec::len)
}

fn follow_up(task: &Value, id: &str, text: &str) -> Value {
    json!({
        "message": {
            "messageId": id, "taskId": task["id"], "role": "ROLE_USER", "parts": [{"text": text}],
        },
        "configuration": {"returnImmediately": true},
    })
}

const DEMO_ARGS: [&str; 5] = ["demo-server", "--listen", "127.0.0.1:0", "--store", "tasks.db"];

#[test]
fn follow_up_to_running_task_survives_recovery() {
    let dir = TestDir::new();
    let mut first = dir.serve(&DEMO_ARGS);
    let chunks = first.send_message("m1", "chunks 20 50", true);
    first.wait_until(&chunks, |it| chunk_count(it) >= 3);
    let updated = first.call("SendMessage", follow_up(&chunks, "m2", "and this"))["task"].clone();
    assert_eq!(updated["history"].as_array().unwrap().len(), 2, "{updated}");
    first.signal(Signal::KILL);
    first.wait_for_exit();

    let second = dir.serve(&DEMO_ARGS);
    let done = second.wait_until(&chunks, |it| it["status"]["state"] == "TASK_STATE_COMPLETED");
    assert_eq!((chunk_count(&done), done["history"].as_array().unwrap().len()), (20, 2), "{done}");
}

#[test]
fn task_with_blocked_caller_resumes_after_shutdown() {
    let dir = TestDir::new().with_file(
        "latimer.toml",
        "[server]\ndrain = \"300ms\"\n\n[[agents]]\nname = \"demo\"\nkind = \"demo\"\n\n\
         [store]\npath = \"tasks.db\"\n",
    );
    let args = ["serve", "--listen", "127.0.0.1:0"];
    let mut first = dir.serve(&args);
    let chunks = first.send_message("m1", "chunks 30 50", true);
    first.wait_until(&chunks, |it| chunk_count(it) >= 2);
    let mut blocking_request = follow_up(&chunks, "m2", "and this");
    blocking_request["configuration"] = json!({});
    let address = first.address();
    let blocked_caller = std::thread::spawn(move || {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": blocking_request});
        std::process::Command::new("curl")
            .args(["-s", &format!("http://{address}/a2a"), "-H", "Content-Type: application/json"])
            .args(["-d", &body.to_string()])
            .output()
            .unwrap()
    });
    std::thread::sleep(std::time::Duration::from_millis(100));
    first.signal(Signal::TERM);
    assert!(first.wait_for_exit().success());
    let response = String::from_utf8(blocked_caller.join().unwrap().stdout).unwrap();
    assert!(response.contains("shutting down"), "{response}");

    let second = dir.serve(&args);
    let done = second.wait_until(&chunks, |it| it["status"]["state"] == "TASK_STATE_COMPLETED");
    assert_eq!(chunk_count(&done), 30, "{done}");
}

#[test]
fn queued_tasks_stay_queued_after_restart() {
    let dir = TestDir::new().with_file(
        "latimer.toml",
        "[[agents]]\nname = \"demo\"\nkind = \"demo\"\ncontexts = \"queue\"\n\n\
         [store]\npath = \"tasks.db\"\n",
    );
    let args = ["serve", "--listen", "127.0.0.1:0"];
    let mut first = dir.serve(&args);
    let [one, other] = ["chunks 20 50", "echo done"].map(|text| {
        let message = json!({
            "messageId": text, "contextId": "c", "role": "ROLE_USER", "parts": [{"text": text}],
        });
        let configuration = json!({"returnImmediately": true});
        let request = json!({"message": message, "configuration": configuration});
        first.call("SendMessage", request)["task"].clone()
    });
    first.wait_until(&one, |it| chunk_count(it) >= 3);
    first.signal(Signal::KILL);
    first.wait_for_exit();

    let second = dir.serve(&args);
    let last = second.wait_until(&other, |it| it["status"]["state"] == "TASK_STATE_COMPLETED");
    assert_eq!(second.get_task(&one)["status"]["state"], "TASK_STATE_COMPLETED", "{last}");
}
