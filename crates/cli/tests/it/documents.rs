//! The documents say what is true: their commands run, and print what is shown.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::Place;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of a kind in the README, in their order.
fn blocks(kind: &str) -> Vec<String> {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let start = format!("```{kind}\n");
    let parts = readme.split(&start).skip(1);
    parts.map(|it| it.split_once("```").unwrap().0.to_owned()).collect()
}

/// What differs each time: ids that are UUIDs, and times.
fn without_ids(text: &str) -> String {
    let mut out = String::new();
    for (place, piece) in text.split('"').enumerate() {
        let id = piece.len() == 36 && piece.bytes().filter(|it| *it == b'-').count() == 4;
        let time = piece.len() == 24 && piece.ends_with('Z');
        out.push_str(if place == 0 { "" } else { "\"" });
        out.push_str(if id || time { "…" } else { piece });
    }
    out
}

#[test]
fn the_minute_of_the_readme_goes_as_it_says() {
    let commands = blocks("sh");
    assert_eq!(commands[0], "cargo run --release -p latimer -- serve\n");
    let place = Place::new();
    let server = place.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let curl = commands[1].replace("127.0.0.1:50051", &server.address());
    assert_ne!(curl, commands[1], "the usual address is shown");
    let output = Command::new("sh").arg("-c").arg(curl).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(without_ids(printed.trim_end()), blocks("json")[0].trim_end());
}

/// The calls that a founding document prints, for a server at its own address.
const CALLS: [&str; 3] = [
    "curl http://localhost:8080/.well-known/agent-card.json",
    r#"curl -X POST http://localhost:8080/v1/rpc \
  -H "Content-Type: application/json" \
  -d '{
    "jsonrpc": "2.0",
    "id": 1,
    "method": "message/send",
    "params": {
      "message": {
        "messageId": "msg-1",
        "role": "ROLE_USER",
        "parts": [{"text": "Hello!"}]
      }
    }
  }'"#,
    r#"curl -X POST http://localhost:8080/v1/rpc \
  -H "Content-Type: application/json" \
  -d '{
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tasks/get",
    "params": {"id": "abc-123"}
  }'"#,
];

#[test]
fn the_calls_of_the_founding_documents_go_as_printed() {
    let place = Place::new();
    let server = place.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let run = |command: &str| {
        let command = command.replace("localhost:8080", &server.address());
        let output = Command::new("sh").arg("-c").arg(&command).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let [discover, send, get] = CALLS;
    let card = run(discover);
    assert_eq!(card["name"], "echo");
    assert_eq!(card["supportedInterfaces"][0]["protocolBinding"], "JSONRPC");
    let sent = run(send);
    assert_eq!((&sent["id"], &sent["result"]["status"]["state"]), (&1.into(), &"completed".into()));
    assert_eq!(sent["result"]["artifacts"][0]["parts"][0]["text"], "Hello!");
    // Nobody has the task that is printed, and everybody the one they made.
    assert_eq!(run(get)["error"]["code"], -32001);
    let id = sent["result"]["id"].as_str().unwrap();
    let got = run(&get.replace("abc-123", id));
    assert_eq!((&got["id"], &got["result"]["id"]), (&2.into(), &id.into()));
    assert_eq!(got["result"]["status"]["state"], "completed");
}

#[test]
fn the_file_of_the_readme_is_served() {
    let place = Place::new().file("latimer.toml", &blocks("toml")[0]);
    let server = place.serve(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(server.greeting.contains("shout") && server.greeting.contains("demo"));
}

#[test]
fn the_agent_of_the_readme_is_the_example() {
    let example = fs::read_to_string(root().join("examples/hello.rs")).unwrap();
    let code = example.split_once("use latimer_server").unwrap().1;
    assert_eq!(format!("use latimer_server{code}"), blocks("rust")[0]);
}

#[test]
fn every_document_that_is_named_exists() {
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/features.md"] {
        let text = fs::read_to_string(root().join(name)).unwrap();
        let folder = root().join(name);
        let folder = folder.parent().unwrap();
        for link in text.split("](").skip(1).filter_map(|it| it.split(')').next()) {
            if !link.contains("://") && !link.starts_with('#') {
                let path = link.split('#').next().unwrap();
                assert!(folder.join(path).exists(), "{name} names {link}");
            }
        }
    }
}
