//! Tests of the echo agent.

use latimer_protocol::{Part, StreamResponse, TaskState};
use latimer_runtime::EchoAgent;
use serde_json::json;

use crate::harness::{EngineHarness, parts, user_message};

#[tokio::test]
async fn echo_returns_every_part_unchanged() {
    let harness = EngineHarness::new(EchoAgent::new_agent("echo"));
    let message = user_message("hello")
        .with_part(Part::raw("bytes", "text/plain").with_filename("a.txt"))
        .with_part(Part::url("https://example.com/b", "image/png"))
        .with_part(Part::data(json!({"answer": 42})));
    let task = harness.send_for_task(message.clone()).await;
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(parts(&task), message.parts);
}

#[tokio::test]
async fn echo_stream_has_one_artifact_and_completes() {
    let harness = EngineHarness::new(EchoAgent::new_agent("echo"));
    let events = harness.collect_events(user_message("hello")).await;
    let artifacts =
        events.iter().filter(|it| matches!(it, StreamResponse::ArtifactUpdate(_))).count();
    assert_eq!(artifacts, 1);
    let Some(StreamResponse::StatusUpdate(last)) = events.last() else { panic!("{events:?}") };
    assert_eq!(last.status.state, TaskState::Completed);
}
