//! Gateways as processes: `serve --proxy`, remote agents, and recovery after `kill -9`.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{ServerProcess, TestDir};

const DEMO_ARGS: [&str; 5] = ["demo-server", "--listen", "127.0.0.1:0", "--store", "upstream.db"];

fn serve_proxy(dir: &TestDir, upstream: &str) -> ServerProcess {
    dir.serve(&["serve", "--listen", "127.0.0.1:0", "--proxy", &format!("http://{upstream}")])
}

/// Returns the text parts of the first artifact.
fn artifact_texts(task: &Value) -> Vec<String> {
    let parts = task["artifacts"][0]["parts"].as_array().cloned().unwrap_or_default();
    parts.iter().map(|it| it["text"].as_str().unwrap_or_default().to_owned()).collect()
}

fn expected_chunks(count: usize) -> Vec<String> {
    (1..=count).map(|it| format!("chunk {it} of {count}\n")).collect()
}

fn is_completed(task: &Value) -> bool {
    task["status"]["state"] == "TASK_STATE_COMPLETED"
}

#[test]
fn proxy_flag_serves_a_remote_agent() {
    let (dir, upstream_dir) = (TestDir::new(), TestDir::new());
    let demo = upstream_dir.serve(&DEMO_ARGS);
    let gateway = serve_proxy(&dir, &demo.address());
    assert!(gateway.startup_output.contains("agent  proxy"), "{}", gateway.startup_output);
    assert!(gateway.startup_output.contains("(a2a)"), "{}", gateway.startup_output);
    assert_eq!(artifact_texts(&gateway.send_message("m1", "chunks 3", false)), expected_chunks(3));
    let card: Value = serde_json::from_str(&gateway.fetch("/.well-known/agent-card.json")).unwrap();
    assert_eq!(card["name"], "demo");
    assert!(!card.to_string().contains(&demo.address()), "{card}");
    assert!(gateway.fetch("/metrics").contains("latimer_upstream_up{agent=\"proxy\"} 1"));
}

#[test]
fn proxy_url_without_agent_logs_a_warning() {
    let (dir, upstream_dir) = (TestDir::new(), TestDir::new());
    let demo = upstream_dir.serve(&DEMO_ARGS);
    let mut gateway = serve_proxy(&dir, &format!("{}/a2a/agents/nosuch", demo.address()));
    gateway.wait_for_log("upstream card may describe another agent");
}

#[test]
fn upstream_streaming_can_be_disabled() {
    let upstream_dir = TestDir::new();
    let demo = upstream_dir.serve(&DEMO_ARGS);
    for (stream, want) in [(false, 0), (true, 1)] {
        let config = format!(
            "[[agents]]\nname = \"partner\"\nkind = \"a2a\"\nurl = \"http://{}\"\nstream = {stream}\n\
             [store]\nkind = \"memory\"\n",
            demo.address(),
        );
        let dir = TestDir::new().with_file("latimer.toml", &config);
        let gateway = dir.serve(&["serve", "--listen", "127.0.0.1:0"]);
        let task = gateway.send_message("m1", "chunks 3 50", true);
        assert_eq!(artifact_texts(&gateway.wait_until(&task, is_completed)), expected_chunks(3));
        let metrics = demo.fetch("/metrics");
        let streamed =
            |it: &&str| it.starts_with("latimer_calls_total") && it.contains("Streaming");
        assert_eq!(metrics.lines().filter(streamed).count(), want, "{metrics}");
    }
}

#[test]
fn external_agent_is_discovered_but_not_published() {
    let upstream_dir = TestDir::new();
    let demo = upstream_dir.serve(&DEMO_ARGS);
    let address = demo.address();
    let config = format!(
        "[[agents]]\nname = \"own\"\nkind = \"echo\"\n\
         [[a2a.external_agents]]\nname = \"gone\"\nurl = \"http://127.0.0.1:9\"\n\
         [[a2a.external_agents]]\nname = \"partner\"\nurl = \"http://{address}/?key=s3cret\"\n"
    );
    let dir = TestDir::new().with_file("latimer.toml", &config);
    let mut server = dir.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let line = server.wait_for_log("upstream agent discovered");
    assert!(line.contains("partner") && line.contains(&format!("http://{address}")), "{line}");
    assert!(line.contains("skills=13") && !line.contains("s3cret"), "{line}");
    server.wait_for_log("upstream agent discovery failed");
    assert!(!server.startup_output.contains("partner"), "{}", server.startup_output);
    assert!(server.post("/agents/partner", "{}").starts_with("HTTP/1.1 404"));
}

