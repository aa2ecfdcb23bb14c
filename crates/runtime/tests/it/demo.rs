//! The demonstration reaches every state, and goes on after a restart.

use std::sync::Arc;
use std::time::{Duration, Instant};

use latimer_protocol::{Content, Part, SendMessageResponse, StreamResponse, TaskState};
use latimer_runtime::Demo;
use latimer_store::{SqliteConfig, SqliteStore, TaskStore};
use serde_json::json;

use crate::house::{House, from_kit, parts, says, status, text};

fn house() -> House {
    House::new(Demo::agent("demo"))
}

#[tokio::test]
async fn every_state_can_be_reached() {
    let house = house();
    for (message, state, said) in [
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
        let task = house.task(says(message)).await;
        assert_eq!(status(&task), (state, said.to_owned()), "{message}");
    }
}

#[tokio::test]
async fn answers_come_in_every_form() {
    let house = house();
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
        let task = house.task(says(message)).await;
        assert_eq!(parts(&task), [want], "{message}");
    }
    let task = house.task(says("echo hello").with_part(Part::data(1))).await;
    assert_eq!(parts(&task), [Part::text("hello"), Part::data(1)]);
    let said = house.send(says("say hello")).await.unwrap();
    let SendMessageResponse::Message(said) = said else { panic!("{said:?}") };
    assert_eq!(said.text(), "hello");
}

#[tokio::test]
async fn what_cannot_be_followed_is_rejected_with_its_usage() {
    let task = house().task(says("chunks many")).await;
    let (state, said) = status(&task);
    assert_eq!(state, TaskState::Rejected);
    assert!(said.starts_with("usage: chunks N [MS]: "), "{said}");
}

#[tokio::test]
async fn an_answer_completes_what_was_asked() {
    let house = house();
    for question in ["ask Which city?", "auth"] {
        let asked = house.task(says(question)).await;
        let task = house.task(says("fail to see why").with_task(asked.id.clone())).await;
        assert_eq!(task.status.state, TaskState::Completed, "{question}");
        assert_eq!(text(&task), "fail to see why", "{question}");
    }
}

#[tokio::test]
async fn chunks_are_numbered_and_the_last_says_so() {
    let told = house().stream(says("chunks 3 1")).await;
    let chunks: Vec<_> = told
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
async fn a_burst_is_told_whole() {
    let told = house().stream(says("burst 1000")).await;
    let said: Vec<_> = told
        .iter()
        .filter_map(|it| match it {
            StreamResponse::StatusUpdate(it) => Some(it.status.message.as_ref()?.text()),
            _ => None,
        })
        .collect();
    let want: Vec<_> = (1..=1000).map(|it| format!("{it} of 1000")).collect();
    assert_eq!(said, want);
}

#[tokio::test]
async fn it_stops_when_canceled_and_stubborn_is_stopped() {
    let house = house();
    for (message, patience) in [
        ("wait 60000", Duration::from_secs(1)),
        ("chunks 100 60000", Duration::from_secs(1)),
        ("stubborn 60000", Duration::from_secs(10)),
    ] {
        let begun = house.begin(says(message)).await;
        house.until(&begun.id, |it| it.status.state == TaskState::Working).await;
        let since = Instant::now();
        let task = house.cancel(&begun.id).await.unwrap();
        assert_eq!(task.status.state, TaskState::Canceled, "{message}");
        assert!(since.elapsed() < patience, "{message}: {:?}", since.elapsed());
    }
}

#[tokio::test]
async fn the_official_kit_finds_what_it_looks_for() {
    let house = house();
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
        let task = house.task(from_kit(prefix)).await;
        assert_eq!(task.status.state, state, "{prefix}");
    }
    let completed = house.task(from_kit("tck-complete-task")).await;
    assert!(completed.status.message.is_some());
    let file = house.task(from_kit("tck-artifact-file")).await;
    assert!(matches!(&parts(&file)[0].content, Content::Raw(_)), "{file:?}");
    let data = house.task(from_kit("tck-artifact-data")).await;
    assert_eq!(parts(&data), [Part::data(json!({"key": "value", "count": 42}))]);
    let direct = house.send(from_kit("tck-message-response")).await.unwrap();
    let SendMessageResponse::Message(direct) = direct else { panic!("{direct:?}") };
    assert_eq!(direct.text(), "Direct message response");
}

