//! Boundary between the wire and the engine: a call in, a reply out.
//!
//! Bindings decode requests into a [`Call`] and encode the [`CallResponse`]. The engine is a
//! [`Service`], and so is each transport of the client. Wrappers over the same trait add limits and
//! tracing.
//!
//! | module | content |
//! | --- | --- |
//! | `caller` | identity of the caller |
//! | `shared` | events that are encoded once for all readers |

mod caller;
mod shared;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_core::Stream;

use crate::card::AgentCard;
pub use caller::Caller;
pub use shared::SharedEvent;

use crate::dialect::{Dialect, Finality};
use crate::error::Error;
use crate::json::InvalidField;
use crate::model::{
    CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse,
    SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest, Task,
    TaskPushNotificationConfig,
};
use crate::operation::Operation;
use crate::revision::Revision;

/// Handles calls. Dropping the future stops waiting for the result; the effects of the call remain.
///
/// ```
/// use async_trait::async_trait;
/// use latimer_protocol::{Call, CallResponse, Error, Service};
///
/// #[derive(Debug)]
/// struct LoggedService<S>(S);
///
/// #[async_trait]
/// impl<S: Service> Service for LoggedService<S> {
///     async fn call(&self, call: Call) -> Result<CallResponse, Error> {
///         println!("{:?} by {}", call.request.operation(), call.context.caller.id());
///         self.0.call(call).await
///     }
/// }
/// ```
#[async_trait]
pub trait Service: fmt::Debug + Send + Sync + 'static {
    /// Handles one call.
    ///
    /// # Errors
    /// Returns the error to send to the caller. A stream that fails later ends with an error event.
    async fn call(&self, call: Call) -> Result<CallResponse, Error>;
}

/// One invocation of an operation: what a [`Service`] receives.
///
/// ```
/// use latimer_protocol::{Call, Operation, Request, TaskId};
///
/// let request = Request::GetTask(TaskId::new("t1")?.into());
/// let call = Call::new(request);
/// assert_eq!(call.request.operation(), Operation::GetTask);
/// assert!(call.context.caller.is_anonymous());
/// # Ok::<(), latimer_protocol::InvalidId>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Caller, agent, dialect and other properties of the call.
    pub context: CallContext,
    /// The operation and its parameters.
    pub request: Request,
}

impl Call {
    /// Creates a call with the default [`CallContext`].
    #[must_use]
    pub fn new(request: Request) -> Self {
        Self { context: CallContext::default(), request }
    }
}

/// Everything about a call except its request. The default is an anonymous caller that uses 1.0 and
/// names no agent.
///
/// Authentication determines the caller, and the binding determines the rest from the URL and the
/// headers. Code that calls a [`Service`] directly sets the members itself:
///
/// ```
/// use latimer_protocol::{Call, CallContext, Caller, ListTasksRequest, Request};
///
/// let context = CallContext {
///     caller: Caller::new("alice"),
///     agent: Some("translator".into()),
///     ..CallContext::default()
/// };
/// let call = Call { context, request: Request::ListTasks(ListTasksRequest::default()) };
/// assert!(!call.context.caller.is_anonymous());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CallContext {
    /// The caller.
    pub caller: Caller,
    /// The agent that the URL names. It takes precedence over a tenant in the request.
    pub agent: Option<Arc<str>>,
    /// Dialect of the request. Tasks and webhooks record the dialect in which they were created.
    pub dialect: Dialect,
    /// URIs of the extensions that the caller requests.
    pub extensions: Vec<String>,
    /// Last revision that the caller received, if it resumes a stream.
    pub resume_after: Option<Revision>,
}

impl Default for CallContext {
    /// The context of an anonymous caller over 1.0, without an agent, extensions or a cursor.
    fn default() -> Self {
        Self {
            caller: Caller::anonymous(),
            agent: None,
            dialect: Dialect::V1_0,
            extensions: Vec::new(),
            resume_after: None,
        }
    }
}

