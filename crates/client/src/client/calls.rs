//! Every operation, with its types.

use std::sync::Arc;

use latimer_protocol::card::AgentCard;
use latimer_protocol::swarm::Directive;
use latimer_protocol::{
    CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, EventStream,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, PushConfigId, Reply, ReplyKind, Request, Revision,
    SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest, Task, TaskId,
    TaskPushNotificationConfig,
};

use super::{Client, TaskFollower, new_message_id, unexpected_reply};
use crate::error::Error;

impl Client {
    /// Makes any call that is answered at once.
    ///
    /// # Errors
    /// Whatever goes wrong: see [`Error`].
    pub async fn call(&self, request: Request) -> Result<Reply, Error> {
        match self.call_with_retry(&self.build_call(request)).await?.kind {
            ReplyKind::Single(reply) => Ok(reply),
            ReplyKind::Stream(_) => Err(unexpected_reply(&"Stream")),
        }
    }

    /// Sends a message, and waits for what comes of it: a task that is over or asks for something, or
    /// a direct answer.
    ///
    /// # Errors
    /// Whatever goes wrong: see [`Error`]. A call that takes longer than its limit is a
    /// [`Error::Timeout`], and the task goes on: [`follow`](Self::follow) has no such limit.
    pub async fn send(
        &self,
        request: impl Into<SendMessageRequest>,
    ) -> Result<SendMessageResponse, Error> {
        match self.call(Request::SendMessage(request.into())).await? {
            Reply::SendMessage(response) => Ok(response),
            other => Err(unexpected_reply(&other)),
        }
    }

    /// Gives a directive to another member of a swarm: a message, which its server hands to whoever
    /// handles directives there.
    ///
    /// # Errors
    /// Whatever goes wrong: see [`Error`]. Who is not known there, or not understood, gets a rejected
    /// task.
    pub async fn send_directive(&self, directive: Directive) -> Result<SendMessageResponse, Error> {
        self.send(directive.into_message(new_message_id())).await
    }

    /// Sends a message and tells what becomes of it, over one connection. When that breaks, the
    /// stream ends with an error; [`follow`](Self::follow) goes on.
    ///
    /// # Errors
    /// Whatever goes wrong before the first event.
    pub async fn stream(
        &self,
        request: impl Into<SendMessageRequest>,
    ) -> Result<EventStream<Error>, Error> {
        self.open_stream(&self.build_call(Request::SendStreamingMessage(request.into()))).await
    }

    /// Sends a message and follows what becomes of it, through broken connections and servers that
    /// cannot stream.
    pub fn follow(&self, request: impl Into<SendMessageRequest>) -> TaskFollower {
        TaskFollower::for_message(self.clone(), request.into())
    }

    /// Follows a task that is under way.
    #[must_use]
    pub fn follow_task(&self, id: TaskId) -> TaskFollower {
        TaskFollower::for_task(self.clone(), id)
    }

    /// Shows a task.
    ///
    /// # Errors
    /// Whatever goes wrong: see [`Error`].
    pub async fn get_task(&self, request: impl Into<GetTaskRequest>) -> Result<Arc<Task>, Error> {
        into_task(self.call(Request::GetTask(request.into())).await?)
    }

    /// Shows a page of the caller's tasks.
    ///
    /// # Errors
    /// Whatever goes wrong: see [`Error`].
    pub async fn list_tasks(&self, request: ListTasksRequest) -> Result<ListTasksResponse, Error> {
        match self.call(Request::ListTasks(request)).await? {
            Reply::TaskList(page) => Ok(page),
            other => Err(unexpected_reply(&other)),
        }
    }

    /// Stops a task.
    ///
    /// # Errors
    /// Whatever goes wrong: see [`Error`].
    pub async fn cancel_task(
        &self,
        request: impl Into<CancelTaskRequest>,
    ) -> Result<Arc<Task>, Error> {
        into_task(self.call(Request::CancelTask(request.into())).await?)
    }

    /// Tells what happens to a task from now on, or since the event `after`, over one connection.
    ///
    /// # Errors
    /// Whatever goes wrong before the first event.
    pub async fn subscribe(
        &self,
        id: TaskId,
        resume_after: Option<Revision>,
    ) -> Result<EventStream<Error>, Error> {
        let request = SubscribeToTaskRequest { tenant: None, id };
        let mut call = self.build_call(Request::SubscribeToTask(request));
        call.context.resume_after = resume_after;
        self.open_stream(&call).await
    }

    /// Registers a webhook for a task.
    ///
    /// # Errors
    /// Whatever goes wrong: see [`Error`].
    pub async fn create_webhook(
        &self,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        into_webhook(self.call(Request::CreateTaskPushNotificationConfig(config)).await?)
    }

    /// Shows a webhook of a task.
    ///
    /// # Errors
    /// Whatever goes wrong: see [`Error`].
    pub async fn get_webhook(
        &self,
        task_id: TaskId,
        id: Option<PushConfigId>,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let request = GetTaskPushNotificationConfigRequest { tenant: None, task_id, id };
        into_webhook(self.call(Request::GetTaskPushNotificationConfig(request)).await?)
    }

    /// Shows the webhooks of a task.
    ///
    /// # Errors
    /// Whatever goes wrong: see [`Error`].
    pub async fn list_webhooks(
        &self,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        match self.call(Request::ListTaskPushNotificationConfigs(request)).await? {
            Reply::PushConfigList(page) => Ok(page),
            other => Err(unexpected_reply(&other)),
        }
    }

    /// Removes a webhook of a task.
    ///
    /// # Errors
    /// Whatever goes wrong: see [`Error`].
    pub async fn delete_webhook(&self, task_id: TaskId, id: PushConfigId) -> Result<(), Error> {
        let request =
            DeleteTaskPushNotificationConfigRequest { tenant: None, task_id, id: Some(id) };
        match self.call(Request::DeleteTaskPushNotificationConfig(request)).await? {
            Reply::PushConfigsDeleted(_) => Ok(()),
            other => Err(unexpected_reply(&other)),
        }
    }

    /// Shows the card for those whom the agent knows.
    ///
    /// # Errors
    /// Whatever goes wrong: see [`Error`].
    pub async fn extended_card(&self) -> Result<AgentCard, Error> {
        let request = GetExtendedAgentCardRequest::default();
        match self.call(Request::GetExtendedAgentCard(request)).await? {
            Reply::Card(card) => Ok(*card),
            other => Err(unexpected_reply(&other)),
        }
    }
}

fn into_task(reply: Reply) -> Result<Arc<Task>, Error> {
    match reply {
        Reply::Task(task) => Ok(task),
        other => Err(unexpected_reply(&other)),
    }
}

fn into_webhook(reply: Reply) -> Result<TaskPushNotificationConfig, Error> {
    match reply {
        Reply::PushConfig(config) => Ok(config),
        other => Err(unexpected_reply(&other)),
    }
}
