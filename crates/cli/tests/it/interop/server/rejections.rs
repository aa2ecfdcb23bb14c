//! Checks of errors.

use latimer_client::negotiate::RejectReason;
use latimer_client::{Error, user_message};
use latimer_protocol::card::AgentInterface;
use latimer_protocol::{
    ContextId, ErrorKind, ListTasksRequest, Message, Part, PushConfigId, SendMessageResponse,
    TaskId, TaskPushNotificationConfig, TaskState, Version,
};

use super::checks::{CheckError, CheckResult, ensure};
use super::peer::Peer;

/// Errors that servers return for operations on a finished task.
const FINISHED_TASK_ERRORS: [ErrorKind; 3] =
    [ErrorKind::TaskFinished, ErrorKind::InvalidParams, ErrorKind::InvalidRequest];

fn unknown_task_id() -> Result<TaskId, CheckError> {
    Ok(TaskId::new("no-such-task")?)
}

pub(super) async fn unknown_get(peer: &Peer<'_>) -> CheckResult {
    peer.check_rejected(peer.client.get_task(unknown_task_id()?).await, &[ErrorKind::TaskNotFound])
}

pub(super) async fn unknown_cancel(peer: &Peer<'_>) -> CheckResult {
    peer.check_rejected(
        peer.client.cancel_task(unknown_task_id()?).await,
        &[ErrorKind::TaskNotFound],
    )
}

pub(super) async fn unknown_subscribe(peer: &Peer<'_>) -> CheckResult {
    peer.check_rejected(
        peer.client.subscribe(unknown_task_id()?, None).await,
        &[ErrorKind::TaskNotFound],
    )
}

pub(super) async fn unknown_send(peer: &Peer<'_>) -> CheckResult {
    let message = user_message("complete").with_task(unknown_task_id()?);
    peer.check_rejected(peer.client.send(message).await, &[ErrorKind::TaskNotFound])
}

pub(super) async fn unknown_stream(peer: &Peer<'_>) -> CheckResult {
    let message = user_message("complete").with_task(unknown_task_id()?);
    peer.check_rejected(peer.client.stream(message).await, &[ErrorKind::TaskNotFound])
}

async fn finished_task(peer: &Peer<'_>) -> Result<TaskId, CheckError> {
    Ok(peer.send_expecting("complete", TaskState::Completed).await?.id)
}

pub(super) async fn finished_send(peer: &Peer<'_>) -> CheckResult {
    let message = user_message("complete").with_task(finished_task(peer).await?);
    peer.check_rejected(peer.client.send(message).await, &FINISHED_TASK_ERRORS)
}

pub(super) async fn finished_cancel(peer: &Peer<'_>) -> CheckResult {
    let id = finished_task(peer).await?;
    peer.check_rejected(peer.client.cancel_task(id).await, &[ErrorKind::TaskNotCancelable])
}

pub(super) async fn finished_subscribe(peer: &Peer<'_>) -> CheckResult {
    let id = finished_task(peer).await?;
    peer.check_rejected(peer.client.subscribe(id, None).await, &FINISHED_TASK_ERRORS)
}

pub(super) async fn other_context(peer: &Peer<'_>) -> CheckResult {
    let task = peer.send_expecting("input", TaskState::InputRequired).await?;
    let message =
        user_message("complete").with_task(task.id).with_context(ContextId::new("another")?);
    peer.check_rejected(peer.client.send(message).await, &[ErrorKind::InvalidParams])
}

pub(super) async fn no_parts(peer: &Peer<'_>) -> CheckResult {
    let message = Message { parts: Vec::new(), ..user_message("") };
    peer.check_rejected(peer.client.send(message).await, &[ErrorKind::InvalidParams])
}

pub(super) async fn page_token(peer: &Peer<'_>) -> CheckResult {
    let request =
        ListTasksRequest { page_token: Some("invalid-token".into()), ..Default::default() };
    peer.check_rejected(peer.client.list_tasks(request).await, &[ErrorKind::InvalidParams])
}

