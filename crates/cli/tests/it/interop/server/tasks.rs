//! Checks of stored tasks.

use std::sync::Arc;

use latimer_client::{Client, user_message};
use latimer_protocol::{
    ContextId, GetTaskRequest, ListTasksRequest, Phase, StreamResponse, Task, TaskId, TaskState,
};

use super::checks::{CheckError, CheckResult, artifact_text, collect_events, ensure, ensure_eq};
use super::peer::{Peer, into_task};

/// Creates a task with two turns and loads it with this history length.
async fn two_turn_task(
    peer: &Peer<'_>,
    history_length: Option<u32>,
) -> Result<Arc<Task>, CheckError> {
    let interrupted = peer.send_expecting("input", TaskState::InputRequired).await?;
    let answer = user_message("complete").with_task(interrupted.id.clone());
    let done = into_task(peer.client.send(answer).await?)?;
    let request = GetTaskRequest { history_length, ..GetTaskRequest::from(done.id.clone()) };
    let loaded = peer.client.get_task(request).await?;
    ensure_eq("ids", (&loaded.id, &loaded.context_id), (&done.id, &done.context_id))?;
    Ok(loaded)
}

pub(super) async fn get(peer: &Peer<'_>) -> CheckResult {
    let stored = two_turn_task(peer, None).await?;
    let texts: Vec<_> = stored.history.iter().map(|it| it.text()).collect();
    let all = ["input", "complete"].iter().all(|it| texts.iter().any(|text| text == it));
    ensure(all, &format!("the history is {texts:?}"))
}

pub(super) async fn get_some(peer: &Peer<'_>) -> CheckResult {
    ensure_eq("history", two_turn_task(peer, Some(1)).await?.history.len(), 1)
}

pub(super) async fn get_none(peer: &Peer<'_>) -> CheckResult {
    ensure_eq("history", two_turn_task(peer, Some(0)).await?.history.len(), 0)
}

/// Creates tasks in one context.
async fn create_context(
    peer: &Peer<'_>,
    texts: &[&str],
) -> Result<(ContextId, Vec<TaskId>), CheckError> {
    let context = ContextId::new(uuid())?;
    let mut ids = Vec::new();
    for text in texts {
        let message = user_message(*text).with_context(context.clone());
        ids.push(into_task(peer.client.send(message).await?)?.id);
    }
    ids.sort();
    Ok((context, ids))
}

fn uuid() -> String {
    user_message("").message_id.to_string()
}

fn ids(tasks: &[Task]) -> Vec<TaskId> {
    let mut ids: Vec<_> = tasks.iter().map(|it| it.id.clone()).collect();
    ids.sort();
    ids
}

pub(super) async fn list(peer: &Peer<'_>) -> CheckResult {
    let (context_id, created) = create_context(peer, &["complete", "fail"]).await?;
    let request = ListTasksRequest { context_id: Some(context_id), ..Default::default() };
    let page = peer.client.list_tasks(request.clone()).await?;
    ensure_eq("tasks", ids(&page.tasks), created)?;
    ensure_eq("total and next", (page.total_size, page.next_page_token.as_str()), (2, ""))?;
    ensure(
        page.tasks.iter().all(|it| it.artifacts.is_empty()),
        "artifacts that were not requested",
    )?;
    let status = Some(TaskState::Completed);
    let request = ListTasksRequest { status, include_artifacts: Some(true), ..request };
    let page = peer.client.list_tasks(request).await?;
    let texts: Vec<_> = page.tasks.iter().map(artifact_text).collect();
    ensure_eq("completed tasks", texts, ["done"])
}

pub(super) async fn pages(peer: &Peer<'_>) -> CheckResult {
    let (context_id, created) = create_context(peer, &["complete"; 3]).await?;
    let (context_id, page_size) = (Some(context_id), Some(2));
    let request = ListTasksRequest { context_id, page_size, ..Default::default() };
    let first = peer.client.list_tasks(request.clone()).await?;
    ensure_eq("first page", (first.tasks.len(), first.total_size), (2, 3))?;
    let page_token = Some(first.next_page_token);
    let last = peer.client.list_tasks(ListTasksRequest { page_token, ..request }).await?;
    ensure_eq("last page", (last.tasks.len(), last.next_page_token.as_str()), (1, ""))?;
    ensure_eq("all", ids(&[first.tasks, last.tasks].concat()), created)
}

async fn check_cancel(client: &Client, id: TaskId) -> CheckResult {
    let canceled = client.cancel_task(id.clone()).await?;
    ensure_eq("state", (&canceled.id, canceled.status.state), (&id, TaskState::Canceled))?;
    ensure_eq("stored state", client.get_task(id).await?.status.state, TaskState::Canceled)
}

pub(super) async fn cancel(peer: &Peer<'_>) -> CheckResult {
    check_cancel(&peer.client, peer.start_task("hang").await?).await
}

pub(super) async fn cancel_waiting(peer: &Peer<'_>) -> CheckResult {
    let interrupted = peer.send_expecting("input", TaskState::InputRequired).await?;
    check_cancel(&peer.client, interrupted.id).await
}

pub(super) async fn subscribe(peer: &Peer<'_>) -> CheckResult {
    // Slow enough to subscribe in time on a busy machine.
    let id = peer.start_task("drip 20 150").await?;
    let events = collect_events(peer.client.subscribe(id, None).await?).await?;
    let chunk = |it: &StreamResponse| matches!(it, StreamResponse::ArtifactUpdate(_));
    ensure(events.iter().any(chunk), "no chunk was streamed")?;
    let last = events.iter().rev().find_map(StreamResponse::status).ok_or("no status")?;
    ensure_eq("last state", last.state, TaskState::Completed)
}

pub(super) async fn subscribe_canceled(peer: &Peer<'_>) -> CheckResult {
    let id = peer.start_task("hang").await?;
    let events = peer.client.subscribe(id.clone(), None).await?;
    peer.client.cancel_task(id).await?;
    let events = collect_events(events).await?;
    let last = events.iter().rev().find_map(StreamResponse::status).ok_or("no status")?;
    ensure_eq("last state", last.state, TaskState::Canceled)
}

pub(super) async fn follow(peer: &Peer<'_>) -> CheckResult {
    let id = peer.start_task("drip 8 100").await?;
    let mut text = String::new();
    let follower = peer.client.follow_task(id);
    let done = into_task(follower.for_each_update(|chunk| text.push_str(chunk), |_| {}).await?)?;
    ensure_eq("phase", done.status.state.phase(), Phase::Terminal)?;
    ensure_eq("streamed", text, "0 1 2 3 4 5 6 7 ")
}
