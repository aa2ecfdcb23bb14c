//! Checks of streaming.

use futures_util::StreamExt;
use latimer_client::user_message;
use latimer_protocol::{StreamResponse, Task, TaskState};

use super::checks::{
    CheckError, CheckResult, artifact_text, collect_events, ensure, ensure_completed, ensure_eq,
    fold_events, status_text,
};
use super::peer::{Peer, into_task};

/// Instruction for a task with slow chunks.
const DRIP_INSTRUCTION: &str = "drip 12 100";
/// Text of the chunks.
const DRIP_TEXT: &str = "0 1 2 3 4 5 6 7 8 9 10 11 ";

pub(super) async fn stream(peer: &Peer<'_>) -> CheckResult {
    let events = collect_events(peer.client.stream(user_message("complete")).await?).await?;
    let task = fold_events(&peer.client, &events).await?;
    ensure_completed(&task)?;
    ensure_eq("text", artifact_text(&task), "done")
}

pub(super) async fn stream_message(peer: &Peer<'_>) -> CheckResult {
    match collect_events(peer.client.stream(user_message("direct")).await?).await?.as_slice() {
        [StreamResponse::Message(message)] => ensure_eq("text", message.text(), "hello back"),
        events => Err(format!("{events:?}").into()),
    }
}

pub(super) async fn chunks(peer: &Peer<'_>) -> CheckResult {
    let events = collect_events(peer.client.stream(user_message("chunks")).await?).await?;
    let task = fold_events(&peer.client, &events).await?;
    ensure_completed(&task)?;
    ensure_eq("text", artifact_text(&task), "one two threewhole")?;
    ensure_eq("artifacts", task.artifacts.len(), 2)
}

pub(super) async fn burst(peer: &Peer<'_>) -> CheckResult {
    let events = collect_events(peer.client.stream(user_message("drip 200 0")).await?).await?;
    let task = fold_events(&peer.client, &events).await?;
    ensure_completed(&task)?;
    ensure_eq("chunks", artifact_text(&task).split_whitespace().count(), 200)
}

pub(super) async fn stream_failed(peer: &Peer<'_>) -> CheckResult {
    let events = collect_events(peer.client.stream(user_message("fail")).await?).await?;
    let task = fold_events(&peer.client, &events).await?;
    ensure_eq("state", task.status.state, TaskState::Failed)?;
    ensure_eq("reason", status_text(&task), "it broke")
}

pub(super) async fn stream_question(peer: &Peer<'_>) -> CheckResult {
    let events = collect_events(peer.client.stream(user_message("input")).await?).await?;
    let interrupted = fold_events(&peer.client, &events).await?;
    ensure_eq("state", interrupted.status.state, TaskState::InputRequired)?;
    let answer = user_message("complete").with_task(interrupted.id.clone());
    let done = into_task(peer.client.follow(answer).result().await?)?;
    ensure_completed(&done)?;
    ensure_eq("id", done.id, interrupted.id)
}

pub(super) async fn reader_disconnects(peer: &Peer<'_>) -> CheckResult {
    let mut events = peer.client.stream(user_message("drip 4 100")).await?;
    let first = events.next().await.ok_or("no event")??;
    let id = first.event.event().task_id().ok_or("no task")?.clone();
    drop(events);
    let done = peer.client.poll_until_settled(id).await?;
    ensure_completed(&done)?;
    ensure_eq("text", artifact_text(&done), "0 1 2 3 ")
}

/// Follows a task while its connections are cut twice. Returns the streamed text and the final
/// task.
async fn follow_through_cuts(peer: &Peer<'_>) -> Result<(String, Task), CheckError> {
    let (mut text, mut chunks) = (String::new(), 0);
    let on_chunk = |chunk: &str| {
        text.push_str(chunk);
        chunks += 1;
        if [3, 6].contains(&chunks) {
            peer.cut();
        }
    };
    let done = into_task(
        peer.client
            .follow(user_message(DRIP_INSTRUCTION))
            .for_each_update(on_chunk, |_| {})
            .await?,
    )?;
    ensure_completed(&done)?;
    ensure(chunks > 3, "no connection was cut")?;
    Ok((text, done))
}

pub(super) async fn cut_stream_is_complete(peer: &Peer<'_>) -> CheckResult {
    let (_, done) = follow_through_cuts(peer).await?;
    let text = artifact_text(&done);
    let mut chunks: Vec<_> = text.split_whitespace().collect();
    chunks.dedup();
    ensure_eq("chunks", chunks, DRIP_TEXT.split_whitespace().collect::<Vec<_>>())
}

pub(super) async fn cut_stream_repeats_nothing(peer: &Peer<'_>) -> CheckResult {
    let (streamed, done) = follow_through_cuts(peer).await?;
    ensure_eq("streamed", streamed.as_str(), DRIP_TEXT)?;
    ensure_eq("text", artifact_text(&done), DRIP_TEXT)
}

pub(super) async fn not_streamed(peer: &Peer<'_>) -> CheckResult {
    let done = into_task(peer.minimal_client.follow(user_message("slow")).result().await?)?;
    ensure_completed(&done)?;
    ensure_eq("text", artifact_text(&done), "late")
}
