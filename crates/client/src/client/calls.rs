//! One method for each operation.

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

use super::{Client, TaskFollower, new_message_id, unexpected_reply, unexpected_response};
use crate::error::Error;

impl Client {
    /// Calls any operation with a single reply.
    ///
    /// # Errors
    /// - [`Error::Agent`] if the agent returns an error.
    /// - [`Error::Unreachable`], [`Error::ConnectionLost`], [`Error::Timeout`] or
    ///   [`Error::UpstreamUnavailable`] if no response of the agent arrives.
    /// - [`Error::InvalidResponse`] if the response is not A2A, or is a stream.
    /// - [`Error::NoCredentials`] if a token cannot be obtained or renewed.
    /// - [`Error::Forbidden`] if the guard does not allow the URL.
    pub async fn call(&self, request: Request) -> Result<Reply, Error> {
        match self.call_with_retry(&self.build_call(request)).await?.kind {
            ReplyKind::Single(reply) => Ok(reply),
            ReplyKind::Stream(_) => Err(unexpected_response("Stream")),
        }
    }

    /// Sends a message and waits for its result: a settled task, or a direct reply.
    ///
    /// # Errors
    /// Those of [`call`](Self::call). [`Error::Timeout`] if the task takes longer than the timeout of a
    /// call, by default 30 seconds; the task continues. [`follow`](Self::follow) has no such limit.
    pub async fn send(
        &self,
        request: impl Into<SendMessageRequest>,
    ) -> Result<SendMessageResponse, Error> {
        match self.call(Request::SendMessage(request.into())).await? {
            Reply::SendMessage(response) => Ok(response),
            other => Err(unexpected_reply(&other)),
        }
    }

    /// Sends a directive to another member of a swarm, as a message that its server passes to the
    /// directive handler.
    ///
    /// # Errors
    /// Those of [`send`](Self::send). A server that does not authenticate the client, or does not
    /// understand the directive, rejects the task, which is not an error.
    pub async fn send_directive(&self, directive: Directive) -> Result<SendMessageResponse, Error> {
        self.send(directive.into_message(new_message_id())).await
    }

    /// Sends a message and returns the events of its task over one connection. If the connection
    /// breaks, the stream ends with an error; [`follow`](Self::follow) reconnects.
    ///
    /// # Errors
    /// [`Error::Agent`] of kind
    /// [`StreamingNotSupported`](latimer_protocol::ErrorKind::StreamingNotSupported) or
    /// [`UnsupportedOperation`](latimer_protocol::ErrorKind::UnsupportedOperation) if the agent
    /// cannot stream; otherwise those of [`call`](Self::call).
    pub async fn stream(
        &self,
        request: impl Into<SendMessageRequest>,
    ) -> Result<EventStream<Error>, Error> {
        self.open_stream(&self.build_call(Request::SendStreamingMessage(request.into()))).await
    }

    /// Sends a message and follows its task, across lost connections and with agents that cannot
    /// stream.
    pub fn follow(&self, request: impl Into<SendMessageRequest>) -> TaskFollower {
        TaskFollower::for_message(self.clone(), request.into())
    }

    /// Follows an existing task.
    #[must_use]
    pub fn follow_task(&self, id: TaskId) -> TaskFollower {
        TaskFollower::for_task(self.clone(), id)
    }

    /// Fetches a task.
    ///
    /// # Errors
    /// [`Error::Agent`] of kind [`TaskNotFound`](latimer_protocol::ErrorKind::TaskNotFound) if the agent
    /// has no such task; otherwise those of [`call`](Self::call).
    pub async fn get_task(&self, request: impl Into<GetTaskRequest>) -> Result<Arc<Task>, Error> {
        into_task(self.call(Request::GetTask(request.into())).await?)
    }

    /// Fetches a page of the caller's tasks.
    ///
    /// # Errors
    /// [`Error::Agent`] of kind
    /// [`UnsupportedOperation`](latimer_protocol::ErrorKind::UnsupportedOperation) if the protocol
    /// version of the agent cannot list tasks; otherwise those of [`call`](Self::call).
    pub async fn list_tasks(&self, request: ListTasksRequest) -> Result<ListTasksResponse, Error> {
        match self.call(Request::ListTasks(request)).await? {
            Reply::TaskList(page) => Ok(page),
            other => Err(unexpected_reply(&other)),
        }
    }

    /// Cancels a task.
    ///
    /// # Errors
    /// [`Error::Agent`] of kind
    /// [`TaskNotCancelable`](latimer_protocol::ErrorKind::TaskNotCancelable) if the task is terminal or
    /// the agent declines, and of kind [`TaskNotFound`](latimer_protocol::ErrorKind::TaskNotFound) if
    /// the agent has no such task; otherwise those of [`call`](Self::call).
    pub async fn cancel_task(
        &self,
        request: impl Into<CancelTaskRequest>,
    ) -> Result<Arc<Task>, Error> {
        into_task(self.call(Request::CancelTask(request.into())).await?)
    }

    /// Returns the events of a task over one connection: new ones, or all after the revision
    /// `resume_after`.
    ///
    /// # Errors
    /// [`Error::Agent`] if the agent has no such task, if the agent cannot stream, or if the task is
    /// terminal and `resume_after` is `None`; otherwise those of [`call`](Self::call).
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
    /// [`Error::Agent`] of kind
    /// [`PushNotificationNotSupported`](latimer_protocol::ErrorKind::PushNotificationNotSupported) if
    /// the agent sends no push notifications, and of kind
    /// [`TaskNotFound`](latimer_protocol::ErrorKind::TaskNotFound) if it has no such task;
    /// [`Error::Agent`] of another kind if the agent rejects the URL; otherwise those of
    /// [`call`](Self::call).
    pub async fn create_webhook(
        &self,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        into_webhook(self.call(Request::CreateTaskPushNotificationConfig(config)).await?)
    }

    /// Fetches a webhook of a task.
    ///
    /// # Errors
    /// Those of [`create_webhook`](Self::create_webhook), apart from a rejected URL.
    pub async fn get_webhook(
        &self,
        task_id: TaskId,
        id: Option<PushConfigId>,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let request = GetTaskPushNotificationConfigRequest { tenant: None, task_id, id };
        into_webhook(self.call(Request::GetTaskPushNotificationConfig(request)).await?)
    }

    /// Fetches the webhooks of a task.
    ///
    /// # Errors
    /// Those of [`create_webhook`](Self::create_webhook), apart from a rejected URL.
    pub async fn list_webhooks(
        &self,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        match self.call(Request::ListTaskPushNotificationConfigs(request)).await? {
            Reply::PushConfigList(page) => Ok(page),
            other => Err(unexpected_reply(&other)),
        }
    }

    /// Deletes a webhook of a task.
    ///
    /// # Errors
    /// Those of [`create_webhook`](Self::create_webhook), apart from a rejected URL.
    pub async fn delete_webhook(&self, task_id: TaskId, id: PushConfigId) -> Result<(), Error> {
        let request =
            DeleteTaskPushNotificationConfigRequest { tenant: None, task_id, id: Some(id) };
        match self.call(Request::DeleteTaskPushNotificationConfig(request)).await? {
            Reply::PushConfigsDeleted(_) => Ok(()),
            other => Err(unexpected_reply(&other)),
        }
    }

    /// Fetches the agent's card for authenticated callers.
    ///
    /// # Errors
    /// [`Error::Agent`] if the agent has no extended card, or does not authenticate the client;
    /// otherwise those of [`call`](Self::call).
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