#[tokio::test]
async fn the_kit_may_go_on_asking_and_send_the_same_again() {
    let house = house();
    let asked = house.task(from_kit("tck-input-required")).await;
    let again = house.task(from_kit("tck-input-required").with_task(asked.id.clone())).await;
    assert_eq!(again.status.state, TaskState::InputRequired);
    let done = house.task(from_kit("tck-anything").with_task(asked.id.clone())).await;
    assert_eq!(done.status.state, TaskState::Completed);

    let message = from_kit("tck-complete-task");
    let (one, other) = (house.task(message.clone()).await, house.task(message).await);
    assert_ne!(one.id, other.id);
    let message = says("hello");
    let (one, other) = (house.task(message.clone()).await, house.task(message).await);
    assert_eq!(one.id, other.id);
}

/// A house whose process ends and begins again.
struct Restarting(tempfile::TempDir);

impl Restarting {
    fn open(&self) -> House {
        let path = self.0.path().join("tasks.db");
        let store = SqliteStore::open(path, SqliteConfig::default()).unwrap();
        House::with_store(Demo::agent("demo"), Arc::new(store) as Arc<dyn TaskStore>)
    }

    /// Begins a task, lets it come so far, and ends the process in the middle of it.
    async fn interrupt(
        &self,
        message: &str,
        far: impl Fn(&latimer_protocol::Task) -> bool,
    ) -> latimer_protocol::TaskId {
        let house = self.open();
        let begun = house.begin(says(message)).await;
        house.until(&begun.id, far).await;
        house.engine.drain(Duration::ZERO).await;
        begun.id.clone()
    }
}

#[tokio::test]
async fn chunks_go_on_where_the_log_stopped() {
    let place = Restarting(tempfile::tempdir().unwrap());
    let id = place.interrupt("chunks 6 150", |it| parts(it).len() >= 2).await;
    let house = place.open();
    assert_eq!(house.engine.recover().await.unwrap(), 1);
    let task = house.until(&id, |it| it.status.state.is_terminal()).await;
    assert_eq!(task.status.state, TaskState::Completed);
    let want: Vec<_> = (1..=6).map(|it| Part::text(format!("chunk {it} of 6\n"))).collect();
    assert_eq!(parts(&task), want);
    assert_eq!(task.artifacts.len(), 1);
}

#[tokio::test]
async fn waiting_goes_on_for_what_is_left() {
    let place = Restarting(tempfile::tempdir().unwrap());
    let since = Instant::now();
    let id = place.interrupt("wait 1500", |it| it.status.message.is_some()).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    let (house, resumed) = (place.open(), Instant::now());
    assert_eq!(house.engine.recover().await.unwrap(), 1);
    let task = house.until(&id, |it| it.status.state.is_terminal()).await;
    assert_eq!(status(&task), (TaskState::Completed, "done waiting".into()));
    assert!(since.elapsed() >= Duration::from_millis(1500), "{:?}", since.elapsed());
    assert!(resumed.elapsed() < Duration::from_millis(1400), "{:?}", resumed.elapsed());
}

#[tokio::test]
async fn what_cannot_be_gone_on_with_names_the_restart() {
    let place = Restarting(tempfile::tempdir().unwrap());
    let id = place.interrupt("stubborn 60000", |it| it.status.message.is_some()).await;
    let house = place.open();
    house.engine.recover().await.unwrap();
    let task = house.until(&id, |it| it.status.state.is_terminal()).await;
    let (state, said) = status(&task);
    assert_eq!(state, TaskState::Failed);
    assert!(said.contains("restarted"), "{said}");
}
