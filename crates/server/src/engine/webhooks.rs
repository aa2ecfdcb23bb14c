//! Operations on the webhooks of a task.

use latimer_protocol::{
    CallContext, CallResponse, DeleteTaskPushNotificationConfigRequest, Error, ErrorKind,
    GetTaskPushNotificationConfigRequest, InvalidField, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, Operation, PushConfigId, Reply, Revision, TaskId,
    TaskPushNotificationConfig,
};
use latimer_store::{AddWebhookOutcome, TaskKey, Webhook};

use super::accept::InboundMessage;
use super::agent_lookup::CallRef;
use super::tasks::AuthorizedTask;
use super::{Engine, page_token, store_error};
use crate::agent::Agent;
use crate::push::WebhookDispatcher;

impl Engine {
    /// Returns the dispatcher for webhooks of an agent's tasks.
    ///
    /// # Errors
    /// Fails if the server or the agent does not support webhooks.
    pub(super) fn dispatcher(&self, agent: &Agent) -> Result<&WebhookDispatcher, Error> {
        let dispatcher = self.0.dispatcher.get().filter(|_| agent.supports_webhooks());
        dispatcher.ok_or_else(|| ErrorKind::PushNotificationNotSupported.into())
    }

    pub(super) async fn create_webhook(
        &self,
        context: CallContext,
        config: TaskPushNotificationConfig,
    ) -> Result<CallResponse, Error> {
        let task = config.task_id.as_ref().ok_or_else(|| InvalidField::missing("taskId"))?;
        let operation = Operation::CreateTaskPushNotificationConfig;
        let call = CallRef { context: &context, operation, tenant: config.tenant.as_deref() };
        let WebhookTarget { dispatcher, authorized } = self.webhook_target(call, task).await?;
        let AuthorizedTask { stored, extensions, .. } = authorized;
        let cursor = stored.revision;
        let webhook = dispatcher.validate(config, stored.key, cursor, context.dialect).await?;
        let config = webhook.config.clone();
        self.register_webhook(dispatcher, webhook).await?;
        Ok(CallResponse { extensions, ..Reply::PushConfig(config).into() })
    }

