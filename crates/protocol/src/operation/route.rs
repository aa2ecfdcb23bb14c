//! Paths of HTTP+JSON in each version.
//!
//! `{id}` and `{config}` match one segment, or the part of a segment before a suffix; `a|b` matches
//! either literal. A server uses the first row that matches path and method, a client the first row
//! of the operation.

use http::Method;

use super::Operation::{
    self, CancelTask, CreateTaskPushNotificationConfig, DeleteTaskPushNotificationConfig,
    GetExtendedAgentCard, GetTask, GetTaskPushNotificationConfig, ListTaskPushNotificationConfigs,
    ListTasks, SendMessage, SendStreamingMessage, SubscribeToTask,
};
use crate::version::Version;

/// Path template and method of an operation.
pub(crate) struct Row {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) operation: Operation,
}

const fn row(method: Method, path: &'static str, operation: Operation) -> Row {
    Row { method, path, operation }
}

/// Routes of 1.0, with alternatives that one SDK's server uses.
pub(crate) const V1_0: &[Row] = &[
    row(Method::POST, "/message:send", SendMessage),
    row(Method::POST, "/message/send", SendMessage),
    row(Method::POST, "/message:stream", SendStreamingMessage),
    row(Method::POST, "/message/stream", SendStreamingMessage),
    row(Method::GET, "/tasks", ListTasks),
    row(Method::POST, "/tasks/{id}:cancel", CancelTask),
    row(Method::POST, "/tasks/{id}/cancel", CancelTask),
    row(Method::POST, "/tasks/{id}:subscribe", SubscribeToTask),
    row(Method::GET, "/tasks/{id}:subscribe", SubscribeToTask),
    row(Method::POST, "/tasks/{id}/subscribe", SubscribeToTask),
    row(Method::GET, "/tasks/{id}/subscribe", SubscribeToTask),
    row(Method::GET, "/tasks/{id}", GetTask),
    row(
        Method::POST,
        "/tasks/{id}/pushNotificationConfigs|push-configs",
        CreateTaskPushNotificationConfig,
    ),
    row(
        Method::GET,
        "/tasks/{id}/pushNotificationConfigs|push-configs",
        ListTaskPushNotificationConfigs,
    ),
    row(
        Method::GET,
        "/tasks/{id}/pushNotificationConfigs|push-configs/{config}",
        GetTaskPushNotificationConfig,
    ),
    row(
        Method::DELETE,
        "/tasks/{id}/pushNotificationConfigs|push-configs/{config}",
        DeleteTaskPushNotificationConfig,
    ),
    row(Method::GET, "/extendedAgentCard", GetExtendedAgentCard),
    row(Method::GET, "/agent-card/extended", GetExtendedAgentCard),
];

/// Routes of 0.3, with `task` from a mistake in its protobuf annotations and `pushNotifications`
/// from 0.2.
pub(crate) const V0_3: &[Row] = &[
    row(Method::POST, "/v1/message:send", SendMessage),
    row(Method::POST, "/v1/message:stream", SendStreamingMessage),
    row(Method::GET, "/v1/tasks|task", ListTasks),
    row(Method::POST, "/v1/tasks|task/{id}:cancel", CancelTask),
    row(Method::POST, "/v1/tasks|task/{id}:subscribe", SubscribeToTask),
    row(Method::GET, "/v1/tasks|task/{id}:subscribe", SubscribeToTask),
    row(Method::GET, "/v1/tasks|task/{id}", GetTask),
    row(
        Method::POST,
        "/v1/tasks|task/{id}/pushNotificationConfigs|pushNotifications",
        CreateTaskPushNotificationConfig,
    ),
    row(
        Method::GET,
        "/v1/tasks|task/{id}/pushNotificationConfigs|pushNotifications",
        ListTaskPushNotificationConfigs,
    ),
    row(
        Method::GET,
        "/v1/tasks|task/{id}/pushNotificationConfigs|pushNotifications/{config}",
        GetTaskPushNotificationConfig,
    ),
    row(
        Method::DELETE,
        "/v1/tasks|task/{id}/pushNotificationConfigs|pushNotifications/{config}",
        DeleteTaskPushNotificationConfig,
    ),
    row(Method::GET, "/v1/card", GetExtendedAgentCard),
];

/// Route of the extended card in 0.2, which 0.3 clients also use.
pub(crate) const CARD_0_2: &[Row] =
    &[row(Method::GET, "/agent/authenticatedExtendedCard", GetExtendedAgentCard)];

/// Routes of the legacy REST API that precedes 0.2.
pub(crate) const LEGACY: &[Row] = &[
    row(Method::POST, "/tasks/send", SendMessage),
    row(Method::GET, "/tasks/{id}", GetTask),
    row(Method::POST, "/tasks/{id}/cancel", CancelTask),
];

/// Returns the method and path template that a client uses.
pub(super) fn canonical(operation: Operation, version: Version) -> Option<(Method, String)> {
    let rows = match version {
        Version::V1_0 => V1_0,
        Version::V0_3 => V0_3,
        Version::V0_1 => LEGACY,
    };
    let row = rows.iter().find(|row| row.operation == operation)?;
    let segments = row.path.split('/').map(|it| it.split('|').next().unwrap_or(it));
    Some((row.method.clone(), segments.collect::<Vec<_>>().join("/")))
}
