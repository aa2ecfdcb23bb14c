//! What a server refuses, and what our client makes of it.

use latimer_client::negotiate::RejectReason;
use latimer_client::{Error, user_message};
use latimer_protocol::card::AgentInterface;
use latimer_protocol::{
    ContextId, ErrorKind, ListTasksRequest, Message, Part, PushConfigId, SendMessageResponse,
    TaskId, TaskPushNotificationConfig, TaskState, Version,
};

use super::checks::{Checked, Problem, that};
use super::peer::Peer;

/// What servers call it when a task is over and somebody wants more of it.
const FINISHED: [ErrorKind; 3] =
    [ErrorKind::TaskFinished, ErrorKind::InvalidParams, ErrorKind::InvalidRequest];

fn unknown() -> Result<TaskId, Problem> {
    Ok(TaskId::new("no-such-task")?)
}

pub(super) async fn unknown_get(peer: &Peer<'_>) -> Checked {
    peer.refused(peer.client.get_task(unknown()?).await, &[ErrorKind::TaskNotFound])
}

pub(super) async fn unknown_cancel(peer: &Peer<'_>) -> Checked {
    peer.refused(peer.client.cancel_task(unknown()?).await, &[ErrorKind::TaskNotFound])
}

pub(super) async fn unknown_subscribe(peer: &Peer<'_>) -> Checked {
    peer.refused(peer.client.subscribe(unknown()?, None).await, &[ErrorKind::TaskNotFound])
}

pub(super) async fn unknown_send(peer: &Peer<'_>) -> Checked {
    let message = user_message("complete").with_task(unknown()?);
    peer.refused(peer.client.send(message).await, &[ErrorKind::TaskNotFound])
}

pub(super) async fn unknown_stream(peer: &Peer<'_>) -> Checked {
    let message = user_message("complete").with_task(unknown()?);
    peer.refused(peer.client.stream(message).await, &[ErrorKind::TaskNotFound])
}

async fn finished(peer: &Peer<'_>) -> Result<TaskId, Problem> {
    Ok(peer.send_until("complete", TaskState::Completed).await?.id)
}

pub(super) async fn finished_send(peer: &Peer<'_>) -> Checked {
    let message = user_message("complete").with_task(finished(peer).await?);
    peer.refused(peer.client.send(message).await, &FINISHED)
}

pub(super) async fn finished_cancel(peer: &Peer<'_>) -> Checked {
    let id = finished(peer).await?;
    peer.refused(peer.client.cancel_task(id).await, &[ErrorKind::TaskNotCancelable])
}

pub(super) async fn finished_subscribe(peer: &Peer<'_>) -> Checked {
    let id = finished(peer).await?;
    peer.refused(peer.client.subscribe(id, None).await, &FINISHED)
}

pub(super) async fn other_context(peer: &Peer<'_>) -> Checked {
    let asked = peer.send_until("input", TaskState::InputRequired).await?;
    let message =
        user_message("complete").with_task(asked.id).with_context(ContextId::new("another")?);
    peer.refused(peer.client.send(message).await, &[ErrorKind::InvalidParams])
}

pub(super) async fn no_parts(peer: &Peer<'_>) -> Checked {
    let message = Message { parts: Vec::new(), ..user_message("") };
    peer.refused(peer.client.send(message).await, &[ErrorKind::InvalidParams])
}

pub(super) async fn page_token(peer: &Peer<'_>) -> Checked {
    let request = ListTasksRequest { page_token: Some("nobody's".into()), ..Default::default() };
    peer.refused(peer.client.list_tasks(request).await, &[ErrorKind::InvalidParams])
}

pub(super) async fn content_type(peer: &Peer<'_>) -> Checked {
    let message = user_message("echo").with_part(Part::raw("tune", "audio/midi"));
    peer.refused(peer.client.send(message).await, &[ErrorKind::ContentTypeNotSupported])
}

