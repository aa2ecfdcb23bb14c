//! `latimer serve`, end to end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::program::{ServerProcess, TestDir, process_exits};

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
        let run = || {
            let output = Command::new("sh").arg("-c").arg(&command).output().unwrap();
            let response = String::from_utf8(output.stdout).unwrap();
            assert!(response.contains("TASK_STATE_COMPLETED"), "{command}\n{response}");
            let response: Value = serde_json::from_str(&response).unwrap();
            response["result"]["task"]["id"].clone()
        };
        assert_ne!(run(), run(), "the second run returned the task of the first");
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
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "HELLO\n");
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
    assert_eq!(server.send_message("m1", "hi", false)["artifacts"][0]["parts"][0]["text"], "HI\n");
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

/// Returns the first text of a task's first artifact.
fn first_text(task: &Value) -> String {
    task["artifacts"][0]["parts"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn exec_gets_named_or_all_environment_variables() {
    let print = "echo ${ONE-none} ${TWO-none} ${LATIMER_LOG-none} $HOME";
    for (flags, want) in [
        (&[][..], "none none none"),
        (&["--env", "ONE", "--env", "MISSING"], "1 none none"),
        (&["--env", "ONE", "--env", "TWO"], "1 2 none"),
        (&["--inherit-env"], "1 2 none"),
    ] {
        let dir = TestDir::new().with_env_var("ONE", "1").with_env_var("TWO", "2");
        let dir = dir.with_env_var("LATIMER_LOG", "info");
        let server = dir.serve(&[&SERVE_ARGS[..], &["--exec", print], flags].concat());
        let text = first_text(&server.send_message("m1", "go", false));
        let (values, home) = text.trim().rsplit_once(' ').unwrap();
        assert_eq!(values, want, "{flags:?}");
        let is_own_home = home == dir.path("").display().to_string().trim_end_matches('/');
        assert_eq!(is_own_home, flags == ["--inherit-env"], "{flags:?}: {home}");
    }
}

#[test]
fn exec_reads_text_with_a_final_line_break() {
    let dir = TestDir::new();
    let script = r#"while read -r line; do echo "[$line]"; done"#;
    let server = dir.serve(&[&SERVE_ARGS[..], &["--exec", script]].concat());
    assert_eq!(first_text(&server.send_message("m1", "hello", false)), "[hello]\n");
    assert_eq!(first_text(&server.send_message("m2", "one\n", false)), "[one]\n");
}

#[test]
fn check_finds_missing_programs() {
    let dir = TestDir::new();
    for (line, missing) in [("tr a-z A-Z", None), ("no-such-tool -x | cat", Some("no-such-tool"))] {
        let output = dir.run(&["serve", "--exec", line, "--check"]);
        assert_eq!(output.code, Some(if missing.is_some() { 2 } else { 0 }), "{output:?}");
        let want = missing.map(|it| format!("error: agent \"exec\": program {it:?} not found"));
        assert!(output.stderr.contains(&want.unwrap_or_default()), "{}", output.stderr);
    }
    let text = "[[agents]]\nname = \"shout\"\nkind = \"command\"\ncommand = [\"no-such-tool\"]\n";
    let dir = TestDir::new().with_file("latimer.toml", text);
    assert_eq!(dir.run(&["serve", "--check"]).code, Some(2));
    let output = dir.run(&["config", "check"]);
    assert_eq!(output.code, Some(0));
    let want = "warning: agent \"shout\": program \"no-such-tool\" not found";
    assert!(output.stderr.contains(want), "{}", output.stderr);
}

#[test]
fn proxy_flags_set_token_and_url() {
    let upstream_dir = TestDir::new().with_env_var("LATIMER__API_KEY", "sesame");
    let upstream = upstream_dir.serve(&SERVE_ARGS);
    let url = format!("http://{}/a2a", upstream.address());
    for (flags, accepted) in [
        (&["--token", "sesame"][..], true),
        (&["--token-env", "PARTNER_TOKEN", "--call-url"], true),
        (&["--token", "wrong"], false),
        (&[], false),
    ] {
        let dir = TestDir::new().with_env_var("PARTNER_TOKEN", "sesame");
        let gateway = dir.serve(&[&SERVE_ARGS[..], &["--proxy", &url], flags].concat());
        let response = gateway.post(
            "/a2a/message:send",
            r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#,
        );
        assert_eq!(response.contains("TASK_STATE_COMPLETED"), accepted, "{flags:?}: {response}");
    }
}

#[test]
fn placeholder_card_is_not_stored() {
    let card = "/.well-known/agent-card.json";
    let cache_control = |server: &ServerProcess| {
        let (head, _) = server.fetch_response(card, "*/*");
        head.lines().find_map(|it| it.strip_prefix("cache-control: ").map(str::to_owned)).unwrap()
    };
    let upstream_dir = TestDir::new();
    let upstream = upstream_dir.serve(&SERVE_ARGS);
    assert!(cache_control(&upstream).starts_with("public, max-age="));
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, is_discovered) in [(unused.to_string(), false), (upstream.address(), true)] {
        let dir = TestDir::new();
        let url = format!("http://{address}");
        let mut gateway = dir.serve(&[&SERVE_ARGS[..], &["--proxy", &url]].concat());
        if is_discovered {
            gateway.wait_for_log("upstream agent discovered");
        }
        // The card is set shortly before or after the log line.
        assert_eq!(cache_control(&gateway) != "no-store", is_discovered, "{address}");
    }
}

#[test]
fn second_signal_stops_server_and_programs() {
    let memory = "[store]\nkind = \"memory\"\n";
    for (signal, exit_code, config, want) in [
        (
            Signal::INT,
            130,
            "",
            "1 unfinished task in the store: the next start runs queued messages",
        ),
        (Signal::TERM, 143, memory, "lost 1 unfinished task, because the store is in memory"),
    ] {
        let dir = TestDir::new().with_file("latimer.toml", config);
        let args = [&SERVE_ARGS[..], &["--exec", "echo $$; sleep 60"]].concat();
        let mut server = dir.serve(&args);
        let task = server.send_message("m1", "go", true);
        let task = server.wait_until(&task, |it| !it["artifacts"].is_null());
        let program = first_text(&task).trim().to_owned();
        server.signal(signal);
        server.wait_for_log("a second signal, such as Ctrl-C, stops at once");
        assert!(server.wait_for_log("draining: waiting for running turns").contains("turns=1"));
        let started = Instant::now();
        server.signal(signal);
        let line = server.wait_for_log("error: stopped at once by a second signal");
        assert!(line.contains(want), "{line}");
        assert_eq!(server.wait_for_exit().code(), Some(exit_code));
        assert!(process_exits(&program), "the program is still running");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        if config.is_empty() {
            let server = dir.serve(&args);
            let task = server.wait_until(&task, |it| it["status"]["state"] == "TASK_STATE_FAILED");
            assert!(task["status"]["message"].to_string().contains("restart"), "{task}");
        }
    }
}

#[test]
fn drain_logs_stopped_turns_and_their_tasks() {
    let config = "[server]\ndrain = \"200ms\"\n\n[[agents]]\nname = \"demo\"\nkind = \"demo\"\n";
    let dir = TestDir::new().with_file("latimer.toml", config);
    let mut server = dir.serve(&SERVE_ARGS);
    server.send_message("m1", "chunks 1000 100", true);
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit().success());
    let log = server.remaining_log();
    for want in [
        "a second signal, such as Ctrl-C, stops at once",
        "draining: waiting for running turns",
        "running turns stopped at the end of the drain time",
        "resumes tasks of agents that can continue (demo)",
    ] {
        assert!(log.contains(want), "{want}\n{log}");
    }
    assert!(log.trim_end().lines().last().unwrap().contains("stopped"), "{log}");
}