/// Result of a call, with the properties that a binding needs to encode it.
///
/// `E` is the error with which a stream can end: [`Error`] for a [`Service`], and another type for
/// the transports of a client.
#[derive(Debug)]
pub struct CallResponse<E = Error> {
    /// The reply, or the events that take its place.
    pub kind: ReplyKind<E>,
    /// The dialect in which the task was created, if that is known. Before 1.0 two versions share
    /// method names, and a caller expects the dialect it created its task in.
    pub task_dialect: Option<Dialect>,
    /// URIs of the active extensions, among those that the caller requested.
    pub extensions: Vec<String>,
}

impl<E> From<ReplyKind<E>> for CallResponse<E> {
    fn from(kind: ReplyKind<E>) -> Self {
        Self { kind, task_dialect: None, extensions: Vec::new() }
    }
}

impl<E> From<Reply> for CallResponse<E> {
    fn from(reply: Reply) -> Self {
        ReplyKind::Single(reply).into()
    }
}

/// Result of a call: one reply or a stream of events.
pub enum ReplyKind<E = Error> {
    /// One reply.
    Single(Reply),
    /// Events of a task. Dropping the stream stops reading; it cancels no task.
    Stream(EventStream<E>),
}

impl<E> fmt::Debug for ReplyKind<E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single(reply) => reply.fmt(out),
            Self::Stream(_) => out.write_str("Stream"),
        }
    }
}

/// Operation of a call, with its parameters.
///
/// ```
/// use latimer_protocol::{ListTasksRequest, Operation, Request};
///
/// let request = Request::ListTasks(ListTasksRequest { page_size: Some(0), ..Default::default() });
/// assert_eq!(request.operation(), Operation::ListTasks);
/// assert_eq!(request.validate().map_err(|invalid| invalid.field), Err("pageSize".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// See [`Operation::SendMessage`].
    SendMessage(SendMessageRequest),
    /// See [`Operation::SendStreamingMessage`].
    SendStreamingMessage(SendMessageRequest),
    /// See [`Operation::GetTask`].
    GetTask(GetTaskRequest),
    /// See [`Operation::ListTasks`].
    ListTasks(ListTasksRequest),
    /// See [`Operation::CancelTask`].
    CancelTask(CancelTaskRequest),
    /// See [`Operation::SubscribeToTask`].
    SubscribeToTask(SubscribeToTaskRequest),
    /// See [`Operation::CreateTaskPushNotificationConfig`].
    CreateTaskPushNotificationConfig(TaskPushNotificationConfig),
    /// See [`Operation::GetTaskPushNotificationConfig`].
    GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest),
    /// See [`Operation::ListTaskPushNotificationConfigs`].
    ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest),
    /// See [`Operation::DeleteTaskPushNotificationConfig`].
    DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest),
    /// See [`Operation::GetExtendedAgentCard`].
    GetExtendedAgentCard(GetExtendedAgentCardRequest),
    /// See [`Operation::GetAgentCard`].
    GetAgentCard,
}

impl Request {
    /// Returns the operation.
    #[must_use]
    pub fn operation(&self) -> Operation {
        match self {
            Self::SendMessage(_) => Operation::SendMessage,
            Self::SendStreamingMessage(_) => Operation::SendStreamingMessage,
            Self::GetTask(_) => Operation::GetTask,
            Self::ListTasks(_) => Operation::ListTasks,
            Self::CancelTask(_) => Operation::CancelTask,
            Self::SubscribeToTask(_) => Operation::SubscribeToTask,
            Self::CreateTaskPushNotificationConfig(_) => {
                Operation::CreateTaskPushNotificationConfig
            }
            Self::GetTaskPushNotificationConfig(_) => Operation::GetTaskPushNotificationConfig,
            Self::ListTaskPushNotificationConfigs(_) => Operation::ListTaskPushNotificationConfigs,
            Self::DeleteTaskPushNotificationConfig(_) => {
                Operation::DeleteTaskPushNotificationConfig
            }
            Self::GetExtendedAgentCard(_) => Operation::GetExtendedAgentCard,
            Self::GetAgentCard => Operation::GetAgentCard,
        }
    }

