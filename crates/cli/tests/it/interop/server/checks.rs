//! What is checked again and again.

use std::fmt;

use futures_util::TryStreamExt;
use latimer_client::{Client, Error, user_message};
use latimer_protocol::{
    Event, EventStream, Part, SendMessageConfiguration, SendMessageRequest, StreamResponse, Task,
    TaskState,
};

/// What is wrong.
pub(super) type CheckError = Box<dyn std::error::Error + Send + Sync>;

/// How a check went.
pub(super) type CheckResult = Result<(), CheckError>;

pub(super) fn ensure(condition: bool, message: &str) -> CheckResult {
    if condition { Ok(()) } else { Err(message.into()) }
}

pub(super) fn ensure_eq<T: PartialEq<U> + fmt::Debug, U: fmt::Debug>(
    label: &str,
    actual: T,
    expected: U,
) -> CheckResult {
    ensure(actual == expected, &format!("{label}: {actual:?} instead of {expected:?}"))
}

/// A message that is answered as soon as there is a task.
pub(super) fn immediate_request(text: &str) -> SendMessageRequest {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    SendMessageRequest {
        configuration: Some(configuration),
        ..SendMessageRequest::from(user_message(text))
    }
}

/// Everything that a stream tells.
pub(super) async fn collect_events(
    events: EventStream<Error>,
) -> Result<Vec<StreamResponse>, CheckError> {
    let events: Vec<_> = events.try_collect().await?;
    Ok(events.iter().map(|it| it.event.event().clone()).collect())
}

/// The task that a stream tells of, checked against what the server says of it.
pub(super) async fn fold_events(
    client: &Client,
    events: &[StreamResponse],
) -> Result<Task, CheckError> {
    let Some(StreamResponse::Task(first)) = events.first() else {
        return Err(format!("it does not begin with the task: {events:?}").into());
    };
    let mut task = first.clone();
    for event in &events[1..] {
        let event = Event::from_stream_response(event.clone());
        let event = event.ok_or_else(|| format!("no event of a task: {events:?}"))?;
        task.apply(event)?;
    }
    let stored = client.get_task(task.id.clone()).await?;
    ensure_eq("state", task.status.state, stored.status.state)?;
    ensure_eq("text", artifact_text(&task), artifact_text(&stored))?;
    Ok(task)
}

/// The texts of all artifacts, without anything between them.
pub(super) fn artifact_text(task: &Task) -> String {
    task.artifacts.iter().flat_map(|it| &it.parts).filter_map(Part::as_text).collect()
}

/// What an agent says with the state it came to.
pub(super) fn status_text(task: &Task) -> String {
    task.status.message.as_ref().map(|it| it.text()).unwrap_or_default()
}

pub(super) fn ensure_completed(task: &Task) -> CheckResult {
    ensure_eq("state", task.status.state, TaskState::Completed)
}
