//! Tests that an agent streams the same events directly and through a gateway.

use std::collections::HashMap;

use futures_util::TryStreamExt;
use latimer_client::{Client, user_message};
use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::{Message, Part, Version};
use serde_json::Value;

use super::{
    BINDING_VERSIONS, client_for, remote_agent, start_demo, start_gateway, supports_streaming,
};

/// Returns the events of a stream as JSON, with ids numbered in order of appearance and without
/// timestamps.
async fn normalized_events(client: &Client, message: Message) -> Vec<Value> {
    let events = match client.stream(message).await {
        Ok(events) => events,
        Err(error) => return vec![error.to_string().into()],
    };
    let events: Vec<_> = events.try_collect().await.unwrap();
    let mut ids = HashMap::new();
    let events = events.iter().map(|it| serde_json::to_value(it.event.event()).unwrap());
    events.map(|it| normalize(it, &mut ids)).collect()
}

fn normalize(value: Value, ids: &mut HashMap<String, usize>) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().filter(|(name, _)| name != "timestamp");
            let members = members.map(|(name, value)| match value {
                Value::String(id) if name == "id" || name.ends_with("Id") => {
                    let next = ids.len();
                    (name, format!("id {}", ids.entry(id).or_insert(next)).into())
                }
                value => (name, normalize(value, ids)),
            });
            Value::Object(members.collect())
        }
        Value::Array(items) => items.into_iter().map(|it| normalize(it, ids)).collect(),
        other => other,
    }
}

fn script() -> Vec<Message> {
    let mut messages: Vec<_> = [
        "hello",
        "echo again",
        "say hello",
        "chunks 1",
        "chunks 5 5",
        "wait 20",
        "ask Which one?",
        "auth",
        "fail out of coffee",
        "reject not my job",
        "file letters.bin 300",
        "url https://example.com/output.txt",
        r#"data {"answer": [42, null]}"#,
        "burst 20",
        "chunks nonsense",
    ]
    .map(user_message)
    .into();
    let mut rich =
        user_message("echo with more").with_part(Part::raw(vec![1, 2, 3], "application/x-y"));
    rich.metadata.insert("trace".into(), "7f".into());
    messages.push(rich);
    messages
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_streams_same_events_as_direct_call() {
    let demo = start_demo().await;
    for upstream in
        BINDING_VERSIONS.into_iter().filter(|it| supports_streaming(it) && it.1 != Version::V0_1)
    {
        let gateway = start_gateway(remote_agent(demo.address(), &upstream)).await;
        // Both clients use the upstream version, because the gateway cannot add what that version
        // lacks.
        let pair = (ProtocolBinding::JsonRpc, upstream.1);
        let (direct, via_gateway) =
            (client_for(demo.address(), &pair), client_for(gateway.address(), &pair));
        for message in script() {
            let text = message.text();
            let want = normalized_events(
                &direct,
                Message { message_id: user_message("").message_id, ..message.clone() },
            );
            let actual = normalized_events(&via_gateway, message);
            let (want, actual) = (want.await, actual.await);
            assert_eq!(actual, want, "{text} through {upstream:?}");
        }
        gateway.shutdown().await;
    }
}
