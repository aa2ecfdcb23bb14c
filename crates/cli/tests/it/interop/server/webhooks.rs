//! Checks of webhooks.

use std::time::Duration;

use latimer_client::user_message;
use latimer_protocol::{
    ListTaskPushNotificationConfigsRequest, PushConfigId, Secret, SendMessageConfiguration,
    SendMessageRequest, TaskId, TaskPushNotificationConfig,
};
use tokio::time::sleep;

use super::checks::{CheckError, CheckResult, ensure, ensure_eq};
use super::peer::Peer;
use crate::push::receiver::{Receiver, ReceiverMode};

const URL: &str = "http://127.0.0.1:9/hook";

/// Creates a task and a webhook for it.
async fn create_on_new_task(
    peer: &Peer<'_>,
    id: &str,
) -> Result<(TaskId, TaskPushNotificationConfig), CheckError> {
    let task = peer.start_task("hang").await?;
    let created = peer.client.create_webhook(webhook(&task, id)?).await?;
    Ok((task, created))
}

fn webhook(task: &TaskId, id: &str) -> Result<TaskPushNotificationConfig, CheckError> {
    Ok(TaskPushNotificationConfig {
        task_id: Some(task.clone()),
        id: Some(PushConfigId::new(id)?),
        url: URL.to_owned(),
        token: Some(Secret::new("t0ken")),
        ..Default::default()
    })
}

fn ensure_webhook(actual: &TaskPushNotificationConfig, task: &TaskId, id: &str) -> CheckResult {
    ensure_eq("task", actual.task_id.as_ref(), Some(task))?;
    ensure_eq("id", actual.id.as_ref().map(ToString::to_string), Some(id.to_owned()))?;
    ensure_eq("URL", actual.url.as_str(), URL)?;
    ensure_eq("token", actual.token.as_ref().map(Secret::reveal), Some("t0ken"))
}

pub(super) async fn push_create(peer: &Peer<'_>) -> CheckResult {
    let (task, created) = create_on_new_task(peer, "one").await?;
    ensure_webhook(&created, &task, "one")
}

pub(super) async fn push_get(peer: &Peer<'_>) -> CheckResult {
    let (task, created) = create_on_new_task(peer, "one").await?;
    ensure_webhook(&peer.client.get_webhook(task.clone(), created.id).await?, &task, "one")
}

async fn list_ids(peer: &Peer<'_>, task_id: TaskId) -> Result<Vec<String>, CheckError> {
    let request = ListTaskPushNotificationConfigsRequest {
        tenant: None,
        task_id,
        page_size: None,
        page_token: None,
    };
    let page = peer.client.list_webhooks(request).await?;
    let mut ids: Vec<_> =
        page.configs.iter().flat_map(|it| &it.id).map(|it| it.to_string()).collect();
    ids.sort();
    Ok(ids)
}

pub(super) async fn push_list(peer: &Peer<'_>) -> CheckResult {
    let (task, _) = create_on_new_task(peer, "one").await?;
    peer.client.create_webhook(webhook(&task, "two")?).await?;
    ensure_eq("webhooks", list_ids(peer, task).await?, ["one", "two"])
}

pub(super) async fn push_delete(peer: &Peer<'_>) -> CheckResult {
    let (task, created) = create_on_new_task(peer, "one").await?;
    let id = created.id.ok_or("the webhook has no id")?;
    peer.client.delete_webhook(task.clone(), id.clone()).await?;
    ensure(
        peer.client.get_webhook(task, Some(id)).await.is_err(),
        "the deleted webhook still exists",
    )
}

pub(super) async fn push_send(peer: &Peer<'_>) -> CheckResult {
    let receiver = Receiver::start(ReceiverMode::Healthy);
    let webhook = TaskPushNotificationConfig {
        url: receiver.url("hook"),
        token: Some(Secret::new("t0ken")),
        ..Default::default()
    };
    let configuration = SendMessageConfiguration {
        task_push_notification_config: Some(Box::new(webhook)),
        ..Default::default()
    };
    let request = SendMessageRequest::from(user_message("complete"));
    peer.client.send(SendMessageRequest { configuration: Some(configuration), ..request }).await?;
    // The caller of this check limits the time.
    loop {
        let deliveries = receiver.deliveries();
        if let Some(delivery) = deliveries.values().flatten().next() {
            let has_token = delivery.headers.lines().any(|line| line.ends_with(": t0ken"));
            return ensure(has_token, &format!("no token in {}", delivery.headers));
        }
        sleep(Duration::from_millis(20)).await;
    }
}
