//! Whatever can be said can be kept.

use latimer_protocol::{Event, Part, TaskState};
use serde_json::{Value, json};

use super::Home;
use super::script::{ROOMY, Script, append, message};

/// How deeply a value nests in a request that is as deep as may be.
const DEEP: usize = 126;

pub(super) async fn any_text_names_a_task(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let long = "é".repeat(512);
    let mut scripts = Vec::new();
    for text in ["t", "a/b", "../..", "Ünïcode ✓ 🦀", "'; --", "%", "_", "\"", "\\", " ", &long]
    {
        for caller in ["", "caller", "a\0b", text] {
            let mut script = Script::of(caller, text, text).in_context(text);
            append(&*store, script.create(1)).await;
            append(&*store, script.grow(text)).await;
            if caller != text {
                scripts.push(script);
            }
        }
    }
    for script in scripts {
        script.check(&*store).await;
        let agents = store.locate(&script.key.caller, &script.key.id).await.expect("locates");
        assert!(agents.contains(&script.key.agent), "the agent of {:?}", script.key);
    }
}

pub(super) async fn any_json_is_kept(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let deep = (0..DEEP).fold(json!("deep"), |inner, _| json!([inner]));
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
        keep(&*store, &number.to_string(), value).await;
    }
}

async fn keep(store: &dyn crate::TaskStore, id: &str, value: Value) {
    let mut script = Script::new(id);
    append(store, script.create(1)).await;
    let mut part = Part::data(value.clone()).with_filename("file").with_media_type("a/b");
    part.metadata.insert("value".to_owned(), value.clone());
    let mut said = message("m", part);
    said.metadata.insert("value".to_owned(), value);
    said.extensions.push("urn:example".to_owned());
    append(store, script.then(vec![Event::Message(said.into())])).await;
    script.check(store).await;
    append(store, script.change(TaskState::InputRequired, 2)).await;
    script.check(store).await;
}

pub(super) async fn large_parts_are_kept(home: &dyn Home) {
    let store = home.open(ROOMY).await;
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
        let said = message(&format!("m{number}"), part);
        append(&*store, script.then(vec![Event::Message(said.into())])).await;
    }
    script.check(&*store).await;
    append(&*store, script.change(TaskState::Completed, 2)).await;
    script.check(&*store).await;
}