    /// Checks the rules of the protocol that the types do not enforce.
    ///
    /// # Errors
    /// Returns the first invalid field.
    pub fn validate(&self) -> Result<(), InvalidField> {
        match self {
            Self::SendMessage(it) | Self::SendStreamingMessage(it) => it.validate(),
            Self::ListTasks(it) => it.validate(),
            Self::CreateTaskPushNotificationConfig(it) if it.task_id.is_none() => {
                Err(InvalidField::missing("taskId"))
            }
            Self::CreateTaskPushNotificationConfig(it) => it.validate(),
            Self::GetTask(_)
            | Self::CancelTask(_)
            | Self::SubscribeToTask(_)
            | Self::GetTaskPushNotificationConfig(_)
            | Self::ListTaskPushNotificationConfigs(_)
            | Self::DeleteTaskPushNotificationConfig(_)
            | Self::GetExtendedAgentCard(_)
            | Self::GetAgentCard => Ok(()),
        }
    }

    /// Returns the tenant in the request.
    #[must_use]
    pub fn tenant(&self) -> Option<&str> {
        match self {
            Self::SendMessage(it) | Self::SendStreamingMessage(it) => it.tenant.as_deref(),
            Self::GetTask(it) => it.tenant.as_deref(),
            Self::ListTasks(it) => it.tenant.as_deref(),
            Self::CancelTask(it) => it.tenant.as_deref(),
            Self::SubscribeToTask(it) => it.tenant.as_deref(),
            Self::CreateTaskPushNotificationConfig(it) => it.tenant.as_deref(),
            Self::GetTaskPushNotificationConfig(it) => it.tenant.as_deref(),
            Self::ListTaskPushNotificationConfigs(it) => it.tenant.as_deref(),
            Self::DeleteTaskPushNotificationConfig(it) => it.tenant.as_deref(),
            Self::GetExtendedAgentCard(it) => it.tenant.as_deref(),
            Self::GetAgentCard => None,
        }
    }

    /// Replaces the tenant in the request. Bindings use it because a tenant in the path takes
    /// precedence over one in the body.
    pub fn set_tenant(&mut self, tenant: Option<String>) {
        match self {
            Self::SendMessage(it) | Self::SendStreamingMessage(it) => it.tenant = tenant,
            Self::GetTask(it) => it.tenant = tenant,
            Self::ListTasks(it) => it.tenant = tenant,
            Self::CancelTask(it) => it.tenant = tenant,
            Self::SubscribeToTask(it) => it.tenant = tenant,
            Self::CreateTaskPushNotificationConfig(it) => it.tenant = tenant,
            Self::GetTaskPushNotificationConfig(it) => it.tenant = tenant,
            Self::ListTaskPushNotificationConfigs(it) => it.tenant = tenant,
            Self::DeleteTaskPushNotificationConfig(it) => it.tenant = tenant,
            Self::GetExtendedAgentCard(it) => it.tenant = tenant,
            Self::GetAgentCard => {}
        }
    }
}

/// The result of a call without a stream.
#[derive(Debug)]
pub enum Reply {
    /// A task, or a message that replies directly.
    SendMessage(SendMessageResponse),
    /// A task.
    Task(Arc<Task>),
    /// A page of tasks.
    TaskList(ListTasksResponse),
    /// A webhook.
    PushConfig(TaskPushNotificationConfig),
    /// The webhooks of a task.
    PushConfigList(ListTaskPushNotificationConfigsResponse),
    /// Number of removed webhooks.
    PushConfigsDeleted(u32),
    /// A card.
    Card(Box<AgentCard>),
}

/// The events of one stream. The last event, or an error, ends it.
pub type EventStream<E = Error> = Pin<Box<dyn Stream<Item = Result<StreamEvent, E>> + Send>>;

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamEvent {
    /// Revision in the task's log, which a reader can resume after. `None` if the peer does not
    /// number events.
    pub revision: Option<Revision>,
    /// The content of the event.
    pub event: SharedEvent,
    /// Whether the event is known to be the last of its stream.
    pub finality: Finality,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call moves through every layer by value, so its size is part of the cost of a call.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn call_size_does_not_grow() {
        assert_eq!(size_of::<Call>(), 296);
    }
}
