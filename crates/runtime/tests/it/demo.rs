//! Tests of the demo agent: commands, compatibility kit, restarts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use latimer_protocol::{Content, Part, SendMessageResponse, StreamResponse, TaskState};
use latimer_runtime::DemoAgent;
use latimer_store::{SqliteConfig, SqliteStore, TaskStore};
use serde_json::json;

use crate::harness::{EngineHarness, parts, status, tck_message, text, user_message};

fn harness() -> EngineHarness {
    EngineHarness::new(DemoAgent::new_agent("demo"))
}

#[tokio::test]
async fn every_task_state_is_reachable() {
    let harness = harness();
    for (message, state, status_text) in [
        ("hello", TaskState::Completed, ""),
        ("echo hello", TaskState::Completed, ""),
        ("wait 1", TaskState::Completed, "done waiting"),
        ("ask Which city?", TaskState::InputRequired, "Which city?"),
        ("auth", TaskState::AuthRequired, "Any message authorizes this task"),
        ("fail out of coffee", TaskState::Failed, "out of coffee"),
        ("reject not my job", TaskState::Rejected, "not my job"),
        ("stubborn 1", TaskState::Completed, ""),
        ("burst 5", TaskState::Completed, ""),
    ] {
        let task = harness.send_for_task(user_message(message)).await;
        assert_eq!(status(&task), (state, status_text.to_owned()), "{message}");
    }
}

#[tokio::test]
async fn replies_use_every_part_kind() {
    let harness = harness();
    for (message, want) in [
        ("hello there", Part::text("hello there")),
        ("echo hello", Part::text("hello")),
        ("file a b.bin 3", Part::raw("abc", "application/octet-stream").with_filename("a b.bin")),
        (
            "url https://example.com/a",
            Part::url("https://example.com/a", "application/octet-stream"),
        ),
        ("data [1, null]", Part::data(json!([1, null])).with_media_type("application/json")),
    ] {
        let task = harness.send_for_task(user_message(message)).await;
        assert_eq!(parts(&task), [want], "{message}");
    }
    let task = harness.send_for_task(user_message("echo hello").with_part(Part::data(1))).await;
    assert_eq!(parts(&task), [Part::text("hello"), Part::data(1)]);
    let response = harness.send(user_message("say hello")).await.unwrap();
    let SendMessageResponse::Message(reply) = response else { panic!("{response:?}") };
    assert_eq!(reply.text(), "hello");
}

#[tokio::test]
async fn invalid_instruction_is_rejected_with_usage() {
    let task = harness().send_for_task(user_message("chunks many")).await;
    let (state, status_text) = status(&task);
    assert_eq!(state, TaskState::Rejected);
    assert!(status_text.starts_with("usage: chunks N [MS]: "), "{status_text}");
}

#[tokio::test]
async fn answer_completes_interrupted_task() {
    let harness = harness();
    for question in ["ask Which city?", "auth"] {
        let interrupted = harness.send_for_task(user_message(question)).await;
        let task = harness
            .send_for_task(user_message("fail to see why").with_task(interrupted.id.clone()))
            .await;
        assert_eq!(task.status.state, TaskState::Completed, "{question}");
        assert_eq!(text(&task), "fail to see why", "{question}");
    }
}

#[tokio::test]
async fn chunks_are_numbered_and_last_is_marked() {
    let events = harness().collect_events(user_message("chunks 3 1")).await;
    let chunks: Vec<_> = events
        .iter()
        .filter_map(|it| match it {
            StreamResponse::ArtifactUpdate(it) => {
                Some((it.artifact.text(), it.append, it.last_chunk))
            }
            _ => None,
        })
        .collect();
    let chunk = |number| format!("chunk {number} of 3\n");
    assert_eq!(chunks, [(chunk(1), false, false), (chunk(2), true, false), (chunk(3), true, true)]);
}

#[tokio::test]
async fn burst_streams_every_status() {
    let events = harness().collect_events(user_message("burst 1000")).await;
    let texts: Vec<_> = events
        .iter()
        .filter_map(|it| match it {
            StreamResponse::StatusUpdate(it) => Some(it.status.message.as_ref()?.text()),
            _ => None,
        })
        .collect();
    let want: Vec<_> = (1..=1000).map(|it| format!("{it} of 1000")).collect();
    assert_eq!(texts, want);
}

#[tokio::test]
async fn cancel_stops_every_instruction_even_stubborn() {
    let harness = harness();
    for (message, max_wait) in [
        ("wait 60000", Duration::from_secs(1)),
        ("chunks 100 60000", Duration::from_secs(1)),
        ("stubborn 60000", Duration::from_secs(10)),
    ] {
        let started = harness.start_task(user_message(message)).await;
        harness.wait_until(&started.id, |it| it.status.state == TaskState::Working).await;
        let since = Instant::now();
        let task = harness.cancel(&started.id).await.unwrap();
        assert_eq!(task.status.state, TaskState::Canceled, "{message}");
        assert!(since.elapsed() < max_wait, "{message}: {:?}", since.elapsed());
    }
}

