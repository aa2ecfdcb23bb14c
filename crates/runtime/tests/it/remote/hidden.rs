//! What stays on its side: credentials of callers, and the address of the agent behind.

use futures_util::TryStreamExt;
use latimer_client::{Client, Credentials, says};
use latimer_protocol::card::AgentCard;
use latimer_protocol::{Caller, Secret};
use latimer_runtime::Remote;
use latimer_server::Server;
use serde_json::json;

use super::stub::{Answer, Stub};
use super::{PAIRS, demo, hasty, listen, until};

#[tokio::test]
async fn what_a_caller_shows_is_not_shown_to_the_agent_behind() {
    let stub = Stub::start(|asked| match asked.head.starts_with("GET") {
        true => Answer::of(404, "text/plain", "none"),
        false => {
            let done =
                r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}"#;
            Answer::Close(Answer::stream(&[done]))
        }
    })
    .await;
    let url = format!("http://{}/a2a", stub.address());
    let card = AgentCard::from_json(&json!({
        "name": "behind", "description": "d", "version": "1",
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": true},
        "defaultInputModes": ["text"], "defaultOutputModes": ["text"], "skills": [],
    }))
    .unwrap();
    let own = url.clone();
    let remote = Remote::new(card).client(move |client| {
        let token = Credentials::bearer(Secret::new("gateways-own"))?;
        Ok(hasty(client)?.credentials_for(&own, token))
    });
    let server = Server::new(remote.agent("proxy"))
        .auth(|headers| headers.get("authorization").map(|_| Caller::new("somebody")));
    let gateway = listen(server).await;
    let mut headers = http::HeaderMap::new();
    headers.insert("x-callers", "callers-header".parse().unwrap());
    headers.insert("cookie", "callers-cookie=1".parse().unwrap());
    let client = Client::builder(format!("http://{}/a2a", gateway.address()))
        .credentials(Credentials::bearer(Secret::new("callers-token")).unwrap())
        .headers(headers)
        .build()
        .unwrap();
    client.send(says("hello")).await.unwrap();
    let asked = stub.asked();
    let calls: Vec<_> = asked.iter().filter(|it| it.head.starts_with("POST")).collect();
    assert_eq!(calls.len(), 1, "{asked:?}");
    for call in &asked {
        let all = format!("{}\n{}", call.head, call.body);
        assert!(!all.contains("callers-") && !all.contains("somebody"), "{all}");
    }
    assert!(calls[0].head.contains("Bearer gateways-own"), "{}", calls[0].head);
}

#[tokio::test]
async fn nobody_learns_where_the_agent_behind_is() {
    let demo = demo().await;
    let inner = demo.address().to_string();
    let remote = Remote::new(format!("http://{inner}")).client(hasty);
    let gateway = super::gateway(remote).await;
    let url = format!("http://{}", gateway.address());
    let client = super::caller(gateway.address(), &PAIRS[0]);
    client.send(says("echo first")).await.unwrap();
    for place in [".well-known/agent-card.json", ".well-known/agent.json"] {
        let card = Client::builder(format!("{url}/{place}")).card().await.unwrap();
        let text = serde_json::to_string(&*card).unwrap();
        assert!(text.contains("chunks"), "the card is that of the agent behind: {text}");
        assert!(!text.contains(&inner), "{text}");
    }
    let mut seen = String::new();
    for text in ["chunks 2", "ask why", "fail so", "say hi", "chunks wrong"] {
        let events = client.stream(says(text)).await.unwrap();
        let events: Vec<_> = events.try_collect().await.unwrap();
        seen.push_str(&format!("{events:?}"));
    }
    let waiting = client.stream(says("chunks 1000 10")).await.unwrap();
    let first: Vec<_> = futures_util::StreamExt::take(waiting, 3).try_collect().await.unwrap();
    let id = first[0].event.event().task_id().unwrap().clone();
    until(&client, &id, |it| !it.artifacts.is_empty()).await;
    demo.shutdown().await;
    for _ in 0..3 {
        seen.push_str(&format!("{:?}", client.send(says("hello")).await));
    }
    assert!(seen.contains("cannot be reached"), "{seen}");
    assert!(!seen.contains(&inner), "{seen}");
}
