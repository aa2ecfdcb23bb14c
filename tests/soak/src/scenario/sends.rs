//! Scenarios of single calls.

use std::time::Duration;

use latimer_protocol::ErrorKind;
use serde_json::Value;
use tokio::time::timeout;

use super::ensure;
use crate::caller::{Caller, Reply};
use crate::error::ScenarioResult;
use crate::server::MAX_TASKS;
use crate::task_view::TaskView;
use crate::wire_format::{Message, Request, TaskOperation};

/// Sends a message and returns its task, which must be in `state`.
async fn send_expecting(
    caller: &mut Caller,
    message: &Message,
    state: &str,
) -> ScenarioResult<TaskView> {
    let request = caller.wire_format.send_request(message);
    let view = caller.expect(&request).await?;
    expect_state(caller, &view, state)?;
    Ok(view)
}

/// Returns a violation unless the task is in `state` or the server was stopped.
pub(super) fn expect_state(caller: &Caller, view: &TaskView, state: &str) -> ScenarioResult {
    match view.state().as_deref() == Some(state) && view.task_id().is_some() {
        true => Ok(()),
        false => Err(caller.classify(format!("expected state {state}: {view:?}"))),
    }
}

/// Returns the id of the task, or a violation if there is none.
pub(super) fn task_id(view: &TaskView) -> ScenarioResult<String> {
    let task_id = view.task_id().ok_or_else(|| format!("no task: {view:?}"))?;
    Ok(task_id.to_owned())
}

pub(super) async fn echo(caller: &mut Caller) -> ScenarioResult {
    let message = caller.new_message("echo to be or not to be");
    let view = send_expecting(caller, &message, "completed").await?;
    ensure(view.texts() == ["to be or not to be"], || format!("no echo: {view:?}"))
}

pub(super) async fn direct(caller: &mut Caller) -> ScenarioResult {
    let message = caller.new_message("say good day");
    let request = caller.wire_format.send_request(&message);
    let view = caller.expect(&request).await?;
    ensure(!view.is_task() && view.texts() == ["good day"], || {
        format!("expected a direct reply: {view:?}")
    })
}

pub(super) async fn get(caller: &mut Caller) -> ScenarioResult {
    let message = caller.new_message("data {\"answer\": 42}");
    let sent = send_expecting(caller, &message, "completed").await?;
    for _ in 0..caller.random.in_range(1, 5) {
        let request = caller.wire_format.task_request(&task_id(&sent)?, TaskOperation::Get);
        let view = caller.expect(&request).await?;
        expect_state(caller, &view, "completed")?;
        ensure(view.task_id() == sent.task_id(), || format!("wrong task: {view:?}"))?;
    }
    Ok(())
}

pub(super) async fn list(caller: &mut Caller) -> ScenarioResult {
    const SIZE: usize = 25;
    let mut token = String::new();
    for _ in 0..caller.random.in_range(1, 6) {
        let TaskView(page) = caller.expect(&caller.wire_format.list_request(SIZE, &token)).await?;
        let tasks = page["tasks"].as_array().map(Vec::len);
        ensure(tasks.is_some_and(|it| it <= SIZE), || format!("malformed page: {page}"))?;
        let total = page["totalSize"].as_u64();
        ensure(total.is_some_and(|it| it <= MAX_TASKS), || format!("too many tasks: {total:?}"))?;
        token = page["nextPageToken"].as_str().unwrap_or_default().to_owned();
        if token.is_empty() {
            break;
        }
    }
    Ok(())
}

pub(super) async fn input_required(caller: &mut Caller) -> ScenarioResult {
    let message = caller.new_message("ask Which city?");
    let interrupted = send_expecting(caller, &message, "input-required").await?;
    let reply = Message { task: Some(task_id(&interrupted)?), ..caller.new_message("Lisbon") };
    let answered = send_expecting(caller, &reply, "completed").await?;
    ensure(answered.task_id() == interrupted.task_id() && answered.texts() == ["Lisbon"], || {
        format!("the input is not in the result: {answered:?}")
    })?;
    // A finished task rejects further messages.
    let follow_up = Message { task: Some(task_id(&interrupted)?), ..caller.new_message("Porto") };
    let request = caller.wire_format.send_request(&follow_up);
    match caller.call(&request).await? {
        Reply::Error(code, _) if code == caller.wire_format.error_code(ErrorKind::TaskFinished) => {
            Ok(())
        }
        other => Err(caller.classify(format!("a finished task accepted a message: {other:?}"))),
    }
}

pub(super) async fn file(caller: &mut Caller) -> ScenarioResult {
    let bytes = caller.random.in_range(1, 50) as usize * 3 * 1024;
    let message = caller.new_message(format!("file soak.bin {bytes}"));
    let received = send_expecting(caller, &message, "completed").await?;
    ensure(received.file_lengths() == [bytes / 3 * 4], || {
        format!("expected a file of {bytes} bytes")
    })?;
    let encoded = "c29h".repeat(bytes / 3 / 4);
    let length = encoded.len();
    let message = Message { file: Some(encoded), ..caller.new_message("echo with a file") };
    let echoed = send_expecting(caller, &message, "completed").await?;
    ensure(echoed.file_lengths() == [length], || {
        format!("the file of {length} base64 characters is missing")
    })
}

pub(super) async fn repeat(caller: &mut Caller) -> ScenarioResult {
    let message = caller.new_message("chunks 3 5");
    let first = send_expecting(caller, &message, "completed").await?;
    let second = send_expecting(caller, &message, "completed").await?;
    ensure(first.task_id() == second.task_id(), || {
        format!("a duplicate ran twice: {first:?}, {second:?}")
    })
}

pub(super) async fn fail(caller: &mut Caller) -> ScenarioResult {
    let (instruction, state) = match caller.random.one_in(2) {
        true => ("fail", "failed"),
        false => ("reject", "rejected"),
    };
    let message = caller.new_message(format!("{instruction} because"));
    let view = send_expecting(caller, &message, state).await?;
    ensure(view.status_text() == Some("because"), || format!("the reason is missing: {view:?}"))
}

pub(super) async fn command(caller: &mut Caller) -> ScenarioResult {
    let message = Message { agent: Some("shout"), ..caller.new_message("louder") };
    let view = send_expecting(caller, &message, "completed").await?;
    ensure(view.texts().concat() == "LOUDER\n", || format!("wrong output of the command: {view:?}"))
}

pub(super) async fn abandon(caller: &mut Caller) -> ScenarioResult {
    let message = caller.new_message("wait 100");
    let request = caller.wire_format.send_request(&message).to_bytes(&caller.context.address);
    let max_wait = Duration::from_millis(caller.random.below(50));
    let mut connection = caller.connect(None).await?;
    match timeout(max_wait, connection.exchange(&request)).await {
        Ok(Err(error)) => Err(caller.classify(format!("the connection broke: {error}"))),
        // On a busy machine the response may arrive before the timer fires.
        Ok(Ok(_)) | Err(_) => Ok(()),
    }
}

pub(super) async fn probe(caller: &mut Caller) -> ScenarioResult {
    for path in ["/health", "/ready", "/.well-known/agent-card.json", "/.well-known/agent.json"] {
        let (status, body) = caller.fetch(&Request::without_body("GET", path)).await?;
        let json: Result<Value, _> = serde_json::from_slice(&body);
        if status != 200 || json.is_err() {
            let body = String::from_utf8_lossy(&body);
            return Err(caller.classify(format!("{path}: {status}: {body}")));
        }
    }
    Ok(())
}
