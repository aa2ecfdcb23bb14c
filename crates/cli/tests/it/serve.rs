//! `latimer serve`, end to end.

use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::program::{TestDir, process_exits};

const SERVE_ARGS: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

#[test]
fn default_serve_runs_echo_and_printed_curl_works() {
    let dir = TestDir::new();
    let mut server = dir.serve(&SERVE_ARGS);
    for want in ["no configuration file", "agent  echo", "/.well-known/agent-card.json", "sqlite"] {
        assert!(server.startup_output.contains(want), "{want}\n{}", server.startup_output);
    }
    assert!(dir.path(".local/share/latimer/latimer.db").is_file());
    let task = server.send_message("m0", "hello", false);
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "hello");
    let command = server.read_example_command();
    // The command is run only where curl is installed.
    if Command::new("curl").arg("--version").output().is_ok() {
        let output = Command::new("sh").arg("-c").arg(&command).output().unwrap();
        let response = String::from_utf8(output.stdout).unwrap();
        assert!(response.contains("TASK_STATE_COMPLETED"), "{command}\n{response}");
    }
    server.signal(Signal::TERM);
    assert_eq!(server.wait_for_exit().code(), Some(0));
}

#[test]
fn printed_curl_sends_the_configured_api_key() {
    let dir = TestDir::new().with_env_var("LATIMER__API_KEY", "sesame");
    let mut server = dir.serve(&SERVE_ARGS);
    assert!(
        server.startup_output.contains("1 value from the environment"),
        "{}",
        server.startup_output
    );
    let command = server.read_example_command();
    assert!(command.contains("$LATIMER_API_KEY"), "{command}");
    if Command::new("curl").arg("--version").output().is_ok() {
        let mut shell = Command::new("sh");
        let output =
            shell.arg("-c").arg(&command).env("LATIMER_API_KEY", "sesame").output().unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().contains("TASK_STATE_COMPLETED"));
    }
}

#[test]
fn exec_flag_serves_a_command_agent() {
    let dir = TestDir::new();
    let server = dir.serve(&[&SERVE_ARGS[..], &["--exec", "tr a-z A-Z"]].concat());
    let task = server.send_message("m1", "hello", false);
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "HELLO");
    let chunked = [&SERVE_ARGS[..], &["--exec", "printf 'a,b,c'", "--chunk", ","]].concat();
    drop(server);
    let server = dir.serve(&chunked);
    let task = server.send_message("m1", "go", false);
    let parts = task["artifacts"][0]["parts"].as_array().unwrap().len();
    assert_eq!(parts, 3, "{task}");
}

#[test]
fn flags_override_the_config_file() {
    let text = "[[agents]]\nname = \"shout\"\nkind = \"command\"\ncommand = [\"tr\", \"a-z\", \"A-Z\"]\n\
                [store]\nkind = \"memory\"\n";
    let dir = TestDir::new().with_file("latimer.toml", text);
    let server = dir.serve(&SERVE_ARGS);
    assert!(server.startup_output.contains("config latimer.toml"), "{}", server.startup_output);
    assert_eq!(server.send_message("m1", "hi", false)["artifacts"][0]["parts"][0]["text"], "HI");
    let server = dir.serve(&[&SERVE_ARGS[..], &["--echo"]].concat());
    assert_eq!(server.send_message("m1", "hi", false)["artifacts"][0]["parts"][0]["text"], "hi");
}

#[test]
fn port_in_use_is_reported_with_a_hint() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let output = TestDir::new().run(&["serve", "--listen", &address]);
    assert_eq!(output.code, Some(1));
    assert!(
        output.stderr.contains(&format!("error: cannot listen on {address}")),
        "{}",
        output.stderr
    );
    assert!(output.stderr.contains("--listen 127.0.0.1:0"), "{}", output.stderr);
}

#[test]
fn locked_store_error_names_the_process() {
    let dir = TestDir::new();
    let server = dir.serve(&SERVE_ARGS);
    let output = dir.run(&SERVE_ARGS);
    assert_eq!(output.code, Some(1));
    let holder = format!("locked by process {} (latimer serve", server.pid());
    assert!(output.stderr.contains(&holder), "{}", output.stderr);
    assert!(
        output.stderr.contains("hint: stop that process, or choose another file with --store FILE")
    );
    let other_store_args = [&SERVE_ARGS[..], &["--store", "other.db"]].concat();
    assert!(dir.serve(&other_store_args).startup_output.contains("other.db"));
}

