//! What is checked again and again.

use std::fmt;

use futures_util::TryStreamExt;
use latimer_client::transport::Events;
use latimer_client::{Client, user_message};
use latimer_protocol::{
    Event, Part, SendMessageConfiguration, SendMessageRequest, StreamResponse, Task, TaskState,
};

/// What is wrong.
pub(super) type Problem = Box<dyn std::error::Error + Send + Sync>;

/// How a check went.
pub(super) type Checked = Result<(), Problem>;

pub(super) fn that(holds: bool, otherwise: &str) -> Checked {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

pub(super) fn same<T: PartialEq<U> + fmt::Debug, U: fmt::Debug>(
    what: &str,
    found: T,
    wanted: U,
) -> Checked {
    that(found == wanted, &format!("{what}: {found:?} instead of {wanted:?}"))
}

/// A message that is answered as soon as there is a task.
pub(super) fn begin(text: &str) -> SendMessageRequest {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    SendMessageRequest {
        configuration: Some(configuration),
        ..SendMessageRequest::from(user_message(text))
    }
}

/// Everything that a stream tells.
pub(super) async fn told(events: Events) -> Result<Vec<StreamResponse>, Problem> {
    let events: Vec<_> = events.try_collect().await?;
    Ok(events.iter().map(|it| it.event.event().clone()).collect())
}

/// The task that a stream tells of, checked against what the server says of it.
pub(super) async fn folded(client: &Client, told: &[StreamResponse]) -> Result<Task, Problem> {
    let Some(StreamResponse::Task(first)) = told.first() else {
        return Err(format!("it does not begin with the task: {told:?}").into());
    };
    let mut task = first.clone();
    for event in &told[1..] {
        let event = Event::from_stream_response(event.clone());
        let event = event.ok_or_else(|| format!("no event of a task: {told:?}"))?;
        task.apply(event)?;
    }
    let kept = client.get_task(task.id.clone()).await?;
    same("state", task.status.state, kept.status.state)?;
    same("text", whole(&task), whole(&kept))?;
    Ok(task)
}

/// The texts of all artifacts, without anything between them.
pub(super) fn whole(task: &Task) -> String {
    task.artifacts.iter().flat_map(|it| &it.parts).filter_map(Part::as_text).collect()
}

/// What an agent says with the state it came to.
pub(super) fn said(task: &Task) -> String {
    task.status.message.as_ref().map(|it| it.text()).unwrap_or_default()
}

pub(super) fn completed(task: &Task) -> Checked {
    same("state", task.status.state, TaskState::Completed)
}
