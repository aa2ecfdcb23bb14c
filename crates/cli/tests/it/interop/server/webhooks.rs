//! Webhooks: what is registered, and that it is called.

use std::time::Duration;

use latimer_client::user_message;
use latimer_protocol::{
    ListTaskPushNotificationConfigsRequest, PushConfigId, Secret, SendMessageConfiguration,
    SendMessageRequest, TaskId, TaskPushNotificationConfig,
};
use tokio::time::sleep;

use super::checks::{Checked, Problem, same, that};
use super::peer::Peer;
use crate::push::receiver::{Mood, Receiver};

const URL: &str = "http://127.0.0.1:9/hook";

/// Makes a webhook for a task, which is made first.
async fn made(peer: &Peer<'_>, id: &str) -> Result<(TaskId, TaskPushNotificationConfig), Problem> {
    let task = peer.begin("hang").await?;
    let made = peer.client.create_webhook(webhook(&task, id)?).await?;
    Ok((task, made))
}

fn webhook(task: &TaskId, id: &str) -> Result<TaskPushNotificationConfig, Problem> {
    Ok(TaskPushNotificationConfig {
        task_id: Some(task.clone()),
        id: Some(PushConfigId::new(id)?),
        url: URL.to_owned(),
        token: Some(Secret::new("t0ken")),
        ..Default::default()
    })
}

fn is(found: &TaskPushNotificationConfig, task: &TaskId, id: &str) -> Checked {
    same("task", found.task_id.as_ref(), Some(task))?;
    same("id", found.id.as_ref().map(ToString::to_string), Some(id.to_owned()))?;
    same("address", found.url.as_str(), URL)?;
    same("token", found.token.as_ref().map(Secret::reveal), Some("t0ken"))
}

pub(super) async fn push_create(peer: &Peer<'_>) -> Checked {
    let (task, made) = made(peer, "one").await?;
    is(&made, &task, "one")
}

pub(super) async fn push_get(peer: &Peer<'_>) -> Checked {
    let (task, made) = made(peer, "one").await?;
    is(&peer.client.get_webhook(task.clone(), made.id).await?, &task, "one")
}

async fn listed(peer: &Peer<'_>, task_id: TaskId) -> Result<Vec<String>, Problem> {
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

pub(super) async fn push_list(peer: &Peer<'_>) -> Checked {
    let (task, _) = made(peer, "one").await?;
    peer.client.create_webhook(webhook(&task, "two")?).await?;
    same("webhooks", listed(peer, task).await?, ["one", "two"])
}

pub(super) async fn push_delete(peer: &Peer<'_>) -> Checked {
    let (task, made) = made(peer, "one").await?;
    let id = made.id.ok_or("it has no id")?;
    peer.client.delete_webhook(task.clone(), id.clone()).await?;
    that(peer.client.get_webhook(task, Some(id)).await.is_err(), "it is still there")
}

pub(super) async fn push_send(peer: &Peer<'_>) -> Checked {
    let receiver = Receiver::start(Mood::Well);
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
    // Whoever asks for everything has a limit on how long it may take.
    loop {
        let taken = receiver.taken();
        if let Some(taken) = taken.values().flatten().next() {
            let token = taken.head.lines().any(|line| line.ends_with(": t0ken"));
            return that(token, &format!("no token in {}", taken.head));
        }
        sleep(Duration::from_millis(20)).await;
    }
}
