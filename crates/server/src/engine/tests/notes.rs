//! Notes, rejected messages, and release of canceled tasks.

use std::sync::Mutex;

use async_trait::async_trait;
use latimer_protocol::TaskId;

use super::*;
use crate::Executor;

/// Tasks passed to `Executor::release`, with their notes.
type ReleasedTasks = Arc<Mutex<Vec<(TaskId, Option<String>)>>>;

/// Agent that stores notes and returns them.
#[derive(Debug, Default)]
struct NoteAgent {
    released: ReleasedTasks,
}

#[async_trait]
impl Executor for NoteAgent {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        let text = turn.text();
        let (word, argument) = text.split_once(' ').unwrap_or((&text, ""));
        match word {
            "ask" => {
                turn.set_note(argument).await?;
                turn.request_input("What?").await?;
            }
            "alone" => {
                turn.set_note(argument).await?;
                turn.flush().await?;
                turn.reply("done").await?;
            }
            "kept" => turn.reply(turn.note().unwrap_or("nothing")).await?,
            "of" => {
                let note = turn.note_of(&TaskId::new(argument)?).await?;
                turn.reply(note.as_deref().unwrap_or("nothing")).await?;
            }
            "refuse" => {
                let error = Error::new(ErrorKind::ContentTypeNotSupported, argument.to_owned());
                return Err(AgentFailure::reject_message(error));
            }
            "awaited" => turn.reply(turn.is_result_only().to_string()).await?,
            "opens" => turn.reply(turn.starts_context().to_string()).await?,
            other => turn.direct_reply(other).await?,
        }
        Ok(())
    }

    async fn release(&self, task: &Task, note: Option<&str>) {
        self.released.lock().unwrap().push((task.id.clone(), note.map(str::to_owned)));
    }
}

fn note_engine() -> (Engine, ReleasedTasks) {
    let agent = NoteAgent::default();
    let released = Arc::clone(&agent.released);
    let registry = AgentRegistry::new([Agent::new("test", agent).with_direct_replies()]).unwrap();
    let engine =
        Engine::new(Arc::new(registry), Arc::new(MemoryStore::default()), EngineLimits::default());
    (engine, released)
}

#[tokio::test]
async fn note_is_visible_only_to_agent_in_later_turns() {
    let (engine, _) = note_engine();
    let interrupted = send_for_task(&engine, user_request("ask secret")).await;
    // The only occurrence is in the caller's message.
    assert_eq!(format!("{interrupted:?}").matches("secret").count(), 1, "{interrupted:?}");
    let other = send_for_task(&engine, user_request(&format!("of {}", interrupted.id))).await;
    assert_eq!(other.text(), "secret");
    assert_eq!(
        send_for_task(&engine, follow_up_request(&interrupted, "kept")).await.text(),
        "secret"
    );
    assert_eq!(send_for_task(&engine, user_request("kept")).await.text(), "nothing");
}

#[tokio::test]
async fn note_without_event_is_durable() {
    let (engine, _) = note_engine();
    for request in [user_request("alone secret"), immediate_request("alone secret")] {
        let started = send_for_task(&engine, request).await;
        wait_until("the task is finished", async || {
            listed_tasks(&engine)
                .await
                .iter()
                .any(|it| it.id == started.id && it.status.state.is_terminal())
        })
        .await;
        let note_task = send_for_task(&engine, user_request(&format!("of {}", started.id))).await;
        assert_eq!(note_task.text(), "secret");
    }
}

#[tokio::test]
async fn rejected_message_creates_no_task() {
    let (engine, _) = note_engine();
    let request = user_request("refuse such things");
    for _ in 0..2 {
        let error = send(&engine, request.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ContentTypeNotSupported);
        assert_eq!(error.message(), "such things");
    }
    let error = events(&engine, stream("refuse such things")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContentTypeNotSupported);
    assert!(listed_tasks(&engine).await.is_empty());
    // A caller that knows the task gets a rejected task instead of the error.
    let started = send_for_task(&engine, immediate_request("refuse such things")).await;
    let failed = events(&engine, subscribe(&started, Some(0))).await.unwrap();
    assert_eq!(kinds(&failed).last().unwrap(), "status Rejected");
}

#[tokio::test]
async fn rejected_follow_up_leaves_task_interrupted() {
    let (engine, _) = note_engine();
    let interrupted = send_for_task(&engine, user_request("ask secret")).await;
    let error = send(&engine, follow_up_request(&interrupted, "refuse that")).await.unwrap_err();
    assert_eq!(error.message(), "that");
    assert_eq!(*get(&engine, &interrupted).await.unwrap(), *interrupted);
    assert_eq!(
        send_for_task(&engine, follow_up_request(&interrupted, "kept")).await.text(),
        "secret"
    );
}

#[tokio::test]
async fn canceled_interrupted_task_is_released_with_its_note() {
    let (engine, released) = note_engine();
    let interrupted = send_for_task(&engine, user_request("ask secret")).await;
    cancel(&engine, &interrupted).await.unwrap();
    assert_eq!(*released.lock().unwrap(), [(interrupted.id.clone(), Some("secret".to_owned()))]);
}

#[tokio::test]
async fn turn_starts_context_without_context_id() {
    let (engine, _) = note_engine();
    let first = send_for_task(&engine, user_request("opens")).await;
    assert_eq!(first.text(), "true");
    let mut next = user_request("opens");
    next.message.context_id = first.context_id.clone();
    assert_eq!(send_for_task(&engine, next).await.text(), "false");
}

#[tokio::test]
async fn turn_reports_whether_only_result_is_read() {
    let (engine, _) = note_engine();
    assert_eq!(send_for_task(&engine, user_request("awaited")).await.text(), "true");
    for received in [
        events(&engine, stream("awaited")).await.unwrap(),
        events(
            &engine,
            subscribe(&*send_for_task(&engine, immediate_request("awaited")).await, Some(0)),
        )
        .await
        .unwrap(),
    ] {
        let text = received.iter().find_map(|it| match it.event.event() {
            StreamResponse::ArtifactUpdate(it) => it.artifact.parts[0].as_text().map(str::to_owned),
            _ => None,
        });
        assert_eq!(text.as_deref(), Some("false"));
    }
}
