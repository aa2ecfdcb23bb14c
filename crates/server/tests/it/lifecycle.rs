//! Probes, metrics, startup and shutdown.

use std::time::Duration;

use http::Method;
use latimer_server::{Server, Settings};

use crate::support::{Log, send_body, shouter_server, start_server, wait_until};

#[tokio::test]
async fn health_and_readiness_are_reported() {
    let server = start_server(shouter_server(Settings::default())).await;
    let (live, ready) = (r#"{"status":"ok"}"#, r#"{"status":"ready"}"#);
    for (path, want) in [
        ("/health", live),
        ("/healthz", live),
        ("/livez", live),
        ("/ready", ready),
        ("/readyz", ready),
    ] {
        let response = server.get(path).await;
        assert_eq!((response.status, response.text()), (200, want));
        assert_eq!(server.send(Method::POST, path, "").await.status, 405);
    }
}

#[tokio::test]
async fn call_metrics_have_no_caller_supplied_labels() {
    let server = start_server(shouter_server(Settings::default())).await;
    server.v1().post("/a2a", send_body("SendMessage", "a secret")).await;
    server.v1().get("/a2a/tasks/unknown-id").await;
    server.post("/a2a", "nonsense").await;
    let response = server.get("/metrics").await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    for line in [
        r#"latimer_calls_total{operation="SendMessage",version="1.0",binding="jsonrpc",outcome="ok"} 1"#,
        r#"latimer_calls_total{operation="GetTask",version="1.0",binding="http_json",outcome="refused"} 1"#,
        r#"latimer_calls_total{operation="unknown",version="1.0",binding="jsonrpc",outcome="refused"} 1"#,
        "# TYPE latimer_calls_total counter",
        "latimer_turns 0",
        "latimer_streams 0",
    ] {
        assert!(response.text().lines().any(|it| it == line), "{line} in\n{}", response.text());
    }
    assert!(!response.text().contains("secret") && !response.text().contains("unknown-id"));
}

#[tokio::test]
async fn metrics_format_follows_accept() {
    let server = start_server(shouter_server(Settings::default())).await;
    server.v1().post("/a2a", send_body("SendMessage", "hi")).await;
    let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                      application/openmetrics-text;version=0.0.1;q=0.5,\
                      text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    for (accept, is_openmetrics) in [
        (prometheus, true),
        ("application/openmetrics-text", true),
        ("text/plain, application/openmetrics-text;q=0.5", false),
        ("application/openmetrics-text;q=0", false),
        ("text/plain;version=0.0.4", false),
        ("*/*", false),
    ] {
        let response = server.with_header("accept", accept).get("/metrics").await;
        let (kind, counter) = match is_openmetrics {
            true => ("application/openmetrics-text; version=1.0.0; charset=utf-8", "latimer_calls"),
            false => ("text/plain; version=0.0.4; charset=utf-8", "latimer_calls_total"),
        };
        assert_eq!((response.status, response.header("content-type")), (200, kind), "{accept}");
        assert_eq!(response.header("vary"), "Accept", "{accept}");
        let family = format!("# TYPE {counter} counter");
        assert!(response.text().lines().any(|it| it == family), "{accept}: {}", response.text());
        assert_eq!(
            response.text().ends_with("# EOF\n"),
            is_openmetrics,
            "{accept}: {}",
            response.text()
        );
    }
}

#[tokio::test]
async fn disabled_server_answers_503() {
    let server =
        start_server(shouter_server(Settings { enabled: false, ..Settings::default() })).await;
    let rpc = server.v1().post("/a2a", send_body("SendMessage", "hi")).await;
    assert_eq!((rpc.status, rpc.rpc_error_code()), (503, -31503));
    let rest = server.v1().get("/a2a/tasks").await;
    assert_eq!(rest.status, 503);
    assert!(rest.json()["error"]["message"].as_str().unwrap().contains("disabled"));
    assert_eq!(server.get("/.well-known/agent-card.json").await.status, 503);
    assert_eq!(server.get("/health").await.status, 200);
}

#[tokio::test]
async fn shutdown_rejects_new_calls_and_ends_streams() {
    let settings = Settings { drain_timeout: Duration::from_millis(400), ..Settings::default() };
    let server = start_server(shouter_server(settings)).await;
    let (running, client) = (server.running, server.client);
    let streaming = tokio::spawn({
        let caller = client.v1();
        async move { caller.post("/a2a", send_body("SendStreamingMessage", "wait")).await }
    });
    let busy = async || {
        let text = client.get("/metrics").await;
        text.text().lines().any(|it| it == "latimer_turns 1")
    };
    wait_until("the turn runs", busy).await;
    let stopping = tokio::spawn(running.shutdown());
    wait_until("the server drains", async || client.get("/ready").await.status == 503).await;
    let refused = client.v1().post("/a2a", send_body("SendMessage", "hi")).await;
    assert_eq!(refused.rpc_error_code(), -31503, "{}", refused.text());
    assert!(!refused.header("retry-after").is_empty());
    assert_eq!(client.get("/health").await.status, 200, "the process is still live");
    let stream = streaming.await.unwrap();
    let events = stream.events();
    assert_eq!(events.last().unwrap()["error"]["code"], -31503, "{events:?}");
    stopping.await.unwrap();
    assert!(
        tokio::net::TcpStream::connect(client.address).await.is_err(),
        "the listener is closed"
    );
}

#[tokio::test]
async fn dropped_server_closes_its_listener() {
    let server = start_server(shouter_server(Settings::default())).await;
    let address = server.address;
    drop(server);
    let is_closed = async || tokio::net::TcpStream::connect(address).await.is_err();
    wait_until("the listener is closed", is_closed).await;
}

#[tokio::test]
async fn invalid_settings_fail_startup() {
    for (settings, name) in [
        (Settings { listen_path: "a2a".into(), ..Settings::default() }, "listen_path"),
        (Settings { listen_path: "/a b".into(), ..Settings::default() }, "listen_path"),
        (
            Settings { public_url: Some("agents.example".into()), ..Settings::default() },
            "public_url",
        ),
        (Settings { agent_card_path: Some("x".into()), ..Settings::default() }, "agent_card_path"),
        (Settings { keep_alive: Duration::ZERO, ..Settings::default() }, "keep_alive"),
    ] {
        let error = shouter_server(settings).bind("127.0.0.1:0").listen().await.unwrap_err();
        assert!(error.to_string().starts_with(name), "{error}");
    }
    let error =
        shouter_server(Settings::default()).primary("unknown").bind("127.0.0.1:0").listen().await;
    assert!(error.is_err());
    let error = shouter_server(Settings::default()).bind("256.0.0.1:x").listen().await.unwrap_err();
    assert_eq!(error.to_string(), "cannot listen on 256.0.0.1:x");
}

#[tokio::test]
async fn public_listener_without_auth_logs_a_warning() {
    for (address, has_auth, expect_warning) in [
        ("0.0.0.0:0", false, true),
        ("0.0.0.0:0", true, false),
        ("127.0.0.1:0", false, false),
        ("localhost:0", false, false),
    ] {
        let log = Log::default();
        let _logging = log.capture();
        let server = shouter_server(Settings::default()).bind(address);
        let server = if has_auth { server.authenticate_with(|_| None) } else { server };
        tokio::select! {
            result = server.run() => panic!("{result:?}"),
            () = log.wait_for("listening") => {}
        }
        let warnings = log.lines_containing("WARN");
        assert_eq!(!warnings.is_empty(), expect_warning, "{address} {has_auth}: {warnings:?}");
        let expected = "listening on a non-loopback address without authentication";
        assert!(warnings.iter().all(|it| it.contains(expected) && it.contains("0.0.0.0:")));
    }
}

#[tokio::test]
async fn server_uses_the_configured_store() {
    use latimer_server::store::{MemoryStore, Retention};
    let retention = Retention { max_tasks: 2, ..Retention::DEFAULT_MEMORY };
    let server =
        start_server(shouter_server(Settings::default()).store(MemoryStore::new(retention))).await;
    let mut ids = Vec::new();
    for text in ["one", "two", "three"] {
        let sent = server.v1().post("/a2a", send_body("SendMessage", text)).await.json();
        ids.push(sent["result"]["task"]["id"].as_str().unwrap().to_owned());
    }
    for (id, want) in ids.iter().zip([404, 200, 200]) {
        assert_eq!(server.v1().get(&format!("/a2a/tasks/{id}")).await.status, want, "{ids:?}");
    }
}

#[tokio::test]
async fn echo_server_repeats_the_message() {
    let running = Server::echo().bind("127.0.0.1:0").listen().await.unwrap();
    let caller = crate::support::TestClient::new(running.address());
    let response = caller.v1().post("/a2a", send_body("SendMessage", "hello")).await;
    assert_eq!(response.json()["result"]["task"]["artifacts"][0]["parts"][0]["text"], "hello");
    running.shutdown().await;
}
