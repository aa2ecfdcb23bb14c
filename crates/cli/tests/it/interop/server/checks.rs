//! Helpers of checks.

use std::fmt;

use futures_util::TryStreamExt;
use latimer_client::{Client, Error, user_message};
use latimer_protocol::{
    Event, EventStream, Part, SendMessageConfiguration, SendMessageRequest, StreamResponse, Task,
    TaskState,
};

/// Reason why a check failed.
pub(super) type CheckError = Box<dyn std::error::Error + Send + Sync>;

/// Result of a check.
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

/// Creates a request that returns as soon as the task is created.
pub(super) fn immediate_request(text: &str) -> SendMessageRequest {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    SendMessageRequest {
        configuration: Some(configuration),
        ..SendMessageRequest::from(user_message(text))
    }
}

/// Reads all events of a stream.
pub(super) async fn collect_events(
    events: EventStream<Error>,
) -> Result<Vec<StreamResponse>, CheckError> {
    let events: Vec<_> = events.try_collect().await?;
    Ok(events.iter().map(|it| it.event.event().clone()).collect())
}

/// Folds the events of a stream to a task and compares it with the stored one.
pub(super) async fn fold_events(
    client: &Client,
    events: &[StreamResponse],
) -> Result<Task, CheckError> {
    let Some(StreamResponse::Task(first)) = events.first() else {
        return Err(format!("the first event is not the task: {events:?}").into());
    };
    let mut task = first.clone();
    for event in &events[1..] {
        let event = Event::from_stream_response(event.clone());
        let event = event.ok_or_else(|| format!("not an event of a task: {events:?}"))?;
        task.apply(event)?;
    }
    let stored = client.get_task(task.id.clone()).await?;
    ensure_eq("state", task.status.state, stored.status.state)?;
    ensure_eq("text", artifact_text(&task), artifact_text(&stored))?;
    Ok(task)
}

/// Returns the concatenated text of all artifacts.
pub(super) fn artifact_text(task: &Task) -> String {
    task.artifacts.iter().flat_map(|it| &it.parts).filter_map(Part::as_text).collect()
}

/// Returns the text of the status message.
pub(super) fn status_text(task: &Task) -> String {
    task.status.message.as_ref().map(|it| it.text()).unwrap_or_default()
}

pub(super) fn ensure_completed(task: &Task) -> CheckResult {
    ensure_eq("state", task.status.state, TaskState::Completed)
}
