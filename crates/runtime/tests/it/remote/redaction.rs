//! Tests that caller credentials are not sent upstream, and that upstream hosts are hidden from
//! callers.

use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use latimer_client::{Client, Credentials, user_message};
use latimer_protocol::card::AgentCard;
use latimer_protocol::{Caller, Secret, SendMessageResponse, TaskState};
use latimer_runtime::RemoteAgent;
use latimer_server::Server;
use serde_json::json;

use super::stub::{Stub, StubResponse};
use super::{BINDING_VERSIONS, TEST_TIMEOUT, short_timeouts, start_demo, start_server, wait_until};

/// Starts an agent with direct replies, and returns its card.
async fn start_upstream() -> (Stub, AgentCard) {
    let stub = Stub::start(|request| match request.head.starts_with("GET") {
        true => StubResponse::new(404, "text/plain", "none"),
        false => {
            let reply = json!({"message": {
                "messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}],
                "metadata": {"upstream": 1, "latimer/path": ["x"], "agent": "y"},
            }});
            StubResponse::Close(StubResponse::event_stream(&[&reply.to_string()]))
        }
    })
    .await;
    let card = json!({
        "name": "upstream", "description": "d", "version": "1",
        "supportedInterfaces": [{
            "url": format!("http://{}/a2a", stub.address()),
            "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
        }],
        "capabilities": {"streaming": true, "extensions": [{"uri": "https://ext.example/a"}]},
        "defaultInputModes": ["text"], "defaultOutputModes": ["text"], "skills": [],
    });
    (stub, AgentCard::from_json(&card).unwrap())
}

#[tokio::test]
async fn metadata_and_extensions_are_forwarded_except_local() {
    let (stub, card) = start_upstream().await;
    let gateway =
        super::start_gateway(RemoteAgent::new(card).configure_client(short_timeouts)).await;
    let url = format!("http://{}", gateway.address());
    wait_until_discovered(&url).await;
    let client = Client::builder(format!("{url}/a2a"));
    let client = client.extension("https://ext.example/a").build().unwrap();
    let mut message = user_message("hello");
    let metadata = json!({"caller": [1], "latimer/hops": 3, "agent": "proxy"});
    message.metadata = serde_json::from_value(metadata).unwrap();
    let Ok(SendMessageResponse::Message(reply)) = client.send(message).await else {
        panic!("no message")
    };
    assert_eq!(json!(reply.metadata), json!({"upstream": 1}));
    let requests = stub.requests();
    let call = requests.iter().find(|it| it.head.starts_with("POST")).unwrap();
    let activated = "a2a-extensions: https://ext.example/a";
    assert!(call.head.to_ascii_lowercase().contains(activated), "{}", call.head);
    let body: serde_json::Value = serde_json::from_str(&call.body).unwrap();
    let forwarded = &body["params"]["message"]["metadata"];
    assert_eq!((&forwarded["caller"], &forwarded["latimer/hops"]), (&json!([1]), &json!(2)));
    assert_eq!(forwarded["latimer/path"].as_array().map(Vec::len), Some(1));
    assert!(forwarded.get("agent").is_none(), "{forwarded}");
}

#[tokio::test]
async fn caller_identity_is_forwarded_if_enabled() {
    for (forwards_caller, api_key, want) in [
        (true, Some("key"), json!("alice")),
        (true, None, json!(null)),
        (false, Some("key"), json!("sent by the caller")),
    ] {
        let (stub, card) = start_upstream().await;
        let remote =
            RemoteAgent::new(card).configure_client(short_timeouts).forward_caller(forwards_caller);
        let server = Server::new(remote.into_agent("proxy")).authenticate_with(|headers| {
            let authenticated = headers.contains_key("x-key");
            Some(if authenticated { Caller::new("alice") } else { Caller::anonymous() })
        });
        let gateway = start_server(server).await;
        let mut headers = http::HeaderMap::new();
        headers.extend(
            api_key.map(|it| (http::HeaderName::from_static("x-key"), it.parse().unwrap())),
        );
        let client = Client::builder(format!("http://{}/a2a", gateway.address()));
        let mut message = user_message("hello");
        message.metadata.insert("userId".to_owned(), "sent by the caller".into());
        let mut request = latimer_protocol::SendMessageRequest::from(message);
        request.metadata.insert("userId".to_owned(), "sent by the caller".into());
        client.headers(headers).build().unwrap().send(request).await.unwrap();
        let requests = stub.requests();
        let call = requests.iter().find(|it| it.head.starts_with("POST")).unwrap();
        let body: serde_json::Value = serde_json::from_str(&call.body).unwrap();
        let user_id = &body["params"]["message"]["metadata"]["userId"];
        assert_eq!(user_id, &want, "{forwards_caller} {api_key:?}");
        let request_user_id = &body["params"]["metadata"]["userId"];
        assert_eq!(
            request_user_id.is_null(),
            forwards_caller,
            "the caller's value is removed: {body}"
        );
    }
}

