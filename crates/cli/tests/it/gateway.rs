//! `latimer serve --proxy`, and gateways that are killed: real processes on both sides.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Place, Serving};

const DEMO: [&str; 5] = ["demo-server", "--listen", "127.0.0.1:0", "--store", "behind.db"];

fn proxy(place: &Place, behind: &str) -> Serving {
    place.serve(&["serve", "--listen", "127.0.0.1:0", "--proxy", &format!("http://{behind}")])
}

/// The texts of the first artifact.
fn texts(task: &Value) -> Vec<String> {
    let parts = task["artifacts"][0]["parts"].as_array().cloned().unwrap_or_default();
    parts.iter().map(|it| it["text"].as_str().unwrap_or_default().to_owned()).collect()
}

fn chunks(count: usize) -> Vec<String> {
    (1..=count).map(|it| format!("chunk {it} of {count}\n")).collect()
}

fn is_completed(task: &Value) -> bool {
    task["status"]["state"] == "TASK_STATE_COMPLETED"
}

#[test]
fn an_agent_elsewhere_is_served_without_a_file() {
    let (place, behind) = (Place::new(), Place::new());
    let demo = behind.serve(&DEMO);
    let gateway = proxy(&place, &demo.address());
    assert!(gateway.greeting.contains("agent  proxy"), "{}", gateway.greeting);
    assert!(gateway.greeting.contains("(a2a)"), "{}", gateway.greeting);
    assert_eq!(texts(&gateway.send("m1", "chunks 3", false)), chunks(3));
    let card: Value = serde_json::from_str(&gateway.fetch("/.well-known/agent-card.json")).unwrap();
    assert_eq!(card["name"], "demo");
    assert!(!card.to_string().contains(&demo.address()), "{card}");
    assert!(gateway.fetch("/metrics").contains("latimer_upstream_up{agent=\"proxy\"} 1"));
}

#[test]
fn an_address_without_an_agent_is_not_silently_that_of_another() {
    let (place, behind) = (Place::new(), Place::new());
    let demo = behind.serve(&DEMO);
    let mut gateway = proxy(&place, &format!("{}/a2a/agents/nosuch", demo.address()));
    gateway.until_logged("the agent behind may be another one");
}

#[test]
fn streams_of_the_agent_behind_can_be_left_alone() {
    let behind = Place::new();
    let demo = behind.serve(&DEMO);
    for (stream, want) in [(false, 0), (true, 1)] {
        let config = format!(
            "[[agents]]\nname = \"partner\"\nkind = \"a2a\"\nurl = \"http://{}\"\nstream = {stream}\n\
             [store]\nkind = \"memory\"\n",
            demo.address(),
        );
        let place = Place::new().file("latimer.toml", &config);
        let gateway = place.serve(&["serve", "--listen", "127.0.0.1:0"]);
        let task = gateway.send("m1", "chunks 3 50", true);
        assert_eq!(texts(&gateway.until(&task, is_completed)), chunks(3));
        let numbers = demo.fetch("/metrics");
        let streamed =
            |it: &&str| it.starts_with("latimer_calls_total") && it.contains("Streaming");
        assert_eq!(numbers.lines().filter(streamed).count(), want, "{numbers}");
    }
}

#[test]
fn an_agent_that_is_only_listed_is_found_and_not_published() {
    let behind = Place::new();
    let demo = behind.serve(&DEMO);
    let address = demo.address();
    let config = format!(
        "[[agents]]\nname = \"own\"\nkind = \"echo\"\n\
         [[a2a.external_agents]]\nname = \"gone\"\nurl = \"http://127.0.0.1:9\"\n\
         [[a2a.external_agents]]\nname = \"partner\"\nurl = \"http://{address}/?key=s3cret\"\n"
    );
    let place = Place::new().file("latimer.toml", &config);
    let mut server = place.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let found = server.until_logged("the agent behind is found");
    assert!(found.contains("partner") && found.contains(&format!("http://{address}")), "{found}");
    assert!(found.contains("skills=13") && !found.contains("s3cret"), "{found}");
    server.until_logged("the agent behind is not found");
    assert!(!server.greeting.contains("partner"), "{}", server.greeting);
    assert!(server.post("/agents/partner", "{}").starts_with("HTTP/1.1 404"));
}

#[test]
fn what_is_no_address_is_refused() {
    for (url, want) in [
        ("partner.example.com", "begin it with https:// or http://"),
        ("https://user:word@partner.example.com", "a user name or a password"),
        ("http://", "not an http or https URL"),
    ] {
        let ran = Place::new().run(&["serve", "--listen", "127.0.0.1:0", "--proxy", url]);
        assert_eq!(ran.code, Some(2), "{url}: {ran:?}");
        assert!(ran.errors.contains(want), "{url}: {}", ran.errors);
    }
}

#[test]
fn a_killed_gateway_goes_on_with_the_task_behind() {
    let (place, behind) = (Place::new(), Place::new());
    let demo = behind.serve(&DEMO);
    let mut gateway = proxy(&place, &demo.address());
    let running = gateway.send("m1", "chunks 20 100", true);
    let ended = gateway.send("m2", "chunks 15 50", true);
    let asked = gateway.send("m3", "ask Which city?", false);
    for task in [&running, &ended] {
        gateway.until(task, |it| texts(it).len() >= 3);
    }
    gateway.signal(Signal::KILL);
    gateway.end();
    // One of them comes to its end while nobody looks.
    let all = || demo.call("ListTasks", json!({"includeArtifacts": true}))["tasks"].clone();
    let since = Instant::now();
    while !all().as_array().unwrap().iter().any(|it| texts(it).len() == 15 && is_completed(it)) {
        assert!(since.elapsed() < Duration::from_secs(20), "{}", all());
        std::thread::sleep(Duration::from_millis(10));
    }

    let gateway = proxy(&place, &demo.address());
    assert!(gateway.greeting.contains("2 tasks taken over"), "{}", gateway.greeting);
    assert_eq!(texts(&gateway.until(&running, is_completed)), chunks(20));
    assert_eq!(texts(&gateway.until(&ended, is_completed)), chunks(15));
    let answer = json!({"message": {
        "messageId": "m4", "taskId": asked["id"], "role": "ROLE_USER", "parts": [{"text": "Oslo"}],
    }});
    let answered = gateway.call("SendMessage", answer)["task"].clone();
    assert_eq!((texts(&answered), is_completed(&answered)), (vec!["Oslo".to_owned()], true));
    assert_eq!(all().as_array().unwrap().len(), 3, "nothing was sent twice: {}", all());
}

#[test]
fn an_agent_that_is_killed_and_started_again_is_found_again() {
    let (place, behind) = (Place::new(), Place::new());
    let mut demo = behind.serve(&DEMO);
    let address = demo.address();
    let gateway = proxy(&place, &address);
    let running = gateway.send("m1", "chunks 20 100", true);
    gateway.until(&running, |it| texts(it).len() >= 3);
    demo.signal(Signal::KILL);
    demo.end();
    let again = ["demo-server", "--listen", &address, "--store", "behind.db"];
    let demo = behind.serve(&again);
    assert_eq!(texts(&gateway.until(&running, is_completed)), chunks(20));
    assert_eq!(texts(&gateway.send("m2", "chunks 2", false)), chunks(2));
    drop(demo);
}
