//! Messages, and what comes of them.

use latimer_client::user_message;
use latimer_protocol::{ContextId, Message, Part, SendMessageResponse, TaskState};
use serde_json::json;

use super::checks::{Checked, completed, said, same, whole};
use super::peer::{Peer, task};

pub(super) async fn send(peer: &Peer<'_>) -> Checked {
    let task = peer.send_until("complete", TaskState::Completed).await?;
    same("text", whole(&task), "done")
}

pub(super) async fn text(peer: &Peer<'_>) -> Checked {
    let long = "x".repeat(100_000);
    for text in ["Grüße, 世界 🌍 \"quoted\" \\ \u{2028} end,\n\ttab", &long] {
        let text = format!("echo {text}");
        same("text", whole(&peer.send_until(&text, TaskState::Completed).await?), text)?;
    }
    Ok(())
}

pub(super) async fn context(peer: &Peer<'_>) -> Checked {
    let context = ContextId::new(format!("context-{:?}-{}", peer.binding, peer.version))?;
    for _ in 0..2 {
        let message = user_message("complete").with_context(context.clone());
        let task = task(peer.client.send(message).await?)?;
        same("context", task.context_id, Some(context.clone()))?;
    }
    Ok(())
}

pub(super) async fn immediately(peer: &Peer<'_>) -> Checked {
    let id = peer.begin("slow").await?;
    let task = peer.client.poll_until_settled(id).await?;
    completed(&task)?;
    same("text", whole(&task), "late")
}

pub(super) async fn message(peer: &Peer<'_>) -> Checked {
    match peer.client.send(user_message("direct")).await? {
        SendMessageResponse::Message(message) => same("text", message.text(), "hello back"),
        SendMessageResponse::Task(task) => Err(format!("a task: {task:?}").into()),
    }
}

/// Sends a part, and checks that it comes back as it was sent.
async fn echoed(peer: &Peer<'_>, part: Part) -> Checked {
    let task = task(peer.client.send(user_message("echo").with_part(part.clone())).await?)?;
    completed(&task)?;
    let [artifact] = task.artifacts.as_slice() else { return Err("no artifact".into()) };
    same("parts", &artifact.parts, &vec![Part::text("echo"), part])
}

pub(super) async fn file_bytes(peer: &Peer<'_>) -> Checked {
    let bytes: Vec<u8> = (0..=255).chain(*b"\x00\xff=+/").collect();
    echoed(peer, Part::raw(bytes, "image/png")).await
}

pub(super) async fn file_url(peer: &Peer<'_>) -> Checked {
    echoed(peer, Part::url("https://files.example/a%20b.pdf?x=1&y=%20", "application/pdf")).await
}

pub(super) async fn file_name(peer: &Peer<'_>) -> Checked {
    echoed(peer, Part::raw("x", "image/png").with_filename("a picture.png")).await
}

pub(super) async fn data(peer: &Peer<'_>) -> Checked {
    // Not one of them is whole: where protobuf carries them, all numbers are doubles.
    let list = json!([1.5, 2.25, -3.5, "x", true]);
    echoed(peer, Part::data(json!({"nested": {"list": list, "empty": {}, "none": []}, "ü": "é"})))
        .await
}

pub(super) async fn failed(peer: &Peer<'_>) -> Checked {
    same("reason", said(&peer.send_until("fail", TaskState::Failed).await?), "it broke")
}

pub(super) async fn rejected(peer: &Peer<'_>) -> Checked {
    same("reason", said(&peer.send_until("reject", TaskState::Rejected).await?), "not for me")
}

/// Sends something that is answered by a question, and then the answer.
async fn asked(peer: &Peer<'_>, text: &str, state: TaskState, question: &str) -> Checked {
    let asked = peer.send_until(text, state).await?;
    same("question", said(&asked), question)?;
    same("state kept", peer.client.get_task(asked.id.clone()).await?.status.state, state)?;
    let mut answer: Message = user_message("complete").with_task(asked.id.clone());
    answer.context_id = asked.context_id.clone();
    let done = task(peer.client.send(answer).await?)?;
    completed(&done)?;
    same("ids", (done.id, done.context_id), (asked.id, asked.context_id))
}

pub(super) async fn input_required(peer: &Peer<'_>) -> Checked {
    asked(peer, "input", TaskState::InputRequired, "which one?").await
}

pub(super) async fn auth_required(peer: &Peer<'_>) -> Checked {
    asked(peer, "auth", TaskState::AuthRequired, "log in first").await
}