#[tokio::test]
async fn directives_are_not_forwarded_upstream() {
    let (stub, card) = start_upstream().await;
    let gateway =
        super::start_gateway(RemoteAgent::new(card).configure_client(short_timeouts)).await;
    let client = super::client_for(gateway.address(), &BINDING_VERSIONS[0]);
    for kind in [json!("execute_task"), json!("unknown_kind"), json!(7)] {
        let mut message = user_message("hello");
        message.metadata.insert("swarmKind".to_owned(), kind.clone());
        let sent = client.send(message).await;
        let Ok(SendMessageResponse::Task(task)) = sent else { panic!("{kind}: {sent:?}") };
        assert_eq!(task.status.state, TaskState::Rejected, "{kind}");
        let text = task.status.message.as_ref().unwrap().text();
        assert!(text.contains("directives are not forwarded"), "{text}");
    }
    assert!(stub.requests().iter().all(|it| it.head.starts_with("GET")), "{:?}", stub.requests());
    client.send(user_message("hello")).await.unwrap();
}

/// Waits until a gateway publishes the card of its upstream agent.
async fn wait_until_discovered(url: &str) {
    let since = Instant::now();
    while Client::builder(url).card().await.unwrap().name != "upstream" {
        assert!(since.elapsed() < TEST_TIMEOUT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn caller_credentials_are_not_sent_upstream() {
    let (stub, card) = start_upstream().await;
    let upstream_url = format!("http://{}/a2a", stub.address());
    let remote = RemoteAgent::new(card).configure_client(move |client| {
        let token = Credentials::bearer(Secret::new("gateways-own"))?;
        Ok(short_timeouts(client)?.credentials_for(&upstream_url, token))
    });
    let server = Server::new(remote.into_agent("proxy"))
        .authenticate_with(|headers| headers.get("authorization").map(|_| Caller::new("alice")));
    let gateway = start_server(server).await;
    let mut headers = http::HeaderMap::new();
    headers.insert("x-callers", "callers-header".parse().unwrap());
    headers.insert("cookie", "callers-cookie=1".parse().unwrap());
    let client = Client::builder(format!("http://{}/a2a", gateway.address()))
        .credentials(Credentials::bearer(Secret::new("callers-token")).unwrap())
        .headers(headers)
        .build()
        .unwrap();
    client.send(user_message("hello")).await.unwrap();
    let requests = stub.requests();
    let calls: Vec<_> = requests.iter().filter(|it| it.head.starts_with("POST")).collect();
    assert_eq!(calls.len(), 1, "{requests:?}");
    for call in &requests {
        let all = format!("{}\n{}", call.head, call.body);
        assert!(!all.contains("callers-") && !all.contains("alice"), "{all}");
    }
    assert!(calls[0].head.contains("Bearer gateways-own"), "{}", calls[0].head);
}

#[tokio::test]
async fn upstream_address_is_never_exposed() {
    let demo = start_demo().await;
    let upstream_address = demo.address().to_string();
    let remote =
        RemoteAgent::new(format!("http://{upstream_address}")).configure_client(short_timeouts);
    let gateway = super::start_gateway(remote).await;
    let url = format!("http://{}", gateway.address());
    let client = super::client_for(gateway.address(), &BINDING_VERSIONS[0]);
    client.send(user_message("echo first")).await.unwrap();
    for path in [".well-known/agent-card.json", ".well-known/agent.json"] {
        let card = Client::builder(format!("{url}/{path}")).card().await.unwrap();
        let text = serde_json::to_string(&*card).unwrap();
        assert!(text.contains("chunks"), "the card is that of the upstream agent: {text}");
        assert!(!text.contains(&upstream_address), "{text}");
    }
    let mut exposed = String::new();
    for text in ["chunks 2", "ask why", "fail so", "say hi", "chunks wrong"] {
        let events = client.stream(user_message(text)).await.unwrap();
        let events: Vec<_> = events.try_collect().await.unwrap();
        exposed.push_str(&format!("{events:?}"));
    }
    let events = client.stream(user_message("chunks 1000 10")).await.unwrap();
    let first: Vec<_> = futures_util::StreamExt::take(events, 3).try_collect().await.unwrap();
    let id = first[0].event.event().task_id().unwrap().clone();
    wait_until(&client, &id, |it| !it.artifacts.is_empty()).await;
    demo.shutdown().await;
    for _ in 0..3 {
        exposed.push_str(&format!("{:?}", client.send(user_message("hello")).await));
    }
    assert!(exposed.contains("cannot be reached (reference "), "{exposed}");
    assert!(!exposed.contains(&upstream_address), "{exposed}");
}
