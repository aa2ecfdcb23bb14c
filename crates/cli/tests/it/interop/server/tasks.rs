//! Tasks that exist.

use std::sync::Arc;

use latimer_client::{Client, user_message};
use latimer_protocol::{
    ContextId, GetTaskRequest, ListTasksRequest, Phase, StreamResponse, Task, TaskId, TaskState,
};

use super::checks::{Checked, Problem, same, that, told, whole};
use super::peer::{Peer, task};

/// A task of two turns, with so much of its history.
async fn of_two_turns(peer: &Peer<'_>, history_length: Option<u32>) -> Result<Arc<Task>, Problem> {
    let asked = peer.send_until("input", TaskState::InputRequired).await?;
    let answer = user_message("complete").with_task(asked.id.clone());
    let done = task(peer.client.send(answer).await?)?;
    let request = GetTaskRequest { history_length, ..GetTaskRequest::from(done.id.clone()) };
    let found = peer.client.get_task(request).await?;
    same("ids", (&found.id, &found.context_id), (&done.id, &done.context_id))?;
    Ok(found)
}

pub(super) async fn get(peer: &Peer<'_>) -> Checked {
    let whole = of_two_turns(peer, None).await?;
    let said: Vec<_> = whole.history.iter().map(|it| it.text()).collect();
    let all = ["input", "complete"].iter().all(|it| said.iter().any(|said| said == it));
    that(all, &format!("the history is {said:?}"))
}

pub(super) async fn get_some(peer: &Peer<'_>) -> Checked {
    same("history", of_two_turns(peer, Some(1)).await?.history.len(), 1)
}

pub(super) async fn get_none(peer: &Peer<'_>) -> Checked {
    same("history", of_two_turns(peer, Some(0)).await?.history.len(), 0)
}

/// Makes tasks of one conversation.
async fn conversation(
    peer: &Peer<'_>,
    asked: &[&str],
) -> Result<(ContextId, Vec<TaskId>), Problem> {
    let context = ContextId::new(uuid())?;
    let mut ids = Vec::new();
    for text in asked {
        let message = user_message(*text).with_context(context.clone());
        ids.push(task(peer.client.send(message).await?)?.id);
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

pub(super) async fn list(peer: &Peer<'_>) -> Checked {
    let (context_id, made) = conversation(peer, &["complete", "fail"]).await?;
    let request = ListTasksRequest { context_id: Some(context_id), ..Default::default() };
    let page = peer.client.list_tasks(request.clone()).await?;
    same("tasks", ids(&page.tasks), made)?;
    same("total and next", (page.total_size, page.next_page_token.as_str()), (2, ""))?;
    that(page.tasks.iter().all(|it| it.artifacts.is_empty()), "artifacts, unasked")?;
    let status = Some(TaskState::Completed);
    let request = ListTasksRequest { status, include_artifacts: Some(true), ..request };
    let page = peer.client.list_tasks(request).await?;
    let texts: Vec<_> = page.tasks.iter().map(whole).collect();
    same("what is completed", texts, ["done"])
}

pub(super) async fn pages(peer: &Peer<'_>) -> Checked {
    let (context_id, made) = conversation(peer, &["complete"; 3]).await?;
    let (context_id, page_size) = (Some(context_id), Some(2));
    let request = ListTasksRequest { context_id, page_size, ..Default::default() };
    let first = peer.client.list_tasks(request.clone()).await?;
    same("first page", (first.tasks.len(), first.total_size), (2, 3))?;
    let page_token = Some(first.next_page_token);
    let last = peer.client.list_tasks(ListTasksRequest { page_token, ..request }).await?;
    same("last page", (last.tasks.len(), last.next_page_token.as_str()), (1, ""))?;
    same("all", ids(&[first.tasks, last.tasks].concat()), made)
}

async fn canceled(client: &Client, id: TaskId) -> Checked {
    let canceled = client.cancel_task(id.clone()).await?;
    same("state", (&canceled.id, canceled.status.state), (&id, TaskState::Canceled))?;
    same("kept", client.get_task(id).await?.status.state, TaskState::Canceled)
}

pub(super) async fn cancel(peer: &Peer<'_>) -> Checked {
    canceled(&peer.client, peer.begin("hang").await?).await
}

pub(super) async fn cancel_waiting(peer: &Peer<'_>) -> Checked {
    let asked = peer.send_until("input", TaskState::InputRequired).await?;
    canceled(&peer.client, asked.id).await
}

pub(super) async fn subscribe(peer: &Peer<'_>) -> Checked {
    // Slow enough for a busy machine to come in time.
    let id = peer.begin("drip 20 150").await?;
    let told = told(peer.client.subscribe(id, None).await?).await?;
    let chunk = |it: &StreamResponse| matches!(it, StreamResponse::ArtifactUpdate(_));
    that(told.iter().any(chunk), "no piece was left to see")?;
    let last = told.iter().rev().find_map(StreamResponse::status).ok_or("no status")?;
    same("last state", last.state, TaskState::Completed)
}

pub(super) async fn subscribe_canceled(peer: &Peer<'_>) -> Checked {
    let id = peer.begin("hang").await?;
    let events = peer.client.subscribe(id.clone(), None).await?;
    peer.client.cancel_task(id).await?;
    let told = told(events).await?;
    let last = told.iter().rev().find_map(StreamResponse::status).ok_or("no status")?;
    same("last state", last.state, TaskState::Canceled)
}

pub(super) async fn follow(peer: &Peer<'_>) -> Checked {
    let id = peer.begin("drip 8 100").await?;
    let mut text = String::new();
    let following = peer.client.follow_task(id);
    let done = task(following.for_each_update(|piece| text.push_str(piece), |_| {}).await?)?;
    same("phase", done.status.state.phase(), Phase::Terminal)?;
    same("told", text, "0 1 2 3 4 5 6 7 ")
}
