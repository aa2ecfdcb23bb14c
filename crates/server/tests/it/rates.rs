//! Rate limits and quotas of callers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use http::{HeaderMap, Method};
use latimer_pb::v1;
use latimer_protocol::Caller;
use latimer_server::store::{MemoryStore, Retention};
use latimer_server::{
    Agent, CallerLimits, EngineLimits, Policy, RateLimit, Server, Settings, Turn,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::Code;
use tonic::transport::Endpoint;

use crate::support::{
    TestClient, TestServer, message, send_body, start_server, test_agent, wait_until,
};

/// Authenticates the bearer token as the caller's name. `anonymous` is anonymous, and names that start
/// with `wrong` are rejected.
fn caller_from_bearer(headers: &HeaderMap) -> Option<Caller> {
    match headers.get("authorization")?.to_str().ok()?.strip_prefix("Bearer ")? {
        name if name.starts_with("wrong") => None,
        "anonymous" => Some(Caller::anonymous()),
        name => Some(Caller::new(name)),
    }
}

async fn server_with_rate(rate: RateLimit) -> TestServer {
    let settings = Settings {
        rate,
        trusted_proxies: vec!["127.0.0.1".parse().unwrap()],
        ..Settings::default()
    };
    start_server(
        Server::new(test_agent("shouter")).settings(settings).authenticate_with(caller_from_bearer),
    )
    .await
}

async fn server_with_limits(per_caller: CallerLimits) -> TestServer {
    let limits = EngineLimits { per_caller, ..EngineLimits::default() };
    let settings = Settings { limits, ..Settings::default() };
    start_server(
        Server::new(test_agent("shouter")).settings(settings).authenticate_with(caller_from_bearer),
    )
    .await
}

fn client_for(server: &TestServer, name: &str) -> TestClient {
    server.v1().with_header("authorization", format!("Bearer {name}"))
}

/// Limits a caller to a weight of six per minute, all of which may be used at once.
fn six_per_minute() -> RateLimit {
    RateLimit { per_minute: 6, burst: 6, ..RateLimit::default() }
}

#[tokio::test]
async fn rate_limited_caller_gets_retry_after() {
    let server = server_with_rate(six_per_minute()).await;
    let (alice, bob) = (client_for(&server, "alice"), client_for(&server, "bob"));
    assert_eq!(alice.post("/a2a", send_body("SendMessage", "hi")).await.rpc_error_code(), 0);
    assert_eq!(alice.get("/a2a/tasks/none").await.status, 404, "GetTask weighs one");
    let rest = alice.get("/a2a/tasks/none").await;
    let error = rest.json()["error"].clone();
    assert_eq!((rest.status, &error["details"][0]["reason"]), (429, &"RATE_LIMITED".into()));
    let wait: u64 = rest.header("retry-after").parse().unwrap();
    assert!((1..=10).contains(&wait), "{wait}");
    assert_eq!(error["details"][1]["retryDelay"], format!("{wait}s"));

    let rpc = alice.post("/a2a", send_body("SendMessage", "hi")).await;
    assert_eq!((rpc.status, rpc.rpc_error_code(), &rpc.json()["id"]), (429, -31429, &1.into()));
    assert!(rpc.header("retry-after").parse::<u64>().unwrap() > wait, "a message weighs more");
    let stream = alice.post("/a2a", send_body("SendStreamingMessage", "hi")).await;
    assert_eq!((stream.status, stream.header("content-type")), (429, "application/json"));
    let junk = alice.post("/a2a", "{").await;
    assert_eq!((junk.status, junk.rpc_error_code()), (429, -31429), "invalid requests count, too");

    let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap();
    let mut newest = v1::client::A2aServiceClient::new(endpoint.connect().await.unwrap());
    let mut request = tonic::Request::new(v1::ListTasksRequest::default());
    request.metadata_mut().insert("authorization", "Bearer alice".parse().unwrap());
    let status = newest.list_tasks(request).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(status.metadata().contains_key("retry-after"), "{status:?}");

    assert_eq!(
        bob.post("/a2a", send_body("SendMessage", "hi")).await.rpc_error_code(),
        0,
        "other callers are not limited"
    );
    for path in ["/health", "/ready", "/metrics"] {
        assert_eq!(alice.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn anonymous_callers_are_limited_by_client_ip() {
    let server = server_with_rate(six_per_minute()).await;
    let from =
        |address: &str| client_for(&server, "anonymous").with_header("x-forwarded-for", address);
    let send_seven = async |address: &str| {
        let mut last = 200;
        for _ in 0..7 {
            last = from(address).get("/a2a/tasks/none").await.status;
        }
        last
    };
    assert_eq!(send_seven("192.0.2.1").await, 429);
    assert_eq!(from("192.0.2.2").get("/a2a/tasks/none").await.status, 404);
    // Only the last address counts, which the proxy added.
    assert_eq!(from("192.0.2.9, 192.0.2.1").get("/a2a/tasks/none").await.status, 429);
    assert_eq!(send_seven("2001:db8:1:100::1").await, 429);
    assert_eq!(
        from("2001:db8:1:1ff::9").get("/a2a/tasks/none").await.status,
        429,
        "same /56 network"
    );
    assert_eq!(from("2001:db8:1:200::1").get("/a2a/tasks/none").await.status, 404);
    let card = from("192.0.2.1").get("/.well-known/agent-card.json").await;
    assert_eq!((card.status, card.header("retry-after").is_empty()), (429, false));
    // Loopback callers are exempt.
    for _ in 0..20 {
        assert_eq!(client_for(&server, "anonymous").get("/a2a/tasks/none").await.status, 404);
    }
    let including_loopback =
        server_with_rate(RateLimit { include_loopback: true, ..six_per_minute() }).await;
    let mut last = 0;
    for _ in 0..7 {
        last = client_for(&including_loopback, "anonymous").get("/a2a/tasks/none").await.status;
    }
    assert_eq!(last, 429, "`include_loopback` limits them, too");
}

#[tokio::test]
async fn rate_limit_ignores_forwarded_ip_of_untrusted_peer() {
    let settings = Settings {
        rate: RateLimit { include_loopback: true, ..six_per_minute() },
        ..Settings::default()
    };
    let server = start_server(Server::new(test_agent("shouter")).settings(settings)).await;
    let mut last = 0;
    for number in 0..7 {
        let caller = server.v1().with_header("x-forwarded-for", format!("192.0.2.{number}"));
        last = caller.get("/a2a/tasks/none").await.status;
    }
    assert_eq!(last, 429, "only the address of the peer counts");
}

#[tokio::test]
async fn repeated_auth_failures_block_the_client_ip() {
    let server =
        server_with_rate(RateLimit { auth_failures_per_minute: 3, ..RateLimit::default() }).await;
    let from = |name: &str, address: &str| {
        client_for(&server, name).with_header("x-forwarded-for", address)
    };
    assert_eq!(from("carol", "192.0.2.1").get("/a2a/tasks").await.status, 200);
    for name in ["wrong-1", "wrong-2", "wrong-3"] {
        assert_eq!(from(name, "192.0.2.1").get("/a2a/tasks").await.status, 401, "{name}");
    }
    for name in ["wrong-4", "wrong-1", "alice"] {
        let refused = from(name, "192.0.2.1").get("/a2a/tasks").await;
        assert_eq!(refused.status, 429, "{name}: valid credentials that are new are rejected, too");
        assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
        let rpc = from(name, "192.0.2.1").post("/a2a", send_body("SendMessage", "hi")).await;
        assert_eq!((rpc.status, rpc.rpc_error_code()), (429, -31429), "{name}");
    }
    assert_eq!(from("alice", "192.0.2.2").get("/a2a/tasks").await.status, 200);
    for _ in 0..9 {
        assert_eq!(from("alice", "192.0.2.3").get("/a2a/tasks").await.status, 200);
    }
    for name in ["carol", "alice"] {
        let spared = from(name, "192.0.2.1").get("/a2a/tasks").await;
        assert_eq!(spared.status, 200, "{name}: the credentials were right before");
    }
}

#[tokio::test]
async fn client_with_an_old_key_does_not_block_its_address() {
    let server =
        server_with_rate(RateLimit { auth_failures_per_minute: 3, ..RateLimit::default() }).await;
    let from = |name: &str| client_for(&server, name).with_header("x-forwarded-for", "192.0.2.1");
    for attempt in 0..50 {
        let old = from("wrong-old").get("/a2a/tasks").await;
        assert_eq!(old.status, 401, "{attempt}: the same key counts once");
        let new = from(&format!("caller-{attempt}")).get("/a2a/tasks").await;
        assert_eq!(new.status, 200, "{attempt}");
    }
    // Guessing stays slow: of many distinct keys, only as many are tried as the limit allows.
    let mut tried = 0;
    for attempt in 0..50 {
        let guess = from(&format!("wrong-{attempt}")).get("/a2a/tasks").await;
        tried += usize::from(guess.status == 401);
    }
    assert!(tried <= 3, "{tried}");
}

#[tokio::test]
async fn zero_limits_disable_rate_limiting() {
    let unlimited =
        RateLimit { per_minute: 0, auth_failures_per_minute: 0, include_loopback: true, burst: 1 };
    let server = server_with_rate(unlimited).await;
    for _ in 0..20 {
        assert_eq!(client_for(&server, "alice").get("/a2a/tasks").await.status, 200);
        assert_eq!(client_for(&server, "wrong").get("/a2a/tasks").await.status, 401);
    }
}

#[tokio::test]
async fn task_quota_is_released_when_tasks_finish() {
    let server = server_with_limits(CallerLimits { max_tasks: 2, ..CallerLimits::default() }).await;
    let (alice, bob) = (client_for(&server, "alice"), client_for(&server, "bob"));
    let send_message = async |caller: &TestClient, text: &str| {
        caller.post("/a2a", send_body("SendMessage", text)).await.json()
    };
    let id = |sent: &serde_json::Value| sent["result"]["task"]["id"].as_str().unwrap().to_owned();
    // Finished tasks and direct replies use no quota.
    for text in ["hi", "say", "hi", "say"] {
        assert!(send_message(&alice, text).await["error"].is_null(), "{text}");
    }
    let first = id(&send_message(&alice, "ask").await);
    let second = id(&send_message(&alice, "ask").await);
    let refused = alice.post("/a2a", send_body("SendMessage", "hi")).await;
    assert_eq!((refused.status, refused.rpc_error_code()), (200, -31429), "{}", refused.text());
    assert!(!refused.header("retry-after").is_empty());
    assert!(refused.text().contains("too many unfinished tasks"), "{}", refused.text());
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    assert_eq!(alice.post("/a2a/message:send", body).await.status, 429);
    assert!(send_message(&bob, "hi").await["error"].is_null(), "each caller has its own quota");
    // A follow-up is not a new task.
    let follow_up = message("done").replacen('{', &format!(r#"{{"taskId":"{first}","#), 1);
    let body = format!(r#"{{"message":{follow_up}}}"#);
    assert_eq!(alice.post("/a2a/message:send", body).await.status, 200);
    let third = id(&send_message(&alice, "ask").await);
    assert_eq!(send_message(&alice, "hi").await["error"]["code"], -31429);
    for id in [second, third] {
        let canceled = alice.send(Method::POST, &format!("/a2a/tasks/{id}:cancel"), "").await;
        assert_eq!(canceled.status, 200);
    }
    for _ in 0..2 {
        assert!(
            send_message(&alice, "ask").await["error"].is_null(),
            "canceled tasks use no quota"
        );
    }
    assert_eq!(send_message(&alice, "ask").await["error"]["code"], -31429);
}

#[tokio::test]
async fn task_rejected_by_the_store_uses_no_quota() {
    let limits = EngineLimits {
        per_caller: CallerLimits { max_tasks: 1, ..CallerLimits::default() },
        ..EngineLimits::default()
    };
    let settings = Settings { limits, ..Settings::default() };
    let store = MemoryStore::new(Retention { max_tasks: 1, ..Retention::DEFAULT_MEMORY });
    let server = Server::new(test_agent("shouter"))
        .settings(settings)
        .store(store)
        .authenticate_with(caller_from_bearer);
    let server = start_server(server).await;
    let (alice, bob) = (client_for(&server, "alice"), client_for(&server, "bob"));
    let created = bob.post("/a2a", send_body("SendMessage", "ask")).await.json();
    for _ in 0..3 {
        let refused = alice.post("/a2a", send_body("SendMessage", "hi")).await;
        assert_eq!(refused.rpc_error_code(), -31503, "the store is full: {}", refused.text());
    }
    let id = created["result"]["task"]["id"].as_str().unwrap();
    bob.send(Method::POST, &format!("/a2a/tasks/{id}:cancel"), "").await;
    assert_eq!(alice.post("/a2a", send_body("SendMessage", "hi")).await.rpc_error_code(), 0);
}

#[tokio::test]
async fn task_of_disconnected_caller_uses_quota() {
    let server = server_with_limits(CallerLimits { max_tasks: 1, ..CallerLimits::default() }).await;
    let alice = client_for(&server, "alice");
    let mut stream = open_stream(&server, "alice", "wait").await;
    let text = read_until(&mut stream, "TASK_STATE_WORKING").await;
    drop(stream);
    let id = text.split(r#""id":""#).nth(1).and_then(|it| it.split('"').next()).unwrap();
    assert_eq!(alice.post("/a2a", send_body("SendMessage", "hi")).await.rpc_error_code(), -31429);
    alice.send(Method::POST, &format!("/a2a/tasks/{id}:cancel"), "").await;
    assert_eq!(alice.post("/a2a", send_body("SendMessage", "hi")).await.rpc_error_code(), 0);
}

#[tokio::test]
async fn stream_quota_is_released_when_streams_close() {
    // The server notices a closed connection when it sends the next comment.
    let (keep_alive, rate) =
        (Duration::from_millis(20), RateLimit { per_minute: 0, ..RateLimit::default() });
    let per_caller = CallerLimits { max_streams: 1, ..CallerLimits::default() };
    let limits = EngineLimits { per_caller, ..EngineLimits::default() };
    let settings = Settings { limits, keep_alive, rate, ..Settings::default() };
    let server = Server::new(test_agent("shouter")).settings(settings);
    let server = start_server(server.authenticate_with(caller_from_bearer)).await;
    let (alice, bob) = (client_for(&server, "alice"), client_for(&server, "bob"));
    // Ended streams use no quota.
    for _ in 0..3 {
        let events = alice.post("/a2a", send_body("SendStreamingMessage", "hi")).await.events();
        assert!(events[0]["error"].is_null(), "{events:?}");
    }
    let mut stream = open_stream(&server, "alice", "wait").await;
    read_until(&mut stream, "TASK_STATE_WORKING").await;
    let refused = alice.post("/a2a", send_body("SendStreamingMessage", "hi")).await;
    assert_eq!(refused.events()[0]["error"]["code"], -31429);
    let listed = alice.get("/a2a/tasks").await.json();
    let id = listed["tasks"][0]["id"].as_str().unwrap();
    let subscribed = alice.get(&format!("/a2a/tasks/{id}:subscribe")).await;
    assert_eq!(subscribed.status, 429, "{}", subscribed.text());
    let events = bob.post("/a2a", send_body("SendStreamingMessage", "hi")).await.events();
    assert!(events[0]["error"].is_null(), "each caller has its own quota");
    // The stream of a closed connection uses quota until the server notices.
    drop(stream);
    wait_until("the stream is closed", async || {
        let response = alice.post("/a2a", send_body("SendStreamingMessage", "hi")).await;
        response.events()[0]["error"].is_null()
    })
    .await;
}

#[tokio::test]
async fn greedy_caller_does_not_block_others_at_a_limited_agent() {
    let running = Arc::new(AtomicUsize::new(0));
    let counter = running.clone();
    let agent = Agent::from_fn("limited", move |turn: Turn| {
        let running = counter.clone();
        async move {
            if turn.text() == "hold" {
                running.fetch_add(1, Relaxed);
                turn.cancellation_token().cancelled().await;
                running.fetch_sub(1, Relaxed);
                return Ok(());
            }
            turn.reply(turn.text()).await
        }
    });
    let policy = Policy { max_concurrent: Some(16), max_queued: 16, ..agent.policy().clone() };
    let server = Server::new(agent.with_policy(policy)).authenticate_with(caller_from_bearer);
    let server = start_server(server).await;
    let (greedy, bob) = (client_for(&server, "greedy"), client_for(&server, "bob"));
    let (mut accepted, mut rejected) = (Vec::new(), 0);
    for _ in 0..60 {
        let body = format!(
            r#"{{"message":{},"configuration":{{"returnImmediately":true}}}}"#,
            message("hold")
        );
        let sent = greedy.post("/a2a/message:send", body).await;
        match sent.status {
            200 => accepted.push(sent.json()["task"]["id"].as_str().unwrap().to_owned()),
            _ => {
                assert_eq!(sent.status, 429, "{}", sent.text());
                assert!(!sent.header("retry-after").is_empty());
                rejected += 1;
            }
        }
        let sent = bob.post("/a2a", send_body("SendMessage", "hi")).await.json();
        assert_eq!(sent["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{sent}");
    }
    assert_eq!(running.load(Relaxed), 14, "two turns are reserved for other callers");
    assert_eq!((accepted.len(), rejected), (23, 37), "the caller fills half of the queue");
    let listed = greedy.get("/a2a/tasks?pageSize=100").await.json();
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 23, "rejected messages leave no task");
    // Queued turns end when they are canceled, and the others make room.
    for id in accepted.iter().rev() {
        let path = format!("/a2a/tasks/{id}:cancel");
        assert_eq!(greedy.send(Method::POST, &path, "").await.status, 200);
    }
    wait_until("all turns have ended", async || running.load(Relaxed) == 0).await;
    let sent = greedy.post("/a2a", send_body("SendMessage", "hi")).await.json();
    assert_eq!(sent["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{sent}");
}

#[tokio::test]
async fn queued_messages_run_when_the_agent_has_a_permit() {
    let agent = Agent::from_fn("limited", |turn: Turn| async move {
        match turn.text().as_str() {
            "ask" => turn.request_input("which one?").await,
            "hold" => {
                turn.cancellation_token().cancelled().await;
                Ok(())
            }
            text => turn.reply(text).await,
        }
    });
    let policy = Policy { max_concurrent: Some(1), max_queued: 4, ..agent.policy().clone() };
    let server = start_server(Server::new(agent.with_policy(policy))).await;
    let send = async |text: &str| {
        let message = message(text);
        let configuration = r#""configuration":{"returnImmediately":true}"#;
        let body = format!(r#"{{"message":{message},{configuration}}}"#);
        let sent = server.v1().post("/a2a/message:send", body).await;
        assert_eq!(sent.status, 200, "{}", sent.text());
        sent.json()["task"].clone()
    };
    let id = |task: &serde_json::Value| task["id"].as_str().unwrap().to_owned();
    let state = async |id: &str| {
        let task = server.v1().get(&format!("/a2a/tasks/{id}")).await.json();
        task["status"]["state"].as_str().unwrap().to_owned()
    };
    let asking = id(&send("ask").await);
    wait_until("the task waits for input", async || {
        state(&asking).await == "TASK_STATE_INPUT_REQUIRED"
    })
    .await;
    let held = id(&send("hold").await);
    let queued = id(&send("hi").await);
    assert_eq!(state(&queued).await, "TASK_STATE_SUBMITTED");
    let answer = message("answer").replacen('{', &format!(r#"{{"taskId":"{asking}","#), 1);
    let client = server.v1();
    let follow_up = tokio::spawn(async move {
        client.post("/a2a/message:send", format!(r#"{{"message":{answer}}}"#)).await.status
    });
    let path = format!("/a2a/tasks/{held}:cancel");
    assert_eq!(server.v1().send(Method::POST, &path, "").await.status, 200);
    for id in [&queued, &asking] {
        wait_until("the queued turn has run", async || state(id).await == "TASK_STATE_COMPLETED")
            .await;
    }
    assert_eq!(follow_up.await.unwrap(), 200);
}

/// Opens a stream and leaves its response unread.
async fn open_stream(server: &TestServer, name: &str, text: &str) -> TcpStream {
    let body = send_body("SendStreamingMessage", text);
    let request = format!(
        "POST /a2a HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         authorization: Bearer {name}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn read_until(stream: &mut TcpStream, pattern: &str) -> String {
    let (mut all, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut chunk).await.unwrap();
        assert_ne!(length, 0, "the stream ended");
        all.extend_from_slice(&chunk[..length]);
        let text = String::from_utf8_lossy(&all).into_owned();
        if text.contains(pattern) {
            return text;
        }
    }
}