#[test]
fn store_flag_overrides_the_config_file() {
    let dir = TestDir::new().with_file("latimer.toml", "[store]\nkind = \"memory\"\n");
    let server = dir.serve(&[&SERVE_ARGS[..], &["--store", "flag.db"]].concat());
    assert!(server.startup_output.contains("flag.db"), "{}", server.startup_output);
}

#[test]
fn second_interrupt_stops_server_and_programs() {
    let dir = TestDir::new();
    let mut server = dir.serve(&[&SERVE_ARGS[..], &["--exec", "echo $$; sleep 60"]].concat());
    let task = server.send_message("m1", "go", true);
    let task = server.wait_until(&task, |it| !it["artifacts"].is_null());
    let program = task["artifacts"][0]["parts"][0]["text"].as_str().unwrap().trim().to_owned();
    server.signal(Signal::INT);
    server.wait_for_log("draining");
    let started = Instant::now();
    server.signal(Signal::INT);
    assert_eq!(server.wait_for_exit().code(), Some(130));
    assert!(process_exits(&program), "the program is still running");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn log_goes_to_stderr_and_can_be_json() {
    let dir = TestDir::new()
        .with_env_var("LATIMER_LOG_FORMAT", "json")
        .with_env_var("LATIMER_LOG", "info");
    let mut server = dir.serve(&SERVE_ARGS);
    let line: serde_json::Value = serde_json::from_str(&server.wait_for_log("listening")).unwrap();
    assert_eq!(line["fields"]["address"], server.address());
    assert!(!server.startup_output.contains("listening"), "{}", server.startup_output);
}

#[test]
fn demo_server_ignores_config_and_stores_nothing() {
    let dir = TestDir::new().with_file("latimer.toml", "this is no configuration");
    let server = dir.serve(&["demo-server", "--listen", "127.0.0.1:0"]);
    assert!(server.startup_output.contains("memory"), "{}", server.startup_output);
    let task = server.send_message("m1", "fail on purpose", false);
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED");
    assert!(!dir.path(".local").exists());
}

#[test]
fn demo_server_has_an_extended_card_only_with_a_key() {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}"#;
    for (key, flags, want) in [
        (None, &[][..], None),
        (Some("sesame"), &[], Some("This is its extended card")),
        (Some("sesame"), &["--no-extended-card"], None),
    ] {
        let dir = TestDir::new();
        let dir = match key {
            Some(key) => dir.with_env_var("LATIMER__API_KEY", key),
            None => dir,
        };
        let server = dir.serve(&[&["demo-server", "--listen", "127.0.0.1:0"], flags].concat());
        let headers = key.map(|it| format!("X-API-Key: {it}\r\n")).unwrap_or_default();
        let card = server.post_with_headers(
            "/a2a",
            r#"{"jsonrpc":"2.0","id":1,"method":"GetAgentCard"}"#,
            &headers,
        );
        let declared = format!(r#""extendedAgentCard":{}"#, want.is_some());
        assert!(card.contains(&declared), "{key:?} {flags:?}: {card}");
        let response = server.post_with_headers("/a2a", call, &headers);
        assert!(response.contains(want.unwrap_or("-32004")), "{key:?} {flags:?}: {response}");
    }
}

#[test]
fn demo_without_streaming_declares_and_enforces_it() {
    for (flags, streams) in [(&[][..], true), (&["--no-streaming"], false)] {
        let dir = TestDir::new();
        let server = dir.serve(&[&["demo-server", "--listen", "127.0.0.1:0"], flags].concat());
        let card = server.call("GetAgentCard", serde_json::json!({}));
        assert_eq!(card["capabilities"]["streaming"], streams, "{flags:?}");
        let response = server.post(
            "/a2a/message:stream",
            r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#,
        );
        assert_eq!(response.contains("TASK_STATE_COMPLETED"), streams, "{flags:?}: {response}");
        assert_eq!(response.contains("UNSUPPORTED_OPERATION"), !streams, "{flags:?}: {response}");
        assert_eq!(
            server.send_message("m2", "hi", false)["status"]["state"],
            "TASK_STATE_COMPLETED"
        );
    }
}
