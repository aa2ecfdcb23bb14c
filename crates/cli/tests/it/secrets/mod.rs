//! Secrets never appear in logs at any level, errors, responses, files or command output.
//!
//! The tests plant a secret in every input that accepts one, valid or not, and search all output
//! for it. Exception: a response may return the secrets of a webhook to the caller that registered
//! it.

mod bad_requests;
mod fixture;
mod invalid_configs;
mod issuer;
mod planted_secrets;
mod requests;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::push::receiver::ReceiverMode;
use fixture::Fixture;

#[test]
fn planted_secrets_are_absent_from_all_output() {
    for format in ["text", "json"] {
        let mut fixture = Fixture::new(format);
        let mut server = fixture.serve("first.log");
        let owner = fixture.owner_headers();
        let task = register_webhooks(&mut fixture, &owner);
        call_every_endpoint(&mut fixture);
        send_invalid_credentials(&mut fixture);
        bad_requests::send_bad_requests(&mut fixture, &owner, &task);
        fixture.wait_for_dead_letters(4);
        run_operator_commands(&mut fixture);
        // Files of the running server, and after it is killed.
        fixture.record_files("running");
        server.signal(Signal::KILL);
        server.wait_for_exit();
        fixture.record_output(
            "stdout of the first",
            server.startup_output.clone() + &server.remaining_stdout(),
        );
        fixture.record_files("killed");
        let mut server = fixture.serve("second.log");
        fixture.receiver.set_mode(ReceiverMode::Healthy);
        fixture.run(&["push", "dead", "replay", "--all", "--url", &fixture.url()]);
        server.signal(Signal::TERM);
        assert!(server.wait_for_exit().success());
        fixture.record_output(
            "stdout of the second",
            server.startup_output.clone() + &server.remaining_stdout(),
        );
        fixture.run(&["push", "dead", "list"]);
        fixture.record_files("stopped");

        assert_deliveries_contain_secrets(&mut fixture);
        for text in [
            "webhook delivery abandoned",
            "webhook delivery failed",
            "call answered",
            "webhooks resumed",
        ] {
            assert!(fixture.output_contains(text), "missing in the log: {text}");
        }
        assert_eq!(fixture.output_contains(r#""message":"call answered""#), format == "json");
        fixture.assert_no_leaks();
    }
}

/// Registers webhooks with every field as the owner, and returns the id of the first task.
fn register_webhooks(fixture: &mut Fixture, owner: &str) -> String {
    let url = format!("hooks/{}?key={}", fixture.secret("path"), fixture.secret("query"));
    let url = fixture.receiver.url(&url);
    let token = fixture.secret("token of a webhook");
    let credentials = fixture.secret("credentials of a webhook");
    let authentication = json!({"scheme": "Bearer", "credentials": credentials});
    let inline = json!({"url": url, "token": token, "authentication": authentication});
    let message = json!({"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "echo hi"}]});
    let configuration = json!({"taskPushNotificationConfig": inline});
    let params = json!({"message": message, "configuration": configuration});
    let sent = fixture.call("SendMessage", &params, owner);
    let task = sent["result"]["task"]["id"].as_str().expect("a task").to_owned();
    let second_webhook = json!({"taskId": task, "id": "second", "url": url, "token": token});
    // The response contains the secrets, for the caller that registered them.
    fixture.call_privately("CreateTaskPushNotificationConfig", &second_webhook, owner);
    let query = json!({"taskId": task, "id": "second"});
    let stored = fixture.call_privately("GetTaskPushNotificationConfig", &query, owner);
    assert_eq!(
        (&stored["result"]["url"], &stored["result"]["token"]),
        (&json!(url), &json!(token))
    );
    // This task is still running when the server is killed, so the next process recovers it.
    let message =
        json!({"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "wait 60000"}]});
    let configuration = json!({"taskPushNotificationConfig": inline, "returnImmediately": true});
    fixture.call(
        "SendMessage",
        &json!({"message": message, "configuration": configuration}),
        owner,
    );
    // A program does not inherit the environment of the server.
    let message = json!({"messageId": "m3", "role": "ROLE_USER", "parts": [{"text": "go"}]});
    let response =
        fixture.call("SendMessage", &json!({"message": message, "tenant": "env"}), owner);
    assert!(response.to_string().contains("PATH="), "{response}");
    task
}

/// Requests every endpoint as each authenticated caller and anonymously.
fn call_every_endpoint(fixture: &mut Fixture) {
    let cookie = format!("Cookie: session={}\r\n", fixture.secret("cookie"));
    for headers in fixture.valid_credentials().into_iter().chain([String::new()]) {
        let headers = headers + &cookie;
        let query = fixture.secret("token in a URL");
        for request in [
            "GET /.well-known/agent-card.json",
            "GET /.well-known/agent.json",
            "GET /.well-known/jwks.json",
            "GET /a2a/agents",
            "GET /a2a/extendedAgentCard",
            "GET /a2a/tasks",
            "GET /health",
            "GET /ready",
            "GET /metrics",
            "GET /api/push/dead",
            "DELETE /api/push/dead/none",
            "GET /unknown",
            "TRACE /a2a",
            "OPTIONS /a2a",
        ] {
            fixture.http(request, &headers, "");
            fixture.http(&format!("{request}?access_token={query}"), &headers, "");
        }
        let first = json!({"method": "GetTask", "id": 1, "params": {"id": "none"}});
        fixture.http("POST /a2a", &headers, &first.to_string());
    }
}

/// Sends invalid credentials over every binding.
fn send_invalid_credentials(fixture: &mut Fixture) {
    let address = fixture.address();
    for headers in fixture.invalid_credentials() {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}});
        for (request, body) in [
            ("POST /a2a", call.to_string()),
            ("POST /v1/rpc", call.to_string()),
            ("POST /a2a/message:send", json!({"message": {}}).to_string()),
            ("GET /a2a/tasks", String::new()),
            ("POST /v1/message:send", json!({"message": {}}).to_string()),
            ("POST /a2a/tasks/send", json!({"message": {}}).to_string()),
            ("GET /metrics", String::new()),
            ("GET /api/push/dead", String::new()),
            ("GET /a2a/extendedAgentCard", String::new()),
        ] {
            let response = fixture.http(request, &headers, &body);
            let response = String::from_utf8_lossy(&response);
            assert!(response.starts_with("HTTP/1.1 4"), "{request}\n{headers}{response}");
        }
        let header_pairs: Vec<_> = headers.lines().filter_map(|it| it.split_once(": ")).collect();
        for method in ["lf.a2a.v1.A2AService/ListTasks", "a2a.v1.A2AService/GetTask"] {
            let response = requests::grpc_request(&address, method, &header_pairs, &[]);
            fixture.record_output(format!("gRPC {method}"), response);
        }
    }
    let path = format!("/no path?access_token={}", fixture.secret("token in an invalid path"));
    let response = requests::send_bytes(&address, &requests::http2_invalid_path(&path));
    fixture.record_output("HTTP/2 with an invalid path", response);
}

/// Runs operator commands with and without the key.
fn run_operator_commands(fixture: &mut Fixture) {
    let url = fixture.url();
    let list = fixture.run(&["push", "dead", "list", "--output", "json", "--url", &url]);
    let dead_letters: Vec<Value> = serde_json::from_str(&list.stdout).expect("dead letters");
    let id = dead_letters[0]["id"].as_str().unwrap();
    fixture.run(&["push", "dead", "list", "--url", &url]);
    let output = fixture.run(&["push", "dead", "replay", id, "--url", &url]);
    assert!(output.stderr.contains("503"), "{output:?}");
    let password = fixture.secret("password in the URL of a server");
    let url_with_password = url.replace("http://", &format!("http://me:{password}@"));
    assert_eq!(fixture.run(&["push", "dead", "list", "--url", &url_with_password]).code, Some(1));
    let wrong = fixture.secret("wrong key of an operator");
    let unauthorized = crate::program::TestDir::new().with_env_var("LATIMER_API_KEY", &wrong);
    for url in [&url, "http://127.0.0.1:1", &url_with_password] {
        let output = unauthorized.run(&["push", "dead", "list", "--url", url]);
        assert_eq!(output.code, Some(1), "{output:?}");
        fixture.record_output("unauthorized operator", format!("{output:?}"));
    }
    for command in [
        &["config", "check"][..],
        &["config", "show"],
        &["config", "show", "--output", "json"],
        &["serve", "--check"],
        &["serve"],
        &["--help"],
        &["serve", "--help"],
    ] {
        fixture.run(command);
    }
    assert!(fixture.output_contains("(hidden)"));
}

/// Checks that deliveries contain the secrets of their webhook.
fn assert_deliveries_contain_secrets(fixture: &mut Fixture) {
    let deliveries = fixture.receiver.deliveries();
    let (path, deliveries) = deliveries.iter().next().expect("a delivery");
    for secret in ["path", "query"] {
        assert!(path.contains(&fixture.secret(secret)), "{path}");
    }
    for secret in ["token of a webhook", "credentials of a webhook"] {
        let secret = fixture.secret(secret);
        assert!(deliveries.iter().any(|it| it.headers.contains(&secret)), "{deliveries:?}");
    }
}
