//! The documents say what is true: their commands run, and print what is shown.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::TestDir;

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of a kind in the README, in their order.
fn readme_blocks(kind: &str) -> Vec<String> {
    code_blocks("README.md", kind)
}

fn code_blocks(document: &str, kind: &str) -> Vec<String> {
    let text = fs::read_to_string(workspace_root().join(document)).unwrap();
    let start = format!("```{kind}\n");
    let parts = text.split(&start).skip(1);
    parts.map(|it| it.split_once("```").unwrap().0.to_owned()).collect()
}

/// What differs each time: ids that are UUIDs, and times.
fn mask_ids_and_times(text: &str) -> String {
    let mut out = String::new();
    for (index, segment) in text.split('"').enumerate() {
        let id = segment.len() == 36 && segment.bytes().filter(|it| *it == b'-').count() == 4;
        let time = segment.len() == 24 && segment.ends_with('Z');
        out.push_str(if index == 0 { "" } else { "\"" });
        out.push_str(if id || time { "…" } else { segment });
    }
    out
}

#[test]
fn readme_quick_start_works_as_printed() {
    let commands = readme_blocks("sh");
    assert_eq!(commands[0], "cargo run --release -p latimer -- serve\n");
    let dir = TestDir::new();
    let server = dir.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let curl = commands[1].replace("127.0.0.1:50051", &server.address());
    assert_ne!(curl, commands[1], "the usual address is shown");
    let output = Command::new("sh").arg("-c").arg(curl).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(mask_ids_and_times(printed.trim_end()), readme_blocks("json")[0].trim_end());
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
fn founding_document_calls_work_as_printed() {
    let dir = TestDir::new();
    let server = dir.serve(&["serve", "--listen", "127.0.0.1:0"]);
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
fn readme_config_is_served() {
    let dir = TestDir::new().with_file("latimer.toml", &readme_blocks("toml")[0]);
    let server = dir.serve(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(server.startup_output.contains("shout") && server.startup_output.contains("demo"));
}

#[test]
fn readme_agent_matches_the_example() {
    let example = fs::read_to_string(workspace_root().join("examples/hello.rs")).unwrap();
    let code = example.split_once("use latimer_server").unwrap().1;
    assert_eq!(format!("use latimer_server{code}"), readme_blocks("rust")[0]);
}

#[test]
fn readme_call_appears_in_the_guide() {
    // Whose code is compiled by the documentation tests of the client.
    let calls = code_blocks("docs/guide/calling.md", "rust,no_run");
    assert!(calls.contains(&readme_blocks("rust")[1]));
}

#[test]
fn security_guide_works_as_printed() {
    const GUIDE: &str = "docs/guide/security.md";
    let configurations = code_blocks(GUIDE, "toml");
    let certificate = rcgen::generate_simple_self_signed(["agents.example.com".to_owned()]);
    let certificate = certificate.unwrap();
    let dir = TestDir::new()
        .with_file("server.pem", &certificate.cert.pem())
        .with_file("server.key", &certificate.signing_key.serialize_pem());
    let program = Path::new(env!("CARGO_BIN_EXE_latimer")).parent().unwrap().to_str().unwrap();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap());
    let run = |commands: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-ec", commands]).current_dir(dir.temp_dir.path()).env("PATH", &path);
        let output = shell.env("HOME", dir.temp_dir.path()).output().unwrap();
        assert!(output.status.success(), "{commands}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = run(&code_blocks(GUIDE, "sh")[0]);
    let digest = printed.lines().next().unwrap();
    assert_eq!(digest.len(), 64, "{printed}");
    for configuration in &configurations {
        let with_digest = configuration.replace(&"0".repeat(64), digest);
        assert_ne!(with_digest, *configuration, "there is a key in it");
        fs::write(dir.path("latimer.toml"), with_digest).unwrap();
        let checked = dir.run(&["config", "check"]);
        let want = (Some(0), "latimer.toml: ok\n", "");
        assert_eq!((checked.code, checked.stdout.as_str(), checked.stderr.as_str()), want);
        assert_eq!(dir.run(&["serve", "--check"]).stdout, "ok\n");
    }
    assert_eq!(configurations.len(), 2);
    // Whoever has the key may call, and nobody else. Here, no proxy has the public address.
    let last = fs::read_to_string(dir.path("latimer.toml")).unwrap();
    let local_config = last.replace("public_url = \"https://agents.example.com\"\n", "");
    fs::write(dir.path("latimer.toml"), local_config).unwrap();
    let server = dir.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let key = fs::read_to_string(dir.path("ci.key")).unwrap();
    let call = |key: &str| {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}"#;
        server.post_with_headers("/a2a", call, &format!("Authorization: Bearer {key}\r\n"))
    };
    assert!(call(key.trim()).starts_with("HTTP/1.1 200"), "{}", call(key.trim()));
    assert!(call("another").starts_with("HTTP/1.1 401"), "{}", call("another"));
}

#[test]
fn gateway_guide_works_as_printed() {
    const GUIDE: &str = "docs/guide/gateway.md";
    const UPSTREAM: &str = "127.0.0.1:50052";
    let (upstream_dir, dir) =
        (TestDir::new(), TestDir::new().with_env_var("PARTNER_TOKEN", "s3cret"));
    let demo = upstream_dir.serve(&["demo-server", "--listen", "127.0.0.1:0"]);
    let with_demo_address = |text: &str| {
        assert!(text.contains(UPSTREAM), "{text}");
        text.replace(UPSTREAM, &demo.address())
    };
    let line = with_demo_address(code_blocks(GUIDE, "sh")[0].trim());
    let args: Vec<_> = line.split(' ').skip(1).chain(["--listen", "127.0.0.1:0"]).collect();
    let server = dir.serve(&args);
    assert_eq!(
        server.send_message("m1", "echo hello", false)["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
    drop(server);
    fs::write(dir.path("latimer.toml"), with_demo_address(&code_blocks(GUIDE, "toml")[0])).unwrap();
    let checked = dir.run(&["config", "check"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (Some(0), ""));
    let server = dir.serve(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(
        server.send_message("m2", "echo hello", false)["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
    let card = server.fetch("/.well-known/agent-card.json");
    assert!(card.contains("What our callers read in place of"), "{card}");
    let example = fs::read_to_string(workspace_root().join("examples/gateway.rs")).unwrap();
    assert!(
        example.contains(code_blocks(GUIDE, "rust")[0].trim_end()),
        "the example is the guide's"
    );
}

#[test]
fn document_links_resolve() {
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
        let text = fs::read_to_string(workspace_root().join(name)).unwrap();
        let directory = workspace_root().join(name);
        let directory = directory.parent().unwrap();
        for link in text.split("](").skip(1).filter_map(|it| it.split(')').next()) {
            if !link.contains("://") && !link.starts_with('#') {
                let path = link.split('#').next().unwrap();
                assert!(directory.join(path).exists(), "{name} names {link}");
            }
        }
    }
}
