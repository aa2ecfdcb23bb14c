//! How often and how much one caller may ask, and what it is told.

use http::{HeaderMap, Method};
use latimer_pb::v1;
use latimer_protocol::Caller as Principal;
use latimer_server::store::{MemoryStore, Retention};
use latimer_server::{Limits, PerCaller, Rate, Server, Settings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::Code;
use tonic::transport::Endpoint;

use crate::support::{Caller, Site, agent, message, send, site};

/// Whoever says so is somebody; `nobody` may come without a name, and the rest not at all.
fn known(headers: &HeaderMap) -> Option<Principal> {
    match headers.get("authorization")?.to_str().ok()?.strip_prefix("Bearer ")? {
        "wrong" => None,
        "nobody" => Some(Principal::anonymous()),
        name => Some(Principal::new(name)),
    }
}

async fn with_rate(rate: Rate) -> Site {
    let settings = Settings {
        rate,
        trusted_proxies: vec!["127.0.0.1".parse().unwrap()],
        ..Settings::default()
    };
    site(Server::new(agent("shouter")).settings(settings).auth(known)).await
}

async fn with_limits(per_caller: PerCaller) -> Site {
    let limits = Limits { per_caller, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    site(Server::new(agent("shouter")).settings(settings).auth(known)).await
}

fn as_(site: &Site, name: &str) -> Caller {
    site.v1().with("authorization", format!("Bearer {name}"))
}

/// Six requests' worth in a minute, all of which may come at once.
fn six() -> Rate {
    Rate { per_minute: 6, burst: 6, ..Rate::default() }
}

#[tokio::test]
async fn a_caller_who_asks_too_often_is_told_when_to_come_back() {
    let site = with_rate(six()).await;
    let (alice, bob) = (as_(&site, "alice"), as_(&site, "bob"));
    assert_eq!(alice.post("/a2a", send("SendMessage", "hi")).await.code(), 0);
    assert_eq!(alice.get("/a2a/tasks/none").await.status, 404, "a look weighs one");
    let rest = alice.get("/a2a/tasks/none").await;
    let error = rest.json()["error"].clone();
    assert_eq!((rest.status, &error["details"][0]["reason"]), (429, &"RATE_LIMITED".into()));
    let wait: u64 = rest.header("retry-after").parse().unwrap();
    assert!((1..=10).contains(&wait), "{wait}");
    assert_eq!(error["details"][1]["retryDelay"], format!("{wait}s"));

    let rpc = alice.post("/a2a", send("SendMessage", "hi")).await;
    assert_eq!((rpc.status, rpc.code(), &rpc.json()["id"]), (429, -31429, &1.into()));
    assert!(rpc.header("retry-after").parse::<u64>().unwrap() > wait, "a message weighs more");
    let stream = alice.post("/a2a", send("SendStreamingMessage", "hi")).await;
    assert_eq!((stream.status, stream.header("content-type")), (429, "application/json"));
    let junk = alice.post("/a2a", "{").await;
    assert_eq!((junk.status, junk.code()), (429, -31429), "what cannot be read counts, too");

    let endpoint = Endpoint::from_shared(format!("http://{}", site.address)).unwrap();
    let mut newest = v1::client::A2aServiceClient::new(endpoint.connect().await.unwrap());
    let mut request = tonic::Request::new(v1::ListTasksRequest::default());
    request.metadata_mut().insert("authorization", "Bearer alice".parse().unwrap());
    let status = newest.list_tasks(request).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(status.metadata().contains_key("retry-after"), "{status:?}");

    assert_eq!(bob.post("/a2a", send("SendMessage", "hi")).await.code(), 0, "others are served");
    for path in ["/health", "/ready", "/metrics"] {
        assert_eq!(alice.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn callers_without_a_name_are_told_apart_by_their_addresses() {
    let site = with_rate(six()).await;
    let from = |address: &str| as_(&site, "nobody").with("x-forwarded-for", address);
    let often = async |address: &str| {
        let mut last = 200;
        for _ in 0..7 {
            last = from(address).get("/a2a/tasks/none").await.status;
        }
        last
    };
    assert_eq!(often("192.0.2.1").await, 429);
    assert_eq!(from("192.0.2.2").get("/a2a/tasks/none").await.status, 404);
    // Whatever stands before it, it is the address that the proxy saw.
    assert_eq!(from("192.0.2.9, 192.0.2.1").get("/a2a/tasks/none").await.status, 429);
    assert_eq!(often("2001:db8:1:100::1").await, 429);
    assert_eq!(from("2001:db8:1:1ff::9").get("/a2a/tasks/none").await.status, 429, "one customer");
    assert_eq!(from("2001:db8:1:200::1").get("/a2a/tasks/none").await.status, 404);
    let card = from("192.0.2.1").get("/.well-known/agent-card.json").await;
    assert_eq!((card.status, card.header("retry-after").is_empty()), (429, false));
    // Callers on this machine are not counted.
    for _ in 0..20 {
        assert_eq!(as_(&site, "nobody").get("/a2a/tasks/none").await.status, 404);
    }
    let all = with_rate(Rate { loopback: true, ..six() }).await;
    let mut last = 0;
    for _ in 0..7 {
        last = as_(&all, "nobody").get("/a2a/tasks/none").await.status;
    }
    assert_eq!(last, 429, "unless that is asked for");
}

#[tokio::test]
async fn only_trusted_proxies_decide_the_address() {
    let settings = Settings { rate: Rate { loopback: true, ..six() }, ..Settings::default() };
    let site = site(Server::new(agent("shouter")).settings(settings)).await;
    let mut last = 0;
    for number in 0..7 {
        let caller = site.v1().with("x-forwarded-for", format!("192.0.2.{number}"));
        last = caller.get("/a2a/tasks/none").await.status;
    }
    assert_eq!(last, 429, "it is the peer that counts, whatever it says");
}

#[tokio::test]
async fn an_address_with_too_many_wrong_credentials_is_not_listened_to() {
    let site = with_rate(Rate { failures: 3, ..Rate::default() }).await;
    let from = |name: &str, address: &str| as_(&site, name).with("x-forwarded-for", address);
    for _ in 0..3 {
        assert_eq!(from("wrong", "192.0.2.1").get("/a2a/tasks").await.status, 401);
    }
    for name in ["wrong", "alice"] {
        let refused = from(name, "192.0.2.1").get("/a2a/tasks").await;
        assert_eq!(refused.status, 429, "{name}: nobody learns whether it would have been right");
        assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
        let rpc = from(name, "192.0.2.1").post("/a2a", send("SendMessage", "hi")).await;
        assert_eq!((rpc.status, rpc.code()), (429, -31429), "{name}");
    }
    assert_eq!(from("alice", "192.0.2.2").get("/a2a/tasks").await.status, 200);
    for _ in 0..9 {
        assert_eq!(from("alice", "192.0.2.3").get("/a2a/tasks").await.status, 200);
    }
}

#[tokio::test]
async fn nobody_is_counted_when_there_is_no_limit() {
    let off = Rate { per_minute: 0, failures: 0, loopback: true, burst: 1 };
    let site = with_rate(off).await;
    for _ in 0..20 {
        assert_eq!(as_(&site, "alice").get("/a2a/tasks").await.status, 200);
        assert_eq!(as_(&site, "wrong").get("/a2a/tasks").await.status, 401);
    }
}

#[tokio::test]
async fn a_caller_has_so_many_tasks_until_they_end() {
    let site = with_limits(PerCaller { tasks: 2, ..PerCaller::default() }).await;
    let (alice, bob) = (as_(&site, "alice"), as_(&site, "bob"));
    let sends = async |caller: &Caller, text: &str| {
        caller.post("/a2a", send("SendMessage", text)).await.json()
    };
    let id = |sent: &serde_json::Value| sent["result"]["task"]["id"].as_str().unwrap().to_owned();
    // Those that answer, with a task or without, leave nothing behind.
    for text in ["hi", "say", "hi", "say"] {
        assert!(sends(&alice, text).await["error"].is_null(), "{text}");
    }
    let first = id(&sends(&alice, "ask").await);
    let second = id(&sends(&alice, "ask").await);
    let refused = alice.post("/a2a", send("SendMessage", "hi")).await;
    assert_eq!((refused.status, refused.code()), (200, -31429), "{}", refused.text());
    assert!(!refused.header("retry-after").is_empty());
    assert!(refused.text().contains("too many of your tasks"), "{}", refused.text());
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    assert_eq!(alice.post("/a2a/message:send", body).await.status, 429);
    assert!(sends(&bob, "hi").await["error"].is_null(), "others have their own");
    // One that goes on is no new one.
    let answer = message("done").replacen('{', &format!(r#"{{"taskId":"{first}","#), 1);
    let body = format!(r#"{{"message":{answer}}}"#);
    assert_eq!(alice.post("/a2a/message:send", body).await.status, 200);
    let third = id(&sends(&alice, "ask").await);
    assert_eq!(sends(&alice, "hi").await["error"]["code"], -31429);
    for id in [second, third] {
        let canceled = alice.ask(Method::POST, &format!("/a2a/tasks/{id}:cancel"), "").await;
        assert_eq!(canceled.status, 200);
    }
    for _ in 0..2 {
        assert!(sends(&alice, "ask").await["error"].is_null(), "those that were canceled are over");
    }
    assert_eq!(sends(&alice, "ask").await["error"]["code"], -31429);
}

#[tokio::test]
async fn a_task_that_does_not_come_to_be_does_not_count() {
    let limits =
        Limits { per_caller: PerCaller { tasks: 1, ..PerCaller::default() }, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let store = MemoryStore::new(Retention { max_tasks: 1, ..Retention::DEFAULT_MEMORY });
    let server = Server::new(agent("shouter")).settings(settings).store(store).auth(known);
    let site = site(server).await;
    let (alice, bob) = (as_(&site, "alice"), as_(&site, "bob"));
    let made = bob.post("/a2a", send("SendMessage", "ask")).await.json();
    for _ in 0..3 {
        let refused = alice.post("/a2a", send("SendMessage", "hi")).await;
        assert_eq!(refused.code(), -31503, "the store is full: {}", refused.text());
    }
    let id = made["result"]["task"]["id"].as_str().unwrap();
    bob.ask(Method::POST, &format!("/a2a/tasks/{id}:cancel"), "").await;
    assert_eq!(alice.post("/a2a", send("SendMessage", "hi")).await.code(), 0);
}

#[tokio::test]
async fn a_task_counts_although_its_caller_is_gone() {
    let site = with_limits(PerCaller { tasks: 1, ..PerCaller::default() }).await;
    let alice = as_(&site, "alice");
    let mut stream = open(&site, "alice", "wait").await;
    let text = until(&mut stream, "TASK_STATE_WORKING").await;
    drop(stream);
    let id = text.split(r#""id":""#).nth(1).and_then(|it| it.split('"').next()).unwrap();
    assert_eq!(alice.post("/a2a", send("SendMessage", "hi")).await.code(), -31429);
    alice.ask(Method::POST, &format!("/a2a/tasks/{id}:cancel"), "").await;
    assert_eq!(alice.post("/a2a", send("SendMessage", "hi")).await.code(), 0);
}

#[tokio::test]
async fn a_caller_has_so_many_streams_until_they_close() {
    let site = with_limits(PerCaller { streams: 1, ..PerCaller::default() }).await;
    let (alice, bob) = (as_(&site, "alice"), as_(&site, "bob"));
    // Streams that end, end.
    for _ in 0..3 {
        let events = alice.post("/a2a", send("SendStreamingMessage", "hi")).await.events();
        assert!(events[0]["error"].is_null(), "{events:?}");
    }
    let mut stream = open(&site, "alice", "wait").await;
    until(&mut stream, "TASK_STATE_WORKING").await;
    let refused = alice.post("/a2a", send("SendStreamingMessage", "hi")).await;
    assert_eq!(refused.events()[0]["error"]["code"], -31429);
    let listed = alice.get("/a2a/tasks").await.json();
    let id = listed["tasks"][0]["id"].as_str().unwrap();
    let subscribed = alice.get(&format!("/a2a/tasks/{id}:subscribe")).await;
    assert_eq!(subscribed.status, 429, "{}", subscribed.text());
    let events = bob.post("/a2a", send("SendStreamingMessage", "hi")).await.events();
    assert!(events[0]["error"].is_null(), "others have their own");
    // A connection that is gone is a stream that is closed, as soon as that is noticed.
    drop(stream);
    loop {
        let answer = alice.post("/a2a", send("SendStreamingMessage", "hi")).await;
        if answer.events()[0]["error"].is_null() {
            break;
        }
        tokio::task::yield_now().await;
    }
}

/// A stream whose beginning is read, and whose end may never come.
async fn open(site: &Site, name: &str, text: &str) -> TcpStream {
    let body = send("SendStreamingMessage", text);
    let request = format!(
        "POST /a2a HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         authorization: Bearer {name}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(site.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn until(stream: &mut TcpStream, words: &str) -> String {
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut piece).await.unwrap();
        assert_ne!(length, 0, "the stream ended");
        all.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&all).into_owned();
        if text.contains(words) {
            return text;
        }
    }
}
