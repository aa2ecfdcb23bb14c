//! What an agent keeps with a task, refuses, and lets go of.

use std::sync::Mutex;

use async_trait::async_trait;
use latimer_protocol::TaskId;

use super::*;
use crate::Executor;

/// The tasks that were let go of, with their notes.
type LetGo = Arc<Mutex<Vec<(TaskId, Option<String>)>>>;

/// Keeps what it is told to, and says what it kept.
#[derive(Debug, Default)]
struct Keeper {
    let_go: LetGo,
}

#[async_trait]
impl Executor for Keeper {
    async fn execute(&self, turn: Turn) -> Result<(), Failure> {
        let text = turn.text();
        let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
        match word {
            "ask" => {
                turn.keep(rest).await?;
                turn.ask("What?").await?;
            }
            "alone" => {
                turn.keep(rest).await?;
                turn.flush().await?;
                turn.reply("done").await?;
            }
            "kept" => turn.reply(turn.kept().unwrap_or("nothing")).await?,
            "of" => {
                let kept = turn.kept_with(&TaskId::new(rest)?).await?;
                turn.reply(kept.as_deref().unwrap_or("nothing")).await?;
            }
            "refuse" => {
                let error = Error::new(ErrorKind::ContentTypeNotSupported, rest.to_owned());
                return Err(Failure::refused(error));
            }
            "awaited" => turn.reply(turn.is_awaited().to_string()).await?,
            "opens" => turn.reply(turn.opens_conversation().to_string()).await?,
            other => turn.say(other).await?,
        }
        Ok(())
    }

    async fn let_go(&self, task: &Task, note: Option<&str>) {
        self.let_go.lock().unwrap().push((task.id.clone(), note.map(str::to_owned)));
    }
}

fn keeper() -> (Engine, LetGo) {
    let keeper = Keeper::default();
    let let_go = Arc::clone(&keeper.let_go);
    let registry = Registry::new([Agent::new("test", keeper)]).unwrap();
    let engine =
        Engine::new(Arc::new(registry), Arc::new(MemoryStore::default()), Limits::default());
    (engine, let_go)
}

#[tokio::test]
async fn a_note_is_for_the_agent_and_for_later_turns() {
    let (engine, _) = keeper();
    let asked = task(&engine, says("ask secret")).await;
    // Once, in what the caller said itself.
    assert_eq!(format!("{asked:?}").matches("secret").count(), 1, "{asked:?}");
    let other = task(&engine, says(&format!("of {}", asked.id))).await;
    assert_eq!(other.text(), "secret");
    assert_eq!(task(&engine, answers(&asked, "kept")).await.text(), "secret");
    assert_eq!(task(&engine, says("kept")).await.text(), "nothing");
}

#[tokio::test]
async fn a_note_alone_is_durable() {
    let (engine, _) = keeper();
    for request in [says("alone secret"), at_once("alone secret")] {
        let begun = task(&engine, request).await;
        let stored = async || engine.store().list(&everything()).await.unwrap().tasks;
        while !stored().await.iter().any(|it| it.id == begun.id && it.status.state.is_terminal()) {
            tokio::task::yield_now().await;
        }
        let kept = task(&engine, says(&format!("of {}", begun.id))).await;
        assert_eq!(kept.text(), "secret");
    }
}

fn everything() -> latimer_store::TaskQuery {
    latimer_store::TaskQuery {
        owner: "".into(),
        agent: None,
        excluded_agents: Vec::new(),
        context: None,
        state: None,
        status_changed_since: None,
        after: None,
        limit: 100,
    }
}

#[tokio::test]
async fn what_is_refused_leaves_nothing_behind() {
    let (engine, _) = keeper();
    let request = says("refuse such things");
    for _ in 0..2 {
        let error = send(&engine, request.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ContentTypeNotSupported);
        assert_eq!(error.message(), "such things");
    }
    let error = events(&engine, stream("refuse such things")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContentTypeNotSupported);
    assert!(engine.store().list(&everything()).await.unwrap().tasks.is_empty());
    // Whoever was told of a task is told how it ended.
    let begun = task(&engine, at_once("refuse such things")).await;
    let failed = events(&engine, subscribe(&begun, Some(0))).await.unwrap();
    assert_eq!(kinds(&failed).last().unwrap(), "status Failed");
}

#[tokio::test]
async fn an_answer_that_is_refused_leaves_the_question() {
    let (engine, _) = keeper();
    let asked = task(&engine, says("ask secret")).await;
    let error = send(&engine, answers(&asked, "refuse that")).await.unwrap_err();
    assert_eq!(error.message(), "that");
    assert_eq!(*get(&engine, &asked).await.unwrap(), *asked);
    assert_eq!(task(&engine, answers(&asked, "kept")).await.text(), "secret");
}

#[tokio::test]
async fn who_asked_hears_that_nobody_will_answer() {
    let (engine, let_go) = keeper();
    let asked = task(&engine, says("ask secret")).await;
    cancel(&engine, &asked).await.unwrap();
    assert_eq!(*let_go.lock().unwrap(), [(asked.id.clone(), Some("secret".to_owned()))]);
}

#[tokio::test]
async fn a_conversation_begins_where_its_caller_names_none() {
    let (engine, _) = keeper();
    let first = task(&engine, says("opens")).await;
    assert_eq!(first.text(), "true");
    let mut next = says("opens");
    next.message.context_id = first.context_id.clone();
    assert_eq!(task(&engine, next).await.text(), "false");
}

#[tokio::test]
async fn an_agent_knows_whether_only_its_answer_is_read() {
    let (engine, _) = keeper();
    assert_eq!(task(&engine, says("awaited")).await.text(), "true");
    for told in [
        events(&engine, stream("awaited")).await.unwrap(),
        events(&engine, subscribe(&*task(&engine, at_once("awaited")).await, Some(0)))
            .await
            .unwrap(),
    ] {
        let said = told.iter().find_map(|it| match it.event.event() {
            StreamResponse::ArtifactUpdate(it) => it.artifact.parts[0].as_text().map(str::to_owned),
            _ => None,
        });
        assert_eq!(said.as_deref(), Some("false"));
    }
}
