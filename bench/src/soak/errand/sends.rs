//! Messages, and what they are answered with.

use std::time::Duration;

use latimer_protocol::ErrorKind;
use serde_json::Value;
use tokio::time::timeout;

use super::want;
use crate::soak::caller::{Answer, Caller};
use crate::soak::seen::Seen;
use crate::soak::server::MAX_TASKS;
use crate::soak::speech::{About, Message, Request};
use crate::soak::trouble::Run;

/// Sends a message, and waits for a task that ends like that.
async fn done(caller: &mut Caller, message: &Message, state: &str) -> Run<Seen> {
    let request = caller.speech.send(message);
    let seen = caller.expect(&request).await?;
    in_state(caller, &seen, state)?;
    Ok(seen)
}

/// A task that ended otherwise is a fault, unless the server went away meanwhile.
pub(super) fn in_state(caller: &Caller, seen: &Seen, state: &str) -> Run {
    match seen.state().as_deref() == Some(state) && seen.task().is_some() {
        true => Ok(()),
        false => Err(caller.judge(format!("not {state}: {seen:?}"))),
    }
}

/// The id of a task.
pub(super) fn id(seen: &Seen) -> Run<String> {
    let id = seen.task().ok_or_else(|| format!("no task: {seen:?}"))?;
    Ok(id.to_owned())
}

pub(super) async fn echo(caller: &mut Caller) -> Run {
    let message = caller.message("echo to be or not to be");
    let seen = done(caller, &message, "completed").await?;
    want(seen.texts() == ["to be or not to be"], || format!("no echo: {seen:?}"))
}

pub(super) async fn direct(caller: &mut Caller) -> Run {
    let message = caller.message("say good day");
    let request = caller.speech.send(&message);
    let seen = caller.expect(&request).await?;
    want(!seen.is_task() && seen.texts() == ["good day"], || format!("not said: {seen:?}"))
}

pub(super) async fn get(caller: &mut Caller) -> Run {
    let message = caller.message("data {\"answer\": 42}");
    let sent = done(caller, &message, "completed").await?;
    for _ in 0..caller.random.within(1, 5) {
        let request = caller.speech.about(&id(&sent)?, About::Get);
        let seen = caller.expect(&request).await?;
        in_state(caller, &seen, "completed")?;
        want(seen.task() == sent.task(), || format!("another task: {seen:?}"))?;
    }
    Ok(())
}

pub(super) async fn list(caller: &mut Caller) -> Run {
    const SIZE: usize = 25;
    let mut token = String::new();
    for _ in 0..caller.random.within(1, 6) {
        let Seen(page) = caller.expect(&caller.speech.list(SIZE, &token)).await?;
        let tasks = page["tasks"].as_array().map(Vec::len);
        want(tasks.is_some_and(|it| it <= SIZE), || format!("no page: {page}"))?;
        let total = page["totalSize"].as_u64();
        want(total.is_some_and(|it| it <= MAX_TASKS), || format!("too many tasks: {total:?}"))?;
        token = page["nextPageToken"].as_str().unwrap_or_default().to_owned();
        if token.is_empty() {
            break;
        }
    }
    Ok(())
}

pub(super) async fn ask(caller: &mut Caller) -> Run {
    let message = caller.message("ask Which city?");
    let asked = done(caller, &message, "input-required").await?;
    let answer = Message { task: Some(id(&asked)?), ..caller.message("Lisbon") };
    let answered = done(caller, &answer, "completed").await?;
    want(answered.task() == asked.task() && answered.texts() == ["Lisbon"], || {
        format!("the answer is lost: {answered:?}")
    })?;
    // It is over, and takes no more.
    let more = Message { task: Some(id(&asked)?), ..caller.message("Porto") };
    let request = caller.speech.send(&more);
    match caller.ask(&request).await? {
        Answer::Refused(code, _) if code == caller.speech.code(ErrorKind::TaskFinished) => Ok(()),
        other => Err(caller.judge(format!("a task that is over takes a message: {other:?}"))),
    }
}

pub(super) async fn file(caller: &mut Caller) -> Run {
    let bytes = caller.random.within(1, 50) as usize * 3 * 1024;
    let message = caller.message(format!("file soak.bin {bytes}"));
    let got = done(caller, &message, "completed").await?;
    want(got.file_lengths() == [bytes / 3 * 4], || format!("not a file of {bytes} bytes"))?;
    let encoded = "c29h".repeat(bytes / 3 / 4);
    let length = encoded.len();
    let message = Message { file: Some(encoded), ..caller.message("echo with a file") };
    let echoed = done(caller, &message, "completed").await?;
    want(echoed.file_lengths() == [length], || format!("the file of {length} letters is lost"))
}

pub(super) async fn repeat(caller: &mut Caller) -> Run {
    let message = caller.message("chunks 3 5");
    let first = done(caller, &message, "completed").await?;
    let second = done(caller, &message, "completed").await?;
    want(first.task() == second.task(), || format!("done twice: {first:?}, {second:?}"))
}

pub(super) async fn fail(caller: &mut Caller) -> Run {
    let (word, state) = match caller.random.once_in(2) {
        true => ("fail", "failed"),
        false => ("reject", "rejected"),
    };
    let message = caller.message(format!("{word} because"));
    let seen = done(caller, &message, state).await?;
    want(seen.status_text() == Some("because"), || format!("no reason: {seen:?}"))
}

pub(super) async fn command(caller: &mut Caller) -> Run {
    let message = Message { agent: Some("shout"), ..caller.message("louder") };
    let seen = done(caller, &message, "completed").await?;
    want(seen.texts().concat() == "LOUDER", || format!("not loud: {seen:?}"))
}

pub(super) async fn abandon(caller: &mut Caller) -> Run {
    let message = caller.message("wait 100");
    let request = caller.speech.send(&message).bytes(&caller.world.address);
    let patience = Duration::from_millis(caller.random.below(50));
    let mut connection = caller.connect(None).await?;
    match timeout(patience, connection.exchange(&request)).await {
        Ok(Err(error)) => Err(caller.judge(format!("the connection broke: {error}"))),
        // On a busy machine there may be an answer all the same.
        Ok(Ok(_)) | Err(_) => Ok(()),
    }
}

pub(super) async fn look(caller: &mut Caller) -> Run {
    for path in ["/health", "/ready", "/.well-known/agent-card.json", "/.well-known/agent.json"] {
        let (status, body) = caller.fetch(&Request::plain("GET", path)).await?;
        let json: Result<Value, _> = serde_json::from_slice(&body);
        if status != 200 || json.is_err() {
            let body = String::from_utf8_lossy(&body);
            return Err(caller.judge(format!("{path}: {status}: {body}")));
        }
    }
    let card = caller.expect(&Request::plain("GET", "/a2a/extendedAgentCard")).await?;
    want(card.0.get("skills").is_some(), || format!("a card without skills: {card:?}"))
}
