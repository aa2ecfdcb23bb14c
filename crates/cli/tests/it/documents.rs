//! Checks the documents: commands run and print the documented output, and links resolve.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::TestDir;

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the code blocks of one language in the README, in document order.
fn readme_blocks(kind: &str) -> Vec<String> {
    code_blocks("README.md", kind)
}

fn code_blocks(document: &str, kind: &str) -> Vec<String> {
    let text = fs::read_to_string(workspace_root().join(document)).unwrap();
    let start = format!("```{kind}\n");
    let parts = text.split(&start).skip(1);
    parts.map(|it| it.split_once("```").unwrap().0.to_owned()).collect()
}

/// Replaces what differs between runs, UUIDs and timestamps, with an ellipsis.
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
    let [_, _, start, curl, ..] = &commands[..] else { panic!("{commands:?}") };
    assert_eq!(start, "cargo run --release -p latimer -- serve\n");
    let dir = TestDir::new();
    let server = dir.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let local_curl = curl.replace("127.0.0.1:50051", &server.address());
    assert_ne!(local_curl, *curl, "the command names the default address");
    let output = Command::new("sh").arg("-c").arg(local_curl).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(mask_ids_and_times(printed.trim_end()), readme_blocks("json")[0].trim_end());
}

#[test]
fn readme_gateway_command_publishes_a_remote_agent() {
    let (upstream_dir, dir) = (TestDir::new(), TestDir::new());
    let demo = upstream_dir.serve(&["demo-server", "--listen", "127.0.0.1:0"]);
    let command = readme_blocks("sh")[0].replace("127.0.0.1:50052", &demo.address());
    let args: Vec<_> =
        command.split_whitespace().skip(1).chain(["--listen", "127.0.0.1:0"]).collect();
    let server = dir.serve(&args);
    let task = server.send_message("m1", "echo hello", false);
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
}

/// Calls printed in the design document, for a server at the address used there.
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
fn design_document_calls_work_as_printed() {
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
    // The printed task id is unknown; the id of the task created above is found.
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
    // The documentation tests of the client compile the code of the guide.
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
        assert_ne!(with_digest, *configuration, "the configuration contains a key");
        fs::write(dir.path("latimer.toml"), with_digest).unwrap();
        let checked = dir.run(&["config", "check"]);
        let want = (Some(0), "latimer.toml: ok\n", "");
        assert_eq!((checked.code, checked.stdout.as_str(), checked.stderr.as_str()), want);
        assert_eq!(dir.run(&["serve", "--check"]).stdout, "ok\n");
    }
    assert_eq!(configurations.len(), 2);
    // Calls with the key succeed, others fail. This test has no proxy at the public URL.
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
    assert!(card.contains("The description that callers of the gateway read"), "{card}");
    let example = fs::read_to_string(workspace_root().join("examples/gateway.rs")).unwrap();
    assert!(
        example.contains(code_blocks(GUIDE, "rust")[0].trim_end()),
        "the example contains the code of the guide"
    );
}

/// Returns the Markdown files of the root directory, `bench`, `docs` and `tests`.
fn markdown_documents() -> Vec<String> {
    let mut names = Vec::new();
    let directories = [
        "",
        "bench/",
        "docs/",
        "docs/adr/",
        "docs/guide/",
        "docs/reference/",
        "tests/",
        "tests/soak/",
    ];
    for directory in directories {
        for entry in fs::read_dir(workspace_root().join(directory)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                names.push(format!("{directory}{name}"));
            }
        }
    }
    names
}

#[test]
fn document_links_resolve() {
    for name in markdown_documents() {
        let document = workspace_root().join(&name);
        let text = fs::read_to_string(&document).unwrap();
        let directory = document.parent().unwrap();
        for link in text.split("](").skip(1).filter_map(|it| it.split(')').next()) {
            if !link.contains("://") && !link.starts_with('#') {
                let path = link.split('#').next().unwrap();
                assert!(directory.join(path).exists(), "{name} links to {link}");
            }
        }
    }
}

#[test]
fn architecture_code_map_names_existing_paths() {
    let text = fs::read_to_string(workspace_root().join("ARCHITECTURE.md")).unwrap();
    let (mut crate_name, mut path_count) = ("", 0);
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            crate_name = heading.trim_matches('`');
        }
        let is_row = line.starts_with("| `") && crate_name.starts_with("crates/");
        let first_cell = line.split(" | ").next().filter(|_| is_row).unwrap_or_default();
        for path in first_cell.split('`').skip(1).step_by(2) {
            let source = workspace_root().join(crate_name).join("src").join(path);
            assert!(source.exists(), "ARCHITECTURE.md names {crate_name}/src/{path}");
            path_count += 1;
        }
    }
    assert!(path_count > 100, "{path_count}");
}
