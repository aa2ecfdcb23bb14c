//! Checks of sending messages.

use latimer_client::user_message;
use latimer_protocol::{ContextId, Message, Part, SendMessageResponse, TaskState};
use serde_json::json;

use super::checks::{CheckResult, artifact_text, ensure_completed, ensure_eq, status_text};
use super::peer::{Peer, into_task};

pub(super) async fn send(peer: &Peer<'_>) -> CheckResult {
    let task = peer.send_expecting("complete", TaskState::Completed).await?;
    ensure_eq("text", artifact_text(&task), "done")
}

pub(super) async fn text(peer: &Peer<'_>) -> CheckResult {
    let long = "x".repeat(100_000);
    for text in ["Grüße, 世界 🌍 \"quoted\" \\ \u{2028} end,\n\ttab", &long] {
        let text = format!("echo {text}");
        ensure_eq(
            "text",
            artifact_text(&peer.send_expecting(&text, TaskState::Completed).await?),
            text,
        )?;
    }
    Ok(())
}

pub(super) async fn context(peer: &Peer<'_>) -> CheckResult {
    let context = ContextId::new(format!("context-{:?}-{}", peer.binding, peer.version))?;
    for _ in 0..2 {
        let message = user_message("complete").with_context(context.clone());
        let task = into_task(peer.client.send(message).await?)?;
        ensure_eq("context", task.context_id, Some(context.clone()))?;
    }
    Ok(())
}

pub(super) async fn return_immediately(peer: &Peer<'_>) -> CheckResult {
    let id = peer.start_task("slow").await?;
    let task = peer.client.poll_until_settled(id).await?;
    ensure_completed(&task)?;
    ensure_eq("text", artifact_text(&task), "late")
}

pub(super) async fn direct_reply(peer: &Peer<'_>) -> CheckResult {
    match peer.client.send(user_message("direct")).await? {
        SendMessageResponse::Message(message) => ensure_eq("text", message.text(), "hello back"),
        SendMessageResponse::Task(task) => Err(format!("a task: {task:?}").into()),
    }
}

/// Sends a part and checks that the agent returns it unchanged.
async fn check_echo(peer: &Peer<'_>, part: Part) -> CheckResult {
    let task = into_task(peer.client.send(user_message("echo").with_part(part.clone())).await?)?;
    ensure_completed(&task)?;
    let [artifact] = task.artifacts.as_slice() else { return Err("no artifact".into()) };
    ensure_eq("parts", &artifact.parts, &vec![Part::text("echo"), part])
}

pub(super) async fn file_bytes(peer: &Peer<'_>) -> CheckResult {
    let bytes: Vec<u8> = (0..=255).chain(*b"\x00\xff=+/").collect();
    check_echo(peer, Part::raw(bytes, "image/png")).await
}

pub(super) async fn file_url(peer: &Peer<'_>) -> CheckResult {
    check_echo(peer, Part::url("https://files.example/a%20b.pdf?x=1&y=%20", "application/pdf"))
        .await
}

pub(super) async fn file_name(peer: &Peer<'_>) -> CheckResult {
    check_echo(peer, Part::raw("x", "image/png").with_filename("a picture.png")).await
}

pub(super) async fn data(peer: &Peer<'_>) -> CheckResult {
    // No integers: protobuf encodes all numbers as doubles.
    let list = json!([1.5, 2.25, -3.5, "x", true]);
    check_echo(
        peer,
        Part::data(json!({"nested": {"list": list, "empty": {}, "none": []}, "ü": "é"})),
    )
    .await
}

pub(super) async fn failed(peer: &Peer<'_>) -> CheckResult {
    ensure_eq(
        "reason",
        status_text(&peer.send_expecting("fail", TaskState::Failed).await?),
        "it broke",
    )
}

pub(super) async fn rejected(peer: &Peer<'_>) -> CheckResult {
    ensure_eq(
        "reason",
        status_text(&peer.send_expecting("reject", TaskState::Rejected).await?),
        "not for me",
    )
}

/// Sends a message whose task requires input, then sends the input.
async fn check_question(
    peer: &Peer<'_>,
    text: &str,
    state: TaskState,
    question: &str,
) -> CheckResult {
    let interrupted = peer.send_expecting(text, state).await?;
    ensure_eq("question", status_text(&interrupted), question)?;
    ensure_eq(
        "stored state",
        peer.client.get_task(interrupted.id.clone()).await?.status.state,
        state,
    )?;
    let mut answer: Message = user_message("complete").with_task(interrupted.id.clone());
    answer.context_id = interrupted.context_id.clone();
    let done = into_task(peer.client.send(answer).await?)?;
    ensure_completed(&done)?;
    ensure_eq("ids", (done.id, done.context_id), (interrupted.id, interrupted.context_id))
}

pub(super) async fn input_required(peer: &Peer<'_>) -> CheckResult {
    check_question(peer, "input", TaskState::InputRequired, "which one?").await
}

pub(super) async fn auth_required(peer: &Peer<'_>) -> CheckResult {
    check_question(peer, "auth", TaskState::AuthRequired, "log in first").await
}
