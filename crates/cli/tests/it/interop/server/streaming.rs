//! Events as they happen.

use futures_util::StreamExt;
use latimer_client::user_message;
use latimer_protocol::{StreamResponse, Task, TaskState};

use super::checks::{Checked, Problem, completed, folded, said, same, that, told, whole};
use super::peer::{Peer, task};

/// A task that tells in pieces, slowly.
const PIECES: &str = "drip 12 100";
/// What they make.
const WHOLE: &str = "0 1 2 3 4 5 6 7 8 9 10 11 ";

pub(super) async fn stream(peer: &Peer<'_>) -> Checked {
    let told = told(peer.client.stream(user_message("complete")).await?).await?;
    let task = folded(&peer.client, &told).await?;
    completed(&task)?;
    same("text", whole(&task), "done")
}

pub(super) async fn stream_message(peer: &Peer<'_>) -> Checked {
    match told(peer.client.stream(user_message("direct")).await?).await?.as_slice() {
        [StreamResponse::Message(message)] => same("text", message.text(), "hello back"),
        told => Err(format!("{told:?}").into()),
    }
}

pub(super) async fn chunks(peer: &Peer<'_>) -> Checked {
    let told = told(peer.client.stream(user_message("chunks")).await?).await?;
    let task = folded(&peer.client, &told).await?;
    completed(&task)?;
    same("text", whole(&task), "one two threewhole")?;
    same("artifacts", task.artifacts.len(), 2)
}

pub(super) async fn burst(peer: &Peer<'_>) -> Checked {
    let told = told(peer.client.stream(user_message("drip 200 0")).await?).await?;
    let task = folded(&peer.client, &told).await?;
    completed(&task)?;
    same("pieces", whole(&task).split_whitespace().count(), 200)
}

pub(super) async fn stream_failed(peer: &Peer<'_>) -> Checked {
    let told = told(peer.client.stream(user_message("fail")).await?).await?;
    let task = folded(&peer.client, &told).await?;
    same("state", task.status.state, TaskState::Failed)?;
    same("reason", said(&task), "it broke")
}

pub(super) async fn stream_question(peer: &Peer<'_>) -> Checked {
    let asked = told(peer.client.stream(user_message("input")).await?).await?;
    let asked = folded(&peer.client, &asked).await?;
    same("state", asked.status.state, TaskState::InputRequired)?;
    let answer = user_message("complete").with_task(asked.id.clone());
    let done = task(peer.client.follow(answer).result().await?)?;
    completed(&done)?;
    same("id", done.id, asked.id)
}

pub(super) async fn left(peer: &Peer<'_>) -> Checked {
    let mut events = peer.client.stream(user_message("drip 4 100")).await?;
    let first = events.next().await.ok_or("no event")??;
    let id = first.event.event().task_id().ok_or("no task")?.clone();
    drop(events);
    let done = peer.client.poll_until_settled(id).await?;
    completed(&done)?;
    same("text", whole(&done), "0 1 2 3 ")
}

/// Follows a task over connections that are cut twice; what was told, and what came of it.
async fn through_cuts(peer: &Peer<'_>) -> Result<(String, Task), Problem> {
    let (mut text, mut pieces) = (String::new(), 0);
    let cutting = |piece: &str| {
        text.push_str(piece);
        pieces += 1;
        if [3, 6].contains(&pieces) {
            peer.cut();
        }
    };
    let done =
        task(peer.client.follow(user_message(PIECES)).for_each_update(cutting, |_| {}).await?)?;
    completed(&done)?;
    that(pieces > 3, "nothing was cut")?;
    Ok((text, done))
}

pub(super) async fn cut(peer: &Peer<'_>) -> Checked {
    let (_, done) = through_cuts(peer).await?;
    let text = whole(&done);
    let mut pieces: Vec<_> = text.split_whitespace().collect();
    pieces.dedup();
    same("pieces", pieces, WHOLE.split_whitespace().collect::<Vec<_>>())
}

pub(super) async fn cut_once(peer: &Peer<'_>) -> Checked {
    let (told, done) = through_cuts(peer).await?;
    same("told", told.as_str(), WHOLE)?;
    same("text", whole(&done), WHOLE)
}

pub(super) async fn not_streamed(peer: &Peer<'_>) -> Checked {
    let done = task(peer.bare.follow(user_message("slow")).result().await?)?;
    completed(&done)?;
    same("text", whole(&done), "late")
}
