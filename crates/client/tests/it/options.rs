//! Options of single calls.

use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use http::{HeaderMap, HeaderValue};
use latimer_client::{CallOptions, CardSource, Client, Error, RetryPolicy, user_message};
use latimer_protocol::card::{AgentCard, AgentInterface, CardFormat, ProtocolBinding};
use latimer_protocol::{SendMessageResponse, TaskId, TaskState, Version};
use latimer_runtime::DemoAgent;
use latimer_server::{AgentRegistry, Engine, RunningServer};
use latimer_store::MemoryStore;
use serde_json::json;

use crate::support::{Stub, StubResponse, allow_loopback, demo};

const SHORT_TIMEOUT: Duration = Duration::from_millis(200);

/// Clients of the demo agent over each binding, and in the same process.
fn demo_clients(server: &RunningServer) -> Vec<(String, Client)> {
    let over = |binding: ProtocolBinding| {
        let url = match binding {
            ProtocolBinding::Grpc => format!("http://{}", server.address()),
            _ => format!("http://{}/a2a", server.address()),
        };
        let client = Client::builder(url).bindings([binding.clone()]).build().unwrap();
        (binding.to_string(), client)
    };
    let registry = AgentRegistry::new([DemoAgent::new_agent("demo")]).unwrap();
    let engine = Engine::new(registry.into(), Arc::<MemoryStore>::default(), Default::default());
    vec![
        over(ProtocolBinding::JsonRpc),
        over(ProtocolBinding::HttpJson),
        over(ProtocolBinding::Grpc),
        ("in process".to_owned(), Client::from_service(Arc::new(engine))),
    ]
}

#[tokio::test]
async fn call_timeout_ends_one_call_of_a_shared_client() {
    let server = demo().await;
    for (case, client) in demo_clients(&server) {
        let options = CallOptions { timeout: Some(SHORT_TIMEOUT), ..CallOptions::default() };
        let hurried = client.with_options(options);
        let (timed_out, completed) = tokio::join!(
            hurried.send(user_message("wait 60000")),
            client.send(user_message("wait 500")),
        );
        assert!(
            matches!(timed_out, Err(Error::Timeout { limit: SHORT_TIMEOUT, .. })),
            "{case}: {timed_out:?}"
        );
        let Ok(SendMessageResponse::Task(task)) = completed else {
            panic!("{case}: {completed:?}")
        };
        assert_eq!(task.status.state, TaskState::Completed, "{case}");
    }
}

#[tokio::test]
async fn idle_timeout_ends_one_stream_of_a_shared_client() {
    let server = demo().await;
    for (case, client) in demo_clients(&server) {
        let options = CallOptions { idle_timeout: Some(SHORT_TIMEOUT), ..CallOptions::default() };
        let hurried = client.with_options(options);
        let read = async |client: &Client, text: &str| {
            let events = client.stream(user_message(text)).await?;
            events.try_collect::<Vec<_>>().await
        };
        let (timed_out, completed) =
            tokio::join!(read(&hurried, "wait 60000"), read(&client, "wait 500"));
        assert!(
            matches!(timed_out, Err(Error::Timeout { limit: SHORT_TIMEOUT, .. })),
            "{case}: {timed_out:?}"
        );
        assert!(completed.is_ok(), "{case}: {completed:?}");
    }
}

/// Responds with a completed task to every call.
async fn completing_agent() -> Stub {
    let task = json!({"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}});
    let response = json!({"jsonrpc": "2.0", "id": "1", "result": {"task": task}});
    Stub::start(move |_| StubResponse::json(&response)).await
}

fn header(name: &'static str, value: &'static str) -> HeaderMap {
    [(name.parse().unwrap(), HeaderValue::from_static(value))].into_iter().collect()
}

fn with_headers(headers: HeaderMap) -> CallOptions {
    CallOptions { headers, ..CallOptions::default() }
}

#[tokio::test]
async fn call_headers_stay_at_the_origin_of_the_client_url() {
    let agent = completing_agent().await;
    let builder = Client::builder(agent.url()).headers(header("x-tier", "basic"));
    let client = builder.build().unwrap();
    client
        .with_options(with_headers(header("x-tier", "gold")))
        .send(user_message("a"))
        .await
        .unwrap();
    client.send(user_message("b")).await.unwrap();
    let tiers: Vec<_> =
        agent.requests().iter().map(|it| it.header("x-tier").map(str::to_owned)).collect();
    assert_eq!(tiers, [Some("gold".to_owned()), Some("basic".to_owned())]);

    let card = AgentCard {
        name: "a".into(),
        supported_interfaces: vec![AgentInterface::new(agent.url(), ProtocolBinding::JsonRpc)],
        ..AgentCard::default()
    };
    let card_json = card.to_json(CardFormat::V1_0);
    let card_server = Stub::start(move |_| StubResponse::json(&card_json)).await;
    for source in [CardSource::CardUrl(format!("{}/a.json", card_server.url())), card.into()] {
        let builder = Client::builder(source).guard_rules(allow_loopback());
        let client = builder.connect().await.unwrap();
        let client = client.with_options(with_headers(header("x-tier", "gold")));
        client.send(user_message("c")).await.unwrap();
        assert_eq!(agent.requests().pop().unwrap().header("x-tier"), None);
    }
}

#[tokio::test]
async fn call_headers_are_metadata_of_grpc() {
    let server = demo().await;
    let builder = Client::builder(format!("http://{}", server.address()));
    let client = builder.bindings([ProtocolBinding::Grpc]).build().unwrap();
    // The server rejects a version that it does not know, which shows that the header has arrived.
    let options = with_headers(header("a2a-version", "7.0"));
    let error = client.with_options(options).send(user_message("a")).await.unwrap_err();
    let Error::Agent(error) = error else { panic!("{error:?}") };
    assert_eq!(error.kind(), latimer_protocol::ErrorKind::VersionNotSupported);
}

#[tokio::test]
async fn call_extensions_are_added_to_those_of_the_client() {
    let agent = completing_agent().await;
    let client = Client::builder(agent.url()).extension("urn:a").build().unwrap();
    let extensions = vec!["urn:b".to_owned(), "urn:a".to_owned()];
    let with_b = client.with_options(CallOptions { extensions, ..CallOptions::default() });
    with_b.send(user_message("hello")).await.unwrap();
    client.send(user_message("hello")).await.unwrap();
    let sent: Vec<_> =
        agent.requests().iter().map(|it| it.header("a2a-extensions").map(str::to_owned)).collect();
    assert_eq!(sent, [Some("urn:a,urn:b".to_owned()), Some("urn:a".to_owned())]);
}

#[tokio::test]
async fn call_retry_policy_replaces_that_of_the_client() {
    let agent = Stub::start(|_| StubResponse::Close(String::new())).await;
    let initial_backoff = Duration::from_millis(1);
    let retry =
        |max_attempts| RetryPolicy { max_attempts, initial_backoff, ..RetryPolicy::default() };
    let client = Client::builder(agent.url()).versions([Version::V1_0]).retry(retry(3));
    let client = client.build().unwrap();
    let once = CallOptions { retry: Some(retry(1)), ..CallOptions::default() };
    let id = || TaskId::new("t1").unwrap();
    client.with_options(once).get_task(id()).await.unwrap_err();
    assert_eq!(agent.requests().len(), 1);
    client.get_task(id()).await.unwrap_err();
    assert_eq!(agent.requests().len(), 1 + 3);
}
