//! Rules about encoding: every valid value round-trips.

use latimer_protocol::{Event, Part, TaskState};
use serde_json::{Value, json};

use super::StoreFixture;
use super::script::{Script, UNLIMITED, append, message};

/// Nesting depth of a value in a request with the maximum depth.
const MAX_REQUEST_DEPTH: usize = 126;

pub(super) async fn any_string_is_valid_in_task_key(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let long = "é".repeat(512);
    let mut scripts = Vec::new();
    for text in ["t", "a/b", "../..", "Ünïcode ✓ 🦀", "'; --", "%", "_", "\"", "\\", " ", &long]
    {
        for caller in ["", "caller", "a\0b", text] {
            let mut script = Script::for_key(caller, text, text).with_context(text);
            append(&*store, script.create(1)).await;
            append(&*store, script.append_chunk(text)).await;
            if caller != text {
                scripts.push(script);
            }
        }
    }
    for script in scripts {
        script.assert_stored(&*store).await;
        let agents =
            store.find_agents(&script.key.owner, &script.key.id).await.expect("lookup succeeds");
        assert!(agents.contains(&script.key.agent), "the agent of {:?}", script.key);
    }
}

pub(super) async fn any_json_round_trips(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let deep = (0..MAX_REQUEST_DEPTH).fold(json!("deep"), |inner, _| json!([inner]));
    let values = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(0.1),
        json!(-0.0),
        json!(1.0 / 3.0),
        json!(f64::MAX),
        json!(f64::MIN_POSITIVE),
        json!(5e-324),
        json!(2.225_073_858_507_201e-308),
        json!(123_456_789.123_456_78),
        json!(""),
        json!("a\0b \u{7f} \u{2028} \u{10ffff} \" \\ é 🦀"),
        json!([]),
        json!([1, [2, [3, null]], {"a": []}]),
        json!({}),
        json!({"": "", "z": 1, "a": {"b": {"c": null}}, "é\0": [false]}),
        deep,
    ];
    for (number, value) in values.into_iter().enumerate() {
        assert_round_trip(&*store, &number.to_string(), value).await;
    }
}

async fn assert_round_trip(store: &dyn crate::TaskStore, id: &str, value: Value) {
    let mut script = Script::new(id);
    append(store, script.create(1)).await;
    let mut part = Part::data(value.clone()).with_filename("file").with_media_type("a/b");
    part.metadata.insert("value".to_owned(), value.clone());
    let mut message = message("m", part);
    message.metadata.insert("value".to_owned(), value);
    message.extensions.push("urn:example".to_owned());
    append(store, script.append_events(vec![Event::Message(message.into())])).await;
    script.assert_stored(store).await;
    append(store, script.set_status(TaskState::InputRequired, 2)).await;
    script.assert_stored(store).await;
}

pub(super) async fn large_parts_round_trip(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let text = "A line of text, and another — ".repeat(100_000);
    let bytes: Vec<u8> = (0..2_000_000u32).map(|it| (it % 251) as u8).collect();
    let parts = [
        Part::text(text),
        Part::raw(bytes, "application/octet-stream"),
        Part::raw(Vec::new(), "application/octet-stream"),
        Part::url("https://example.com/é?a=b#c", "image/png"),
    ];
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    for (number, part) in parts.into_iter().enumerate() {
        let message = message(&format!("m{number}"), part);
        append(&*store, script.append_events(vec![Event::Message(message.into())])).await;
    }
    script.assert_stored(&*store).await;
    append(&*store, script.set_status(TaskState::Completed, 2)).await;
    script.assert_stored(&*store).await;
}
