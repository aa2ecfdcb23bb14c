//! Webhooks of a task: registered, shown and removed by its caller.

use latimer_protocol::{
    Call, CallResponse, Error, ErrorKind, ListTaskPushNotificationConfigsResponse, PushConfigId,
    Reply, Request, Revision, TaskId,
};
use latimer_store::{AddWebhookOutcome, TaskKey, Webhook};

use super::accept::Letter;
use super::tasks::Found;
use super::{Engine, unavailable};
use crate::agent::Agent;
use crate::push::Courier;

impl Engine {
    /// Who tells webhooks about the tasks of an agent.
    ///
    /// # Errors
    /// When nobody does.
    pub(super) fn courier(&self, agent: &Agent) -> Result<&Courier, Error> {
        let courier = self.0.courier.get().filter(|_| agent.notifies());
        courier.ok_or_else(|| ErrorKind::PushNotificationNotSupported.into())
    }

    pub(super) async fn create_webhook(&self, call: Call) -> Result<CallResponse, Error> {
        let Request::CreateTaskPushNotificationConfig(config) = &call.request else {
            return Err(Error::internal());
        };
        let task = config.task_id.clone().ok_or_else(Error::internal)?;
        let Asked { courier, found } = self.asked(&call, &task).await?;
        let Found { stored, extensions } = found;
        let seen = stored.revision;
        let webhook = courier.admit(config.clone(), stored.key, seen, call.dialect).await?;
        let config = webhook.config.clone();
        self.register(webhook).await?;
        Ok(CallResponse { reply: Reply::PushConfig(config), task_dialect: None, extensions })
    }

    /// Without a name, the first one is meant.
    pub(super) async fn get_webhook(&self, call: Call) -> Result<CallResponse, Error> {
        let Request::GetTaskPushNotificationConfig(request) = &call.request else {
            return Err(Error::internal());
        };
        let Asked { found, .. } = self.asked(&call, &request.task_id).await?;
        let webhooks = self.webhooks(&found.stored.key, request.id.as_ref()).await?;
        let webhook = webhooks.into_iter().next();
        let webhook = webhook.ok_or_else(|| no_webhook(&request.task_id))?;
        let reply = Reply::PushConfig(webhook.config);
        Ok(CallResponse { reply, task_dialect: None, extensions: found.extensions })
    }

    pub(super) async fn list_webhooks(&self, call: Call) -> Result<CallResponse, Error> {
        let Request::ListTaskPushNotificationConfigs(request) = &call.request else {
            return Err(Error::internal());
        };
        let Asked { found, .. } = self.asked(&call, &request.task_id).await?;
        let webhooks = self.webhooks(&found.stored.key, None).await?;
        let reply = Reply::PushConfigList(ListTaskPushNotificationConfigsResponse {
            configs: webhooks.into_iter().map(|it| it.config).collect(),
            ..ListTaskPushNotificationConfigsResponse::default()
        });
        Ok(CallResponse { reply, task_dialect: None, extensions: found.extensions })
    }

    /// Without a name, all are meant.
    pub(super) async fn delete_webhook(&self, call: Call) -> Result<CallResponse, Error> {
        let Request::DeleteTaskPushNotificationConfig(request) = &call.request else {
            return Err(Error::internal());
        };
        let Asked { courier, found } = self.asked(&call, &request.task_id).await?;
        let key = found.stored.key;
        let ids = match &request.id {
            Some(id) => vec![id.clone()],
            None => self.webhooks(&key, None).await?.into_iter().map(|it| it.id).collect(),
        };
        let mut removed = 0;
        for id in ids {
            let there = self.store().webhooks().remove(&key, &id).await;
            removed += u32::from(there.map_err(unavailable)?);
        }
        courier.changed(&key);
        let reply = Reply::PushConfigsDeleted(removed);
        Ok(CallResponse { reply, task_dialect: None, extensions: found.extensions })
    }

    /// The webhook that came with a message, if it may be registered.
    pub(super) async fn inline_webhook(
        &self,
        letter: &mut Letter,
        task: &TaskKey,
        seen: Revision,
    ) -> Result<Option<Webhook>, Error> {
        let Some(config) = letter.configuration.task_push_notification_config.take() else {
            return Ok(None);
        };
        let courier = self.courier(&letter.agent)?;
        let webhook = courier.admit(*config, task.clone(), seen, letter.dialect).await;
        webhook.map(Some)
    }

    /// Registers a webhook with a task that is there.
    pub(super) async fn register(&self, webhook: Webhook) -> Result<(), Error> {
        let Some(courier) = self.0.courier.get() else { return Err(Error::internal()) };
        let (task, id) = (webhook.task.clone(), webhook.id.clone());
        let limit = courier.settings().per_task;
        let added = self.store().webhooks().add(webhook, limit).await.map_err(unavailable)?;
        match added {
            AddWebhookOutcome::Added => courier.take_on(&task, &id),
            AddWebhookOutcome::TaskNotFound => return Err(Error::task_not_found(&task.id)),
            AddWebhookOutcome::LimitReached => {
                let message = format!("the task has {limit} webhooks, and may not have more");
                return Err(Error::new(ErrorKind::InvalidParams, message));
            }
        }
        Ok(())
    }

    /// §3.3.4: whether there are webhooks at all comes before anything else.
    async fn asked(&self, call: &Call, task: &TaskId) -> Result<Asked<'_>, Error> {
        match self.named(call)? {
            Some(agent) => drop(self.courier(agent)?),
            None if self.0.courier.get().is_none() => {
                return Err(ErrorKind::PushNotificationNotSupported.into());
            }
            None => {}
        }
        let found = self.find(call, task).await?;
        let agent = self.0.registry.get(&found.stored.key.agent);
        let courier = self.courier(agent.ok_or_else(Error::internal)?)?;
        Ok(Asked { courier, found })
    }

    /// One webhook of a task, or all of them.
    async fn webhooks(
        &self,
        task: &TaskKey,
        id: Option<&PushConfigId>,
    ) -> Result<Vec<Webhook>, Error> {
        let found = match id {
            Some(id) => {
                self.store().webhooks().get(task, id).await.map(|it| it.into_iter().collect())
            }
            None => self.store().webhooks().list_for_task(task).await,
        };
        found.map_err(unavailable)
    }
}

/// What a call about webhooks is about.
struct Asked<'a> {
    courier: &'a Courier,
    found: Found,
}

/// There is no error of its own for this.
fn no_webhook(task: &TaskId) -> Error {
    let message = format!("task {task} has no such webhook");
    Error::new(ErrorKind::TaskNotFound, message).with_metadata("taskId", task.to_string())
}