#[test]
fn json_format_makes_every_line_json() {
    let config = "[log]\nformat = \"json\"\n\n[server]\ndrain = \"60s\"\n";
    let dir = TestDir::new().with_file("latimer.toml", config);
    let exec = "echo ready; sleep 60";
    let mut server = dir.spawn(
        &[&SERVE_ARGS[..], &["--exec", exec, "--store", "tasks.db"]].concat(),
        Stdio::piped(),
    );
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let fields = &ready["fields"];
    assert_eq!((&fields["message"], &ready["level"]), (&json!("ready"), &json!("INFO")), "{line}");
    assert_eq!(fields["agents"][0]["kind"], "command", "{line}");
    let pid = i32::try_from(server.id()).ok().and_then(Pid::from_raw).unwrap();
    let url = fields["a2a_url"].as_str().unwrap();
    let address = url.strip_prefix("http://").unwrap().trim_end_matches("/a2a");
    let body = r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"go"}]},"configuration":{"returnImmediately":true}}"#;
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /a2a/message:send HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         A2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len(),
    )
    .unwrap();
    stream.read_to_string(&mut String::new()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap()).lines();
    let mut messages = Vec::new();
    while let Some(Ok(line)) = log.next() {
        let line: Value = serde_json::from_str(&line).expect(&line);
        let message = line["fields"]["message"].as_str().unwrap().to_owned();
        if message.starts_with("draining") {
            kill_process(pid, Signal::INT).unwrap();
        }
        messages.push((line["level"].as_str().unwrap().to_owned(), message));
    }
    assert_eq!(server.wait().unwrap().code(), Some(130));
    let (level, message) = messages.last().unwrap();
    assert_eq!(level, "ERROR");
    assert!(messages.contains(&("INFO".to_owned(), "listening".to_owned())), "{messages:?}");
    assert!(message.starts_with("stopped at once by a second signal"), "{message}");
    stdout.read_to_string(&mut line).unwrap();
    assert!(line.lines().all(|it| serde_json::from_str::<Value>(it).is_ok()), "{line}");
}

#[test]
fn log_goes_to_stderr() {
    let mut server = TestDir::new().with_env_var("LATIMER_LOG", "info").serve(&SERVE_ARGS);
    let line = server.wait_for_log("listening");
    assert!(line.contains(&server.address()), "{line}");
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
