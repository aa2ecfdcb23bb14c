//! What is said comes back.

use latimer_protocol::{Part, StreamResponse, TaskState};
use latimer_runtime::Echo;
use serde_json::json;

use crate::house::{House, parts, says};

#[tokio::test]
async fn every_part_comes_back_as_it_was() {
    let house = House::new(Echo::agent("echo"));
    let said = says("hello")
        .with_part(Part::raw("bytes", "text/plain").with_filename("a.txt"))
        .with_part(Part::url("https://example.com/b", "image/png"))
        .with_part(Part::data(json!({"answer": 42})));
    let task = house.task(said.clone()).await;
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(parts(&task), said.parts);
}

#[tokio::test]
async fn a_stream_tells_of_one_artifact_and_the_end() {
    let house = House::new(Echo::agent("echo"));
    let told = house.stream(says("hello")).await;
    let artifacts =
        told.iter().filter(|it| matches!(it, StreamResponse::ArtifactUpdate(_))).count();
    assert_eq!(artifacts, 1);
    let Some(StreamResponse::StatusUpdate(last)) = told.last() else { panic!("{told:?}") };
    assert_eq!(last.status.state, TaskState::Completed);
}