/// Checks that an agent's error is told, by itself or as the failure of a task.
async fn agent_fails(peer: &Peer<'_>, text: &str, reason: ErrorKind) -> Checked {
    match peer.client.send(user_message(text)).await {
        Ok(SendMessageResponse::Task(task)) if task.status.state == TaskState::Failed => Ok(()),
        other => peer.refused(other, &[reason]),
    }
}

pub(super) async fn agent_refuses(peer: &Peer<'_>) -> Checked {
    for (name, reason) in [
        ("TaskNotFoundError", ErrorKind::TaskNotFound),
        ("TaskNotCancelableError", ErrorKind::TaskNotCancelable),
        ("PushNotificationNotSupportedError", ErrorKind::PushNotificationNotSupported),
        ("UnsupportedOperationError", ErrorKind::UnsupportedOperation),
        ("ContentTypeNotSupportedError", ErrorKind::ContentTypeNotSupported),
        ("InvalidAgentResponseError", ErrorKind::InvalidAgentResponse),
        ("InvalidParamsError", ErrorKind::InvalidParams),
        ("InternalError", ErrorKind::Internal),
    ] {
        agent_fails(peer, &format!("refuse {name}"), reason).await?;
    }
    Ok(())
}

pub(super) async fn agent_crashes(peer: &Peer<'_>) -> Checked {
    agent_fails(peer, "crash", ErrorKind::Internal).await
}

pub(super) async fn no_streaming(peer: &Peer<'_>) -> Checked {
    let stream = peer.bare.stream(user_message("complete")).await;
    peer.refused(stream, &[ErrorKind::StreamingNotSupported])
}

pub(super) async fn no_push_create(peer: &Peer<'_>) -> Checked {
    let url = "http://127.0.0.1:9/hook".to_owned();
    let task_id = Some(unknown()?);
    let webhook = TaskPushNotificationConfig { task_id, url, ..Default::default() };
    let made = peer.bare.create_webhook(webhook).await;
    peer.refused(made, &[ErrorKind::PushNotificationNotSupported])
}

pub(super) async fn no_push_get(peer: &Peer<'_>) -> Checked {
    let id = Some(PushConfigId::new("one")?);
    let found = peer.bare.get_webhook(unknown()?, id).await;
    peer.refused(found, &[ErrorKind::PushNotificationNotSupported])
}

pub(super) async fn no_extended_card(peer: &Peer<'_>) -> Checked {
    let reasons = [ErrorKind::UnsupportedOperation, ErrorKind::ExtendedAgentCardNotConfigured];
    peer.refused(peer.bare.extended_card().await, &reasons)
}

pub(super) async fn no_version(peer: &Peer<'_>) -> Checked {
    let connected = peer.builder([Version::V0_1]).connect().await;
    let Err(Error::NoInterface(none)) = connected else {
        return Err(format!("{connected:?}").into());
    };
    let unwanted =
        |it: &_| matches!(it, RejectReason::UnwantedVersion | RejectReason::UnknownVersion);
    that(!none.0.is_empty() && none.0.iter().all(|it| unwanted(&it.reason)), &none.to_string())
}

pub(super) async fn wrong_version(peer: &Peer<'_>) -> Checked {
    let offered: Vec<_> = peer.interfaces().filter_map(AgentInterface::version).collect();
    let other = Version::ALL.into_iter().find(|it| !offered.contains(it));
    let asked = match peer.direct(other.ok_or("it speaks all of them")?) {
        Ok(client) => client.send(user_message("complete")).await,
        Err(error) => Err(error),
    };
    match asked {
        Err(Error::Agent(error)) => {
            let clear = [
                ErrorKind::VersionNotSupported,
                ErrorKind::MethodNotFound,
                ErrorKind::UnsupportedOperation,
            ];
            that(clear.contains(&error.kind()), &format!("{:?}: {error}", error.kind()))
        }
        Err(Error::InvalidResponse { problem, .. }) => {
            that(problem.starts_with("HTTP status 404"), &problem)
        }
        Err(Error::InvalidSetup(problem)) => {
            that(problem.contains("not spoken over gRPC"), &problem)
        }
        other => Err(format!("{other:?}").into()),
    }
}
