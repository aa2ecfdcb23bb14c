//! Bodies of webhook notifications.

use std::sync::Arc;

use super::{Dialect, EventWriter, Finality};
use crate::binding::rest;
use crate::error::Error;
use crate::model::{GetTaskRequest, StreamResponse, Task};
use crate::service::{Reply, Request};

/// Body of a webhook notification for one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Media type of the body.
    pub media_type: &'static str,
    /// Encoded body.
    pub body: Vec<u8>,
}

impl Dialect {
    /// Returns whether notifications contain the whole task. In other dialects they contain the
    /// event.
    #[must_use]
    pub fn sends_whole_task(self) -> bool {
        match self {
            Self::V1_0 => false,
            Self::V0_3 | Self::V0_3Proto | Self::V0_1 | Self::Legacy => true,
        }
    }

    /// Encodes a notification that contains an event.
    ///
    /// # Errors
    /// Returns an error if the dialect cannot encode the event independently of its stream.
    pub fn write_event_notification(self, event: &StreamResponse) -> Result<Notification, Error> {
        let body = EventWriter::write_reader_independent(self, event, Finality::More);
        let body = body.ok_or_else(Error::internal)?;
        Ok(Notification { media_type: rest::A2A_JSON, body })
    }

    /// Encodes a notification that contains the whole task.
    #[must_use]
    pub fn write_task_notification(self, task: &Arc<Task>) -> Notification {
        // Receivers of 0.3 expect the JSON schema format, regardless of the transport.
        let dialect = match self {
            Self::V0_3Proto => Self::V0_3,
            other => other,
        };
        let request = Request::GetTask(GetTaskRequest::from(task.id.clone()));
        let body = dialect.write_reply(&request, &Reply::Task(Arc::clone(task)));
        Notification { media_type: rest::JSON, body }
    }

    /// Encodes a notification that contains an event in a JSON-RPC envelope, as in a stream.
    ///
    /// # Errors
    /// Returns an error if the dialect cannot encode the event independently of its stream.
    pub fn write_enveloped_notification(
        self,
        event: &StreamResponse,
        finality: Finality,
    ) -> Result<Notification, Error> {
        let written = EventWriter::write_reader_independent(self, event, finality)
            .ok_or_else(Error::internal)?;
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
    fn v1_0_webhooks_receive_events() {
        let status = TaskStatus::from(TaskState::Completed);
        let event = StreamResponse::StatusUpdate(TaskStatusUpdateEvent::new(
            TaskId::new("t").unwrap(),
            status,
        ));
        let notification = Dialect::V1_0.write_event_notification(&event).unwrap();
        assert_eq!(notification.media_type, "application/a2a+json");
        assert_eq!(read(&notification)["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
        let notification =
            Dialect::V0_3.write_enveloped_notification(&event, Finality::Last).unwrap();
        assert_eq!(notification.media_type, "application/json");
        let body = read(&notification);
        assert_eq!(body["jsonrpc"], "2.0");
        assert_eq!(body["result"]["kind"], "status-update");
        assert_eq!(body["result"]["final"], true);
    }

    #[test]
    fn pitfall_31_pre_v1_webhooks_receive_whole_task() {
        for dialect in [Dialect::V0_3, Dialect::V0_3Proto] {
            let notification = dialect.write_task_notification(&task());
            assert_eq!(notification.media_type, "application/json");
            let body = read(&notification);
            assert_eq!((&body["kind"], &body["id"]), (&json!("task"), &json!("t")), "{dialect:?}");
            assert_eq!(body["status"]["state"], "working");
        }
        let body = read(&Dialect::V0_1.write_task_notification(&task()));
        assert_eq!(
            (&body["sessionId"], &body["status"]["state"]),
            (&json!("c"), &json!("working"))
        );
        assert!(Dialect::ALL.iter().all(|it| it.sends_whole_task() == (*it != Dialect::V1_0)));
    }
}
