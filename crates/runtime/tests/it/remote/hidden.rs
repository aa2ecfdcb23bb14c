//! What stays on its side: credentials of callers, and the address of the agent behind.

use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use latimer_client::{Client, Credentials, user_message};
use latimer_protocol::card::AgentCard;
use latimer_protocol::{Caller, Secret, SendMessageResponse, TaskState};
use latimer_runtime::Remote;
use latimer_server::Server;
use serde_json::json;

use super::stub::{Answer, Stub};
use super::{PAIRS, PATIENT, demo, hasty, listen, until};

/// An agent that answers at once, and its card.
async fn behind() -> (Stub, AgentCard) {
    let stub = Stub::start(|asked| match asked.head.starts_with("GET") {
        true => Answer::of(404, "text/plain", "none"),
        false => {
            let done = json!({"message": {
                "messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}],
                "metadata": {"theirs": 1, "latimer/path": ["x"], "agent": "y"},
            }});
            Answer::Close(Answer::stream(&[&done.to_string()]))
        }
    })
    .await;
    let card = json!({
        "name": "behind", "description": "d", "version": "1",
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
async fn metadata_and_extensions_are_passed_on_but_for_our_own() {
    let (stub, card) = behind().await;
    let gateway = super::gateway(Remote::new(card).client(hasty)).await;
    let url = format!("http://{}", gateway.address());
    until_found(&url).await;
    let client = Client::builder(format!("{url}/a2a"));
    let client = client.extension("https://ext.example/a").build().unwrap();
    let mut message = user_message("hello");
    let own = json!({"ours": [1], "latimer/hops": 3, "agent": "proxy"});
    message.metadata = serde_json::from_value(own).unwrap();
    let Ok(SendMessageResponse::Message(said)) = client.send(message).await else {
        panic!("no message")
    };
    assert_eq!(json!(said.metadata), json!({"theirs": 1}));
    let asked = stub.asked();
    let call = asked.iter().find(|it| it.head.starts_with("POST")).unwrap();
    let activated = "a2a-extensions: https://ext.example/a";
    assert!(call.head.to_ascii_lowercase().contains(activated), "{}", call.head);
    let body: serde_json::Value = serde_json::from_str(&call.body).unwrap();
    let sent = &body["params"]["message"]["metadata"];
    assert_eq!((&sent["ours"], &sent["latimer/hops"]), (&json!([1]), &json!(2)));
    assert_eq!(sent["latimer/path"].as_array().map(Vec::len), Some(1));
    assert!(sent.get("agent").is_none(), "{sent}");
}

#[tokio::test]
async fn an_agent_is_told_who_calls_if_that_is_wanted() {
    for (tells, shown, want) in [
        (true, Some("key"), json!("somebody")),
        (true, None, json!(null)),
        (false, Some("key"), json!("said by the caller")),
    ] {
        let (stub, card) = behind().await;
        let remote = Remote::new(card).client(hasty).telling_caller(tells);
        let server = Server::new(remote.agent("proxy")).authenticate_with(|headers| {
            let known = headers.contains_key("x-key");
            Some(if known { Caller::new("somebody") } else { Caller::anonymous() })
        });
        let gateway = listen(server).await;
        let mut headers = http::HeaderMap::new();
        headers
            .extend(shown.map(|it| (http::HeaderName::from_static("x-key"), it.parse().unwrap())));
        let client = Client::builder(format!("http://{}/a2a", gateway.address()));
        let mut message = user_message("hello");
        message.metadata.insert("userId".to_owned(), "said by the caller".into());
        let mut request = latimer_protocol::SendMessageRequest::from(message);
        request.metadata.insert("userId".to_owned(), "said by the caller".into());
        client.headers(headers).build().unwrap().send(request).await.unwrap();
        let asked = stub.asked();
        let call = asked.iter().find(|it| it.head.starts_with("POST")).unwrap();
        let body: serde_json::Value = serde_json::from_str(&call.body).unwrap();
        let told = &body["params"]["message"]["metadata"]["userId"];
        assert_eq!(told, &want, "{tells} {shown:?}");
        let beside = &body["params"]["metadata"]["userId"];
        assert_eq!(beside.is_null(), tells, "nobody else says so: {body}");
    }
}

#[tokio::test]
async fn directives_are_not_passed_on_with_our_credentials() {
    let (stub, card) = behind().await;
    let gateway = super::gateway(Remote::new(card).client(hasty)).await;
    let client = super::caller(gateway.address(), &PAIRS[0]);
    for kind in [json!("execute_task"), json!("of no kind there is"), json!(7)] {
        let mut message = user_message("hello");
        message.metadata.insert("swarmKind".to_owned(), kind.clone());
        let sent = client.send(message).await;
        let Ok(SendMessageResponse::Task(task)) = sent else { panic!("{kind}: {sent:?}") };
        assert_eq!(task.status.state, TaskState::Rejected, "{kind}");
        let words = task.status.message.as_ref().unwrap().text();
        assert!(words.contains("directives are for the server that gets them"), "{words}");
    }
    assert!(stub.asked().iter().all(|it| it.head.starts_with("GET")), "{:?}", stub.asked());
    client.send(user_message("hello")).await.unwrap();
}

/// Waits until a gateway has the card of its agent.
async fn until_found(url: &str) {
    let since = Instant::now();
    while Client::builder(url).card().await.unwrap().name != "behind" {
        assert!(since.elapsed() < PATIENT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn what_a_caller_shows_is_not_shown_to_the_agent_behind() {
    let (stub, card) = behind().await;
    let own = format!("http://{}/a2a", stub.address());
    let remote = Remote::new(card).client(move |client| {
        let token = Credentials::bearer(Secret::new("gateways-own"))?;
        Ok(hasty(client)?.credentials_for(&own, token))
    });
    let server = Server::new(remote.agent("proxy"))
        .authenticate_with(|headers| headers.get("authorization").map(|_| Caller::new("somebody")));
    let gateway = listen(server).await;
    let mut headers = http::HeaderMap::new();
    headers.insert("x-callers", "callers-header".parse().unwrap());
    headers.insert("cookie", "callers-cookie=1".parse().unwrap());
    let client = Client::builder(format!("http://{}/a2a", gateway.address()))
        .credentials(Credentials::bearer(Secret::new("callers-token")).unwrap())
        .headers(headers)
        .build()
        .unwrap();
    client.send(user_message("hello")).await.unwrap();
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
    client.send(user_message("echo first")).await.unwrap();
    for place in [".well-known/agent-card.json", ".well-known/agent.json"] {
        let card = Client::builder(format!("{url}/{place}")).card().await.unwrap();
        let text = serde_json::to_string(&*card).unwrap();
        assert!(text.contains("chunks"), "the card is that of the agent behind: {text}");
        assert!(!text.contains(&inner), "{text}");
    }
    let mut seen = String::new();
    for text in ["chunks 2", "ask why", "fail so", "say hi", "chunks wrong"] {
        let events = client.stream(user_message(text)).await.unwrap();
        let events: Vec<_> = events.try_collect().await.unwrap();
        seen.push_str(&format!("{events:?}"));
    }
    let waiting = client.stream(user_message("chunks 1000 10")).await.unwrap();
    let first: Vec<_> = futures_util::StreamExt::take(waiting, 3).try_collect().await.unwrap();
    let id = first[0].event.event().task_id().unwrap().clone();
    until(&client, &id, |it| !it.artifacts.is_empty()).await;
    demo.shutdown().await;
    for _ in 0..3 {
        seen.push_str(&format!("{:?}", client.send(user_message("hello")).await));
    }
    assert!(seen.contains("cannot be reached"), "{seen}");
    assert!(!seen.contains(&inner), "{seen}");
}
