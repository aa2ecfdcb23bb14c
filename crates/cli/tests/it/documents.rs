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
    blocks_of("README.md", kind)
}

fn blocks_of(document: &str, kind: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(document)).unwrap();
    let start = format!("```{kind}\n");
    let parts = text.split(&start).skip(1);
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
fn the_call_of_the_readme_is_one_of_the_guide() {
    // Whose code is compiled by the documentation tests of the client.
    let calls = blocks_of("docs/guide/calling.md", "rust,no_run");
    assert!(calls.contains(&blocks("rust")[1]));
}

#[test]
fn the_guide_to_security_can_be_followed() {
    const GUIDE: &str = "docs/guide/security.md";
    let configurations = blocks_of(GUIDE, "toml");
    let certificate = rcgen::generate_simple_self_signed(["agents.example.com".to_owned()]);
    let certificate = certificate.unwrap();
    let place = Place::new()
        .file("server.pem", &certificate.cert.pem())
        .file("server.key", &certificate.signing_key.serialize_pem());
    let program = Path::new(env!("CARGO_BIN_EXE_latimer")).parent().unwrap().to_str().unwrap();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap());
    let run = |commands: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-ec", commands]).current_dir(place.folder.path()).env("PATH", &path);
        let output = shell.env("HOME", place.folder.path()).output().unwrap();
        assert!(output.status.success(), "{commands}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = run(&blocks_of(GUIDE, "sh")[0]);
    let digest = printed.lines().next().unwrap();
    assert_eq!(digest.len(), 64, "{printed}");
    for configuration in &configurations {
        let own = configuration.replace(&"0".repeat(64), digest);
        assert_ne!(own, *configuration, "there is a key in it");
        fs::write(place.path("latimer.toml"), own).unwrap();
        let checked = place.run(&["config", "check"]);
        let want = (Some(0), "latimer.toml: ok\n", "");
        assert_eq!((checked.code, checked.out.as_str(), checked.errors.as_str()), want);
        assert_eq!(place.run(&["serve", "--check"]).out, "ok\n");
    }
    assert_eq!(configurations.len(), 2);
    // Whoever has the key may call, and nobody else. Here, no proxy has the public address.
    let last = fs::read_to_string(place.path("latimer.toml")).unwrap();
    let here = last.replace("public_url = \"https://agents.example.com\"\n", "");
    fs::write(place.path("latimer.toml"), here).unwrap();
    let server = place.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let key = fs::read_to_string(place.path("ci.key")).unwrap();
    let call = |key: &str| {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}"#;
        server.post_with("/a2a", call, &format!("Authorization: Bearer {key}\r\n"))
    };
    assert!(call(key.trim()).starts_with("HTTP/1.1 200"), "{}", call(key.trim()));
    assert!(call("another").starts_with("HTTP/1.1 401"), "{}", call("another"));
}

#[test]
fn the_guide_to_gateways_can_be_followed() {
    const GUIDE: &str = "docs/guide/gateway.md";
    const BEHIND: &str = "127.0.0.1:50052";
    let (behind, place) = (Place::new(), Place::new().variable("PARTNER_TOKEN", "s3cret"));
    let demo = behind.serve(&["demo-server", "--listen", "127.0.0.1:0"]);
    let here = |text: &str| {
        assert!(text.contains(BEHIND), "{text}");
        text.replace(BEHIND, &demo.address())
    };
    let line = here(blocks_of(GUIDE, "sh")[0].trim());
    let arguments: Vec<_> = line.split(' ').skip(1).chain(["--listen", "127.0.0.1:0"]).collect();
    let served = place.serve(&arguments);
    assert_eq!(served.send("m1", "echo hello", false)["status"]["state"], "TASK_STATE_COMPLETED");
    drop(served);
    fs::write(place.path("latimer.toml"), here(&blocks_of(GUIDE, "toml")[0])).unwrap();
    let checked = place.run(&["config", "check"]);
    assert_eq!((checked.code, checked.errors.as_str()), (Some(0), ""));
    let served = place.serve(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(served.send("m2", "echo hello", false)["status"]["state"], "TASK_STATE_COMPLETED");
    let card = served.fetch("/.well-known/agent-card.json");
    assert!(card.contains("What our callers read in place of"), "{card}");
    let example = fs::read_to_string(root().join("examples/gateway.rs")).unwrap();
    assert!(example.contains(blocks_of(GUIDE, "rust")[0].trim_end()), "the example is the guide's");
}

#[test]
fn every_document_that_is_named_exists() {
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/features.md",
        "docs/guide/calling.md",
        "docs/guide/gateway.md",
        "docs/guide/security.md",
        "docs/guide/using.md",
        "docs/interop.md",
    ] {
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