#[tokio::test]
async fn tck_scenarios_reach_expected_results() {
    let harness = harness();
    for (prefix, state) in [
        ("tck-complete-task", TaskState::Completed),
        ("tck-input-required", TaskState::InputRequired),
        ("tck-artifact-text", TaskState::Completed),
        ("tck-artifact-file", TaskState::Completed),
        ("tck-artifact-file-url", TaskState::Completed),
        ("tck-artifact-data", TaskState::Completed),
        ("tck-stream-001", TaskState::Completed),
        ("tck-stream-002", TaskState::Completed),
        ("tck-stream-ordering-001", TaskState::Completed),
        ("tck-reject-task", TaskState::Rejected),
    ] {
        let task = harness.send_for_task(tck_message(prefix)).await;
        assert_eq!(task.status.state, state, "{prefix}");
    }
    let completed = harness.send_for_task(tck_message("tck-complete-task")).await;
    assert!(completed.status.message.is_some());
    let file = harness.send_for_task(tck_message("tck-artifact-file")).await;
    assert!(matches!(&parts(&file)[0].content, Content::Raw(_)), "{file:?}");
    let data = harness.send_for_task(tck_message("tck-artifact-data")).await;
    assert_eq!(parts(&data), [Part::data(json!({"key": "value", "count": 42}))]);
    let direct = harness.send(tck_message("tck-message-response")).await.unwrap();
    let SendMessageResponse::Message(direct) = direct else { panic!("{direct:?}") };
    assert_eq!(direct.text(), "Direct message response");
}

#[tokio::test]
async fn tck_messages_may_repeat_question_and_message_id() {
    let harness = harness();
    let interrupted = harness.send_for_task(tck_message("tck-input-required")).await;
    let repeated = harness
        .send_for_task(tck_message("tck-input-required").with_task(interrupted.id.clone()))
        .await;
    assert_eq!(repeated.status.state, TaskState::InputRequired);
    let done =
        harness.send_for_task(tck_message("tck-anything").with_task(interrupted.id.clone())).await;
    assert_eq!(done.status.state, TaskState::Completed);

    let message = tck_message("tck-complete-task");
    let (one, other) =
        (harness.send_for_task(message.clone()).await, harness.send_for_task(message).await);
    assert_ne!(one.id, other.id);
    let message = user_message("hello");
    let (one, other) =
        (harness.send_for_task(message.clone()).await, harness.send_for_task(message).await);
    assert_eq!(one.id, other.id);
}

/// Store directory of an engine that is restarted.
struct RestartFixture(tempfile::TempDir);

impl RestartFixture {
    fn open(&self) -> EngineHarness {
        let path = self.0.path().join("tasks.db");
        let store = SqliteStore::open(path, SqliteConfig::default()).unwrap();
        EngineHarness::with_store(
            DemoAgent::new_agent("demo"),
            Arc::new(store) as Arc<dyn TaskStore>,
        )
    }

    /// Starts a task and shuts the engine down once the task has progressed.
    async fn run_until_interrupted(
        &self,
        message: &str,
        has_progressed: impl Fn(&latimer_protocol::Task) -> bool,
    ) -> latimer_protocol::TaskId {
        let harness = self.open();
        let started = harness.start_task(user_message(message)).await;
        harness.wait_until(&started.id, has_progressed).await;
        harness.engine.drain(Duration::ZERO).await;
        started.id.clone()
    }
}

#[tokio::test]
async fn chunks_resume_after_restart() {
    let fixture = RestartFixture(tempfile::tempdir().unwrap());
    let id = fixture.run_until_interrupted("chunks 6 150", |it| parts(it).len() >= 2).await;
    let harness = fixture.open();
    assert_eq!(harness.engine.recover().await.unwrap(), 1);
    let task = harness.wait_until(&id, |it| it.status.state.is_terminal()).await;
    assert_eq!(task.status.state, TaskState::Completed);
    let want: Vec<_> = (1..=6).map(|it| Part::text(format!("chunk {it} of 6\n"))).collect();
    assert_eq!(parts(&task), want);
    assert_eq!(task.artifacts.len(), 1);
}

#[tokio::test]
async fn wait_resumes_for_remaining_time() {
    let fixture = RestartFixture(tempfile::tempdir().unwrap());
    let since = Instant::now();
    let id = fixture.run_until_interrupted("wait 1500", |it| it.status.message.is_some()).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    let (harness, resumed) = (fixture.open(), Instant::now());
    assert_eq!(harness.engine.recover().await.unwrap(), 1);
    let task = harness.wait_until(&id, |it| it.status.state.is_terminal()).await;
    assert_eq!(status(&task), (TaskState::Completed, "done waiting".into()));
    assert!(since.elapsed() >= Duration::from_millis(1500), "{:?}", since.elapsed());
    assert!(resumed.elapsed() < Duration::from_millis(1400), "{:?}", resumed.elapsed());
}

#[tokio::test]
async fn unresumable_instruction_fails_with_restart_reason() {
    let fixture = RestartFixture(tempfile::tempdir().unwrap());
    let id =
        fixture.run_until_interrupted("stubborn 60000", |it| it.status.message.is_some()).await;
    let harness = fixture.open();
    harness.engine.recover().await.unwrap();
    let task = harness.wait_until(&id, |it| it.status.state.is_terminal()).await;
    let (state, status_text) = status(&task);
    assert_eq!(state, TaskState::Failed);
    assert!(status_text.contains("restarted"), "{status_text}");
}
