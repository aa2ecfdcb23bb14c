//! For whoever runs the server.

use std::time::Duration;

use http::Method;
use latimer_server::{Server, Settings};

use crate::support::{Log, send, shouter, site};

#[tokio::test]
async fn health_and_readiness_are_told() {
    let site = site(shouter(Settings::default())).await;
    for (path, want) in [("/health", r#"{"status":"ok"}"#), ("/ready", r#"{"status":"ready"}"#)] {
        let answer = site.get(path).await;
        assert_eq!((answer.status, answer.text()), (200, want));
        assert_eq!(site.ask(Method::POST, path, "").await.status, 405);
    }
}

#[tokio::test]
async fn calls_are_counted_without_anything_a_caller_wrote() {
    let site = site(shouter(Settings::default())).await;
    site.v1().post("/a2a", send("SendMessage", "a secret")).await;
    site.v1().get("/a2a/tasks/unheard-of").await;
    site.post("/a2a", "nonsense").await;
    let answer = site.get("/metrics").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    for line in [
        r#"latimer_calls_total{operation="SendMessage",version="1.0",binding="jsonrpc",outcome="ok"} 1"#,
        r#"latimer_calls_total{operation="GetTask",version="1.0",binding="http_json",outcome="refused"} 1"#,
        r#"latimer_calls_total{operation="unknown",version="1.0",binding="jsonrpc",outcome="refused"} 1"#,
        "# TYPE latimer_calls_total counter",
        "latimer_turns 0",
        "latimer_streams 0",
    ] {
        assert!(answer.text().lines().any(|it| it == line), "{line} in\n{}", answer.text());
    }
    assert!(!answer.text().contains("secret") && !answer.text().contains("unheard"));
}

#[tokio::test]
async fn numbers_are_in_the_form_that_their_reader_names() {
    let site = site(shouter(Settings::default())).await;
    site.v1().post("/a2a", send("SendMessage", "hi")).await;
    let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                      application/openmetrics-text;version=0.0.1;q=0.5,\
                      text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    for (accept, open) in [
        (prometheus, true),
        ("application/openmetrics-text", true),
        ("text/plain, application/openmetrics-text;q=0.5", false),
        ("application/openmetrics-text;q=0", false),
        ("text/plain;version=0.0.4", false),
        ("*/*", false),
    ] {
        let answer = site.with("accept", accept).get("/metrics").await;
        let (kind, counter) = match open {
            true => ("application/openmetrics-text; version=1.0.0; charset=utf-8", "latimer_calls"),
            false => ("text/plain; version=0.0.4; charset=utf-8", "latimer_calls_total"),
        };
        assert_eq!((answer.status, answer.header("content-type")), (200, kind), "{accept}");
        assert_eq!(answer.header("vary"), "Accept", "{accept}");
        let family = format!("# TYPE {counter} counter");
        assert!(answer.text().lines().any(|it| it == family), "{accept}: {}", answer.text());
        assert_eq!(answer.text().ends_with("# EOF\n"), open, "{accept}: {}", answer.text());
    }
}

#[tokio::test]
async fn what_is_switched_off_says_so() {
    let site = site(shouter(Settings { enabled: false, ..Settings::default() })).await;
    let rpc = site.v1().post("/a2a", send("SendMessage", "hi")).await;
    assert_eq!((rpc.status, rpc.code()), (503, -31503));
    let rest = site.v1().get("/a2a/tasks").await;
    assert_eq!(rest.status, 503);
    assert!(rest.json()["error"]["message"].as_str().unwrap().contains("switched off"));
    assert_eq!(site.get("/.well-known/agent-card.json").await.status, 503);
    assert_eq!(site.get("/health").await.status, 200);
}

#[tokio::test]
async fn a_server_that_stops_takes_no_new_work_and_ends_its_streams() {
    let settings = Settings { drain: Duration::from_millis(400), ..Settings::default() };
    let site = site(shouter(settings)).await;
    let (running, caller) = (site.running, site.caller);
    let streaming = tokio::spawn({
        let caller = caller.v1();
        async move { caller.post("/a2a", send("SendStreamingMessage", "wait")).await }
    });
    let busy = || async {
        let text = caller.get("/metrics").await;
        text.text().lines().any(|it| it == "latimer_turns 1")
    };
    while !busy().await {
        tokio::task::yield_now().await;
    }
    let stopping = tokio::spawn(running.shutdown());
    while caller.get("/ready").await.status != 503 {
        tokio::task::yield_now().await;
    }
    let refused = caller.v1().post("/a2a", send("SendMessage", "hi")).await;
    assert_eq!(refused.code(), -31503, "{}", refused.text());
    assert!(!refused.header("retry-after").is_empty());
    assert_eq!(caller.get("/health").await.status, 200, "it is still alive");
    let stream = streaming.await.unwrap();
    let events = stream.events();
    assert_eq!(events.last().unwrap()["error"]["code"], -31503, "{events:?}");
    stopping.await.unwrap();
    assert!(tokio::net::TcpStream::connect(caller.address).await.is_err(), "nobody listens");
}

#[tokio::test]
async fn a_server_that_is_dropped_is_gone() {
    let site = site(shouter(Settings::default())).await;
    let address = site.address;
    drop(site);
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn settings_without_meaning_are_refused() {
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
        let error = shouter(settings).bind("127.0.0.1:0").listen().await.unwrap_err();
        assert!(error.to_string().starts_with(name), "{error}");
    }
    let error = shouter(Settings::default()).primary("nobody").bind("127.0.0.1:0").listen().await;
    assert!(error.is_err());
    let error = shouter(Settings::default()).bind("256.0.0.1:x").listen().await.unwrap_err();
    assert_eq!(error.to_string(), "cannot listen at 256.0.0.1:x");
}

#[tokio::test]
async fn a_server_that_anybody_can_call_says_so_when_it_is_run() {
    for (address, guarded, warned) in [
        ("0.0.0.0:0", false, true),
        ("0.0.0.0:0", true, false),
        ("127.0.0.1:0", false, false),
        ("localhost:0", false, false),
    ] {
        let log = Log::default();
        let _logging = log.begin();
        let server = shouter(Settings::default()).bind(address);
        let server = if guarded { server.auth(|_| None) } else { server };
        tokio::select! {
            ended = server.run() => panic!("{ended:?}"),
            () = log.until("listening") => {}
        }
        let warnings = log.lines("WARN");
        assert_eq!(!warnings.is_empty(), warned, "{address} {guarded}: {warnings:?}");
        assert!(warnings.iter().all(|it| it.contains("ANYBODY") && it.contains("0.0.0.0:")));
    }
}

#[tokio::test]
async fn the_store_of_a_server_is_reached_through_it() {
    use latimer_server::store::{MemoryStore, Retention};
    let retention = Retention { max_tasks: 2, ..Retention::DEFAULT_MEMORY };
    let site = site(shouter(Settings::default()).store(MemoryStore::new(retention))).await;
    let mut ids = Vec::new();
    for text in ["one", "two", "three"] {
        let sent = site.v1().post("/a2a", send("SendMessage", text)).await.json();
        ids.push(sent["result"]["task"]["id"].as_str().unwrap().to_owned());
    }
    for (id, want) in ids.iter().zip([404, 200, 200]) {
        assert_eq!(site.v1().get(&format!("/a2a/tasks/{id}")).await.status, want, "{ids:?}");
    }
}

#[tokio::test]
async fn five_lines_are_an_echo() {
    let running = Server::echo().bind("127.0.0.1:0").listen().await.unwrap();
    let caller = crate::support::Caller::new(running.address());
    let answer = caller.v1().post("/a2a", send("SendMessage", "hello")).await;
    assert_eq!(answer.json()["result"]["task"]["artifacts"][0]["parts"][0]["text"], "hello");
    running.shutdown().await;
}