#[test]
fn invalid_proxy_urls_are_rejected() {
    for (url, want) in [
        ("partner.example.com", "start it with https:// or http://"),
        ("https://user:word@partner.example.com", "a user name or a password"),
        ("http://", "not an http or https URL"),
    ] {
        let output = TestDir::new().run(&["serve", "--listen", "127.0.0.1:0", "--proxy", url]);
        assert_eq!(output.code, Some(2), "{url}: {output:?}");
        assert!(output.stderr.contains(want), "{url}: {}", output.stderr);
    }
}

#[test]
fn killed_gateway_resumes_upstream_tasks() {
    let (dir, upstream_dir) = (TestDir::new(), TestDir::new());
    let demo = upstream_dir.serve(&DEMO_ARGS);
    let mut gateway = serve_proxy(&dir, &demo.address());
    let running = gateway.send_message("m1", "chunks 20 100", true);
    let finishing = gateway.send_message("m2", "chunks 15 50", true);
    let question = gateway.send_message("m3", "ask Which city?", false);
    for task in [&running, &finishing] {
        gateway.wait_until(task, |it| artifact_texts(it).len() >= 3);
    }
    gateway.signal(Signal::KILL);
    gateway.wait_for_exit();
    // The upstream finishes one task while no gateway follows it.
    let upstream_tasks =
        || demo.call("ListTasks", json!({"includeArtifacts": true}))["tasks"].clone();
    let started = Instant::now();
    while !upstream_tasks()
        .as_array()
        .unwrap()
        .iter()
        .any(|it| artifact_texts(it).len() == 15 && is_completed(it))
    {
        assert!(started.elapsed() < Duration::from_secs(20), "{}", upstream_tasks());
        std::thread::sleep(Duration::from_millis(10));
    }

    let gateway = serve_proxy(&dir, &demo.address());
    assert!(gateway.startup_output.contains("recovering 2 tasks"), "{}", gateway.startup_output);
    assert_eq!(artifact_texts(&gateway.wait_until(&running, is_completed)), expected_chunks(20));
    assert_eq!(artifact_texts(&gateway.wait_until(&finishing, is_completed)), expected_chunks(15));
    let reply = json!({"message": {
        "messageId": "m4", "taskId": question["id"], "role": "ROLE_USER", "parts": [{"text": "Oslo"}],
    }});
    let answered = gateway.call("SendMessage", reply)["task"].clone();
    assert_eq!(
        (artifact_texts(&answered), is_completed(&answered)),
        (vec!["Oslo".to_owned()], true)
    );
    assert_eq!(
        upstream_tasks().as_array().unwrap().len(),
        3,
        "a message was sent twice: {}",
        upstream_tasks()
    );
}

#[test]
fn restarted_upstream_is_rediscovered() {
    let (dir, upstream_dir) = (TestDir::new(), TestDir::new());
    let mut demo = upstream_dir.serve(&DEMO_ARGS);
    let address = demo.address();
    let gateway = serve_proxy(&dir, &address);
    let running = gateway.send_message("m1", "chunks 20 100", true);
    gateway.wait_until(&running, |it| artifact_texts(it).len() >= 3);
    demo.signal(Signal::KILL);
    demo.wait_for_exit();
    let restart_args = ["demo-server", "--listen", &address, "--store", "upstream.db"];
    let demo = upstream_dir.serve(&restart_args);
    assert_eq!(artifact_texts(&gateway.wait_until(&running, is_completed)), expected_chunks(20));
    assert_eq!(artifact_texts(&gateway.send_message("m2", "chunks 2", false)), expected_chunks(2));
    drop(demo);
}
