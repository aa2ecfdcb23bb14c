//! What an agent says directly, and through a gateway, is the same.

use std::collections::HashMap;

use futures_util::TryStreamExt;
use latimer_client::{Client, user_message};
use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::{Message, Part, Version};
use serde_json::Value;

use super::{PAIRS, caller, demo, gateway, remote, streams};

/// Every event of a stream as JSON, with names in place of ids, in the order in which they come, and
/// without times.
async fn told(client: &Client, message: Message) -> Vec<Value> {
    let events = match client.stream(message).await {
        Ok(events) => events,
        Err(error) => return vec![error.to_string().into()],
    };
    let events: Vec<_> = events.try_collect().await.unwrap();
    let mut names = HashMap::new();
    let events = events.iter().map(|it| serde_json::to_value(it.event.event()).unwrap());
    events.map(|it| anonymous(it, &mut names)).collect()
}

fn anonymous(value: Value, names: &mut HashMap<String, usize>) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().filter(|(name, _)| name != "timestamp");
            let members = members.map(|(name, value)| match value {
                Value::String(id) if name == "id" || name.ends_with("Id") => {
                    let next = names.len();
                    (name, format!("id {}", names.entry(id).or_insert(next)).into())
                }
                value => (name, anonymous(value, names)),
            });
            Value::Object(members.collect())
        }
        Value::Array(items) => items.into_iter().map(|it| anonymous(it, names)).collect(),
        plain => plain,
    }
}

fn script() -> Vec<Message> {
    let mut all: Vec<_> = [
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
    all.push(rich);
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_events_come_directly_and_through_a_gateway() {
    let demo = demo().await;
    for behind in PAIRS.into_iter().filter(|it| streams(it) && it.1 != Version::V0_1) {
        let gateway = gateway(remote(demo.address(), &behind)).await;
        // What the version of the agent cannot say, nobody hears: a caller of that version compares.
        let pair = (ProtocolBinding::JsonRpc, behind.1);
        let (direct, through) = (caller(demo.address(), &pair), caller(gateway.address(), &pair));
        for message in script() {
            let text = message.text();
            let want = told(
                &direct,
                Message { message_id: user_message("").message_id, ..message.clone() },
            );
            let found = told(&through, message);
            let (want, found) = (want.await, found.await);
            assert_eq!(found, want, "{text} through {behind:?}");
        }
        gateway.shutdown().await;
    }
}