pub(super) async fn content_type(peer: &Peer<'_>) -> CheckResult {
    let message = user_message("echo").with_part(Part::raw("tune", "audio/midi"));
    peer.check_rejected(peer.client.send(message).await, &[ErrorKind::ContentTypeNotSupported])
}

/// Checks that an error of the agent is returned as an error or as a failed task.
async fn check_agent_error(peer: &Peer<'_>, text: &str, reason: ErrorKind) -> CheckResult {
    match peer.client.send(user_message(text)).await {
        Ok(SendMessageResponse::Task(task)) if task.status.state == TaskState::Failed => Ok(()),
        other => peer.check_rejected(other, &[reason]),
    }
}

pub(super) async fn agent_refuses(peer: &Peer<'_>) -> CheckResult {
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
        check_agent_error(peer, &format!("refuse {name}"), reason).await?;
    }
    Ok(())
}

pub(super) async fn agent_crashes(peer: &Peer<'_>) -> CheckResult {
    check_agent_error(peer, "crash", ErrorKind::Internal).await
}

pub(super) async fn no_streaming(peer: &Peer<'_>) -> CheckResult {
    let stream = peer.minimal_client.stream(user_message("complete")).await;
    peer.check_rejected(stream, &[ErrorKind::StreamingNotSupported])
}

pub(super) async fn no_push_create(peer: &Peer<'_>) -> CheckResult {
    let url = "http://127.0.0.1:9/hook".to_owned();
    let task_id = Some(unknown_task_id()?);
    let webhook = TaskPushNotificationConfig { task_id, url, ..Default::default() };
    let result = peer.minimal_client.create_webhook(webhook).await;
    peer.check_rejected(result, &[ErrorKind::PushNotificationNotSupported])
}

pub(super) async fn no_push_get(peer: &Peer<'_>) -> CheckResult {
    let id = Some(PushConfigId::new("one")?);
    let result = peer.minimal_client.get_webhook(unknown_task_id()?, id).await;
    peer.check_rejected(result, &[ErrorKind::PushNotificationNotSupported])
}

pub(super) async fn no_extended_card(peer: &Peer<'_>) -> CheckResult {
    let reasons = [ErrorKind::UnsupportedOperation, ErrorKind::ExtendedAgentCardNotConfigured];
    peer.check_rejected(peer.minimal_client.extended_card().await, &reasons)
}

pub(super) async fn no_version(peer: &Peer<'_>) -> CheckResult {
    let connected = peer.builder([Version::V0_1]).connect().await;
    let Err(Error::NoInterface(rejected)) = connected else {
        return Err(format!("{connected:?}").into());
    };
    let is_version_mismatch =
        |it: &_| matches!(it, RejectReason::UnwantedVersion | RejectReason::UnknownVersion);
    ensure(
        !rejected.0.is_empty() && rejected.0.iter().all(|it| is_version_mismatch(&it.reason)),
        &rejected.to_string(),
    )
}

pub(super) async fn wrong_version(peer: &Peer<'_>) -> CheckResult {
    let offered: Vec<_> = peer.interfaces().filter_map(AgentInterface::version).collect();
    let unsupported = Version::ALL.into_iter().find(|it| !offered.contains(it));
    let result = match peer.direct(unsupported.ok_or("the server supports all versions")?) {
        Ok(client) => client.send(user_message("complete")).await,
        Err(error) => Err(error),
    };
    match result {
        Err(Error::Agent(error)) => {
            let accepted = [
                ErrorKind::VersionNotSupported,
                ErrorKind::MethodNotFound,
                ErrorKind::UnsupportedOperation,
            ];
            ensure(accepted.contains(&error.kind()), &format!("{:?}: {error}", error.kind()))
        }
        Err(Error::InvalidResponse { problem, .. }) => {
            ensure(problem.starts_with("HTTP status 404"), &problem)
        }
        Err(Error::InvalidSetup(problem)) => {
            ensure(problem.contains("does not exist over gRPC"), &problem)
        }
        other => Err(format!("{other:?}").into()),
    }
}
