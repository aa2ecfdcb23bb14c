//! What a webhook is sent.

use std::sync::Arc;

use super::{Dialect, EventWriter, Then};
use crate::binding::rest;
use crate::error::Error;
use crate::model::{GetTaskRequest, StreamResponse, Task};
use crate::service::{Reply, Request};

/// What a webhook is sent about one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The media type of the body.
    pub media_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

impl Dialect {
    /// Whether a webhook of this dialect is sent the whole task with every event. The others are
    /// sent the event.
    #[must_use]
    pub fn notifies_of_tasks(self) -> bool {
        match self {
            Self::V1_0 => false,
            Self::V0_3 | Self::V0_3Proto | Self::V0_1 | Self::Oldest => true,
        }
    }

    /// Writes what a webhook is sent that wants events.
    ///
    /// # Errors
    /// When the dialect has no way to say it.
    pub fn notify_of_event(self, event: &StreamResponse) -> Result<Notification, Error> {
        let body = EventWriter::write_shared(self, event, Then::Continues);
        let body = body.ok_or_else(Error::internal)?;
        Ok(Notification { media_type: rest::A2A_JSON, body })
    }

    /// Writes what a webhook is sent that wants the whole task.
    ///
    /// # Errors
    /// When the dialect has no way to say it.
    pub fn notify_of_task(self, task: &Arc<Task>) -> Result<Notification, Error> {
        // Whatever the transport, receivers of 0.3 read the JSON of its schema.
        let dialect = match self {
            Self::V0_3Proto => Self::V0_3,
            other => other,
        };
        let request = Request::GetTask(GetTaskRequest::from(task.id.clone()));
        let body = dialect.write_reply(&request, &Reply::Task(Arc::clone(task)))?;
        Ok(Notification { media_type: rest::JSON, body })
    }

    /// Writes an event for a webhook that wants what a stream of JSON-RPC has, envelope included.
    ///
    /// # Errors
    /// When the dialect has no way to say it.
    pub fn notify_in_envelope(
        self,
        event: &StreamResponse,
        then: Then,
    ) -> Result<Notification, Error> {
        let written = EventWriter::write_shared(self, event, then).ok_or_else(Error::internal)?;
        let mut body = br#"{"jsonrpc":"2.0","result":"#.to_vec();
        body.extend(written);
        body.push(b'}');
        Ok(Notification { media_type: rest::JSON, body })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::{ContextId, TaskId, TaskState, TaskStatus, TaskStatusUpdateEvent};

    fn read(notification: &Notification) -> Value {
        serde_json::from_slice(&notification.body).unwrap()
    }

    fn task() -> Arc<Task> {
        let (id, context) = (TaskId::new("t").unwrap(), ContextId::new("c").unwrap());
        Arc::new(Task::new(id, context, TaskState::Working))
    }

    #[test]
    fn newer_webhooks_are_sent_events() {
        let status = TaskStatus::from(TaskState::Completed);
        let event = StreamResponse::StatusUpdate(TaskStatusUpdateEvent::new(
            TaskId::new("t").unwrap(),
            status,
        ));
        let sent = Dialect::V1_0.notify_of_event(&event).unwrap();
        assert_eq!(sent.media_type, "application/a2a+json");
        assert_eq!(read(&sent)["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
        let sent = Dialect::V0_3.notify_in_envelope(&event, Then::Closes).unwrap();
        assert_eq!(sent.media_type, "application/json");
        let body = read(&sent);
        assert_eq!(body["jsonrpc"], "2.0");
        assert_eq!(body["result"]["kind"], "status-update");
        assert_eq!(body["result"]["final"], true);
    }

    #[test]
    fn trap_31_older_webhooks_are_sent_the_task() {
        for dialect in [Dialect::V0_3, Dialect::V0_3Proto] {
            let sent = dialect.notify_of_task(&task()).unwrap();
            assert_eq!(sent.media_type, "application/json");
            let body = read(&sent);
            assert_eq!((&body["kind"], &body["id"]), (&json!("task"), &json!("t")), "{dialect:?}");
            assert_eq!(body["status"]["state"], "working");
        }
        let body = read(&Dialect::V0_1.notify_of_task(&task()).unwrap());
        assert_eq!(
            (&body["sessionId"], &body["status"]["state"]),
            (&json!("c"), &json!("working"))
        );
        assert!(Dialect::ALL.iter().all(|it| it.notifies_of_tasks() == (*it != Dialect::V1_0)));
    }
}