    /// Returns a webhook. Without an id, returns the first one of the task.
    pub(super) async fn get_webhook(
        &self,
        context: CallContext,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<CallResponse, Error> {
        let operation = Operation::GetTaskPushNotificationConfig;
        let call = CallRef { context: &context, operation, tenant: request.tenant.as_deref() };
        let WebhookTarget { authorized, .. } = self.webhook_target(call, &request.task_id).await?;
        let webhooks = self.webhooks(&authorized.stored.key, request.id.as_ref()).await?;
        let webhook = webhooks.into_iter().next();
        let webhook = webhook.ok_or_else(|| webhook_not_found(&request.task_id))?;
        let reply = Reply::PushConfig(webhook.config);
        Ok(CallResponse { extensions: authorized.extensions, ..reply.into() })
    }

    /// Returns the webhooks of a task: all of them in the order of their registration, or the page
    /// that the request asks for.
    pub(super) async fn list_webhooks(
        &self,
        context: CallContext,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<CallResponse, Error> {
        let operation = Operation::ListTaskPushNotificationConfigs;
        let call = CallRef { context: &context, operation, tenant: request.tenant.as_deref() };
        let WebhookTarget { authorized, .. } = self.webhook_target(call, &request.task_id).await?;
        let webhooks = self.webhooks(&authorized.stored.key, None).await?;
        let reply = Reply::PushConfigList(webhook_page(webhooks, &request)?);
        Ok(CallResponse { extensions: authorized.extensions, ..reply.into() })
    }

    /// Deletes a webhook. Without an id, deletes all webhooks of the task.
    pub(super) async fn delete_webhook(
        &self,
        context: CallContext,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<CallResponse, Error> {
        let operation = Operation::DeleteTaskPushNotificationConfig;
        let call = CallRef { context: &context, operation, tenant: request.tenant.as_deref() };
        let WebhookTarget { dispatcher, authorized } =
            self.webhook_target(call, &request.task_id).await?;
        let key = authorized.stored.key;
        let ids = match request.id {
            Some(id) => vec![id],
            None => self.webhooks(&key, None).await?.into_iter().map(|it| it.id).collect(),
        };
        let mut removed = 0;
        for id in ids {
            let existed = self.store().webhooks().remove(&key, &id).await;
            removed += u32::from(existed.map_err(store_error)?);
        }
        dispatcher.notify_changed(&key);
        let reply = Reply::PushConfigsDeleted(removed);
        Ok(CallResponse { extensions: authorized.extensions, ..reply.into() })
    }

    /// Validates the webhook in the configuration of a message, if there is one.
    ///
    /// # Errors
    /// Fails if the webhook may not be registered.
    pub(super) async fn inline_webhook(
        &self,
        inbound: &mut InboundMessage,
        task: &TaskKey,
        cursor: Revision,
    ) -> Result<Option<Webhook>, Error> {
        let Some(config) = inbound.configuration.task_push_notification_config.take() else {
            return Ok(None);
        };
        let dispatcher = self.dispatcher(&inbound.agent)?;
        let webhook = dispatcher.validate(*config, task.clone(), cursor, inbound.dialect).await;
        webhook.map(Some)
    }

    /// Registers a webhook of an existing task and starts its deliveries.
    ///
    /// # Errors
    /// Fails if the task does not exist or has the maximum number of webhooks.
    pub(super) async fn register_webhook(
        &self,
        dispatcher: &WebhookDispatcher,
        webhook: Webhook,
    ) -> Result<(), Error> {
        let (task, id) = (webhook.task.clone(), webhook.id.clone());
        let limit = dispatcher.max_per_task();
        let added = self.store().webhooks().add(webhook, limit).await.map_err(store_error)?;
        match added {
            AddWebhookOutcome::Added => dispatcher.activate(&task, &id),
            AddWebhookOutcome::TaskNotFound => return Err(Error::task_not_found(&task.id)),
            AddWebhookOutcome::LimitReached => {
                let message =
                    format!("the task already has {limit} webhooks, which is the maximum");
                return Err(Error::new(ErrorKind::InvalidParams, message));
            }
        }
        Ok(())
    }

    /// Finds the task of a webhook operation. §3.3.4 requires the check for webhook support before
    /// all others.
    async fn webhook_target(
        &self,
        call: CallRef<'_>,
        task: &TaskId,
    ) -> Result<WebhookTarget<'_>, Error> {
        match self.named_agent(call)? {
            Some(agent) => drop(self.dispatcher(agent)?),
            None if self.0.dispatcher.get().is_none() => {
                return Err(ErrorKind::PushNotificationNotSupported.into());
            }
            None => {}
        }
        let authorized = self.find_task(call, task).await?;
        let dispatcher = self.dispatcher(&authorized.agent)?;
        Ok(WebhookTarget { dispatcher, authorized })
    }

    /// Loads one webhook of a task, or all of them.
    async fn webhooks(
        &self,
        task: &TaskKey,
        id: Option<&PushConfigId>,
    ) -> Result<Vec<Webhook>, Error> {
        let webhooks = match id {
            Some(id) => {
                self.store().webhooks().get(task, id).await.map(|it| it.into_iter().collect())
            }
            None => self.store().webhooks().list_for_task(task).await,
        };
        webhooks.map_err(store_error)
    }
}

/// Task of a webhook operation, and the dispatcher for it.
struct WebhookTarget<'a> {
    dispatcher: &'a WebhookDispatcher,
    authorized: AuthorizedTask,
}

/// Returns the page of the webhooks of a task that a request asks for. Pages are in the order of the
/// ids, so that a token stays valid while webhooks are registered and deleted. A page size of 0 is
/// absent, because the protobuf form cannot distinguish the two.
fn webhook_page(
    mut webhooks: Vec<Webhook>,
    request: &ListTaskPushNotificationConfigsRequest,
) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
    let page_size = request.page_size.filter(|it| *it != 0);
    let after = request.page_token.as_deref();
    let after = after.map(|it| page_token::decode_webhook(it, &request.task_id)).transpose()?;
    if page_size.is_some() || after.is_some() {
        webhooks.sort_by(|one, other| one.id.cmp(&other.id));
        webhooks.retain(|it| after.as_ref().is_none_or(|after| it.id > *after));
    }
    let limit = page_size.map_or(usize::MAX, |it| usize::try_from(it).unwrap_or(usize::MAX));
    let has_more = webhooks.len() > limit;
    webhooks.truncate(limit);
    let last = webhooks.last().filter(|_| has_more);
    let next_page_token = last.map(|it| page_token::encode_webhook(&it.id, &request.task_id));
    let configs = webhooks.into_iter().map(|it| it.config).collect();
    Ok(ListTaskPushNotificationConfigsResponse { configs, next_page_token })
}

/// Returns the error for an unknown webhook. A2A defines none, so it is `TaskNotFound`.
fn webhook_not_found(task: &TaskId) -> Error {
    let message = format!("task {task} has no such webhook");
    Error::new(ErrorKind::TaskNotFound, message).with_metadata("taskId", task.to_string())
}
