//! Every path of HTTP+JSON, by generation.
//!
//! `{id}` and `{config}` stand for one segment, or for what comes before a suffix; `a|b` is either.
//! A server takes the first row that fits the path and the method, a client the first row of the
//! operation.

use http::Method;

use super::Operation::{
    self, CancelTask, CreateTaskPushNotificationConfig, DeleteTaskPushNotificationConfig,
    GetExtendedAgentCard, GetTask, GetTaskPushNotificationConfig, ListTaskPushNotificationConfigs,
    ListTasks, SendMessage, SendStreamingMessage, SubscribeToTask,
};
use crate::version::Version;

/// One path, with a method it takes and what the two together ask for.
pub(crate) struct Row {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) operation: Operation,
}

const fn row(method: Method, path: &'static str, operation: Operation) -> Row {
    Row { method, path, operation }
}

/// 1.0, with the other names that one SDK's server has for it.
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

/// 0.3, with a slip of its protobuf annotations (`task`) and a name of 0.2 (`pushNotifications`).
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

/// Where 0.2 has its extended card, and 0.3 still looks for it.
pub(crate) const CARD_0_2: &[Row] =
    &[row(Method::GET, "/agent/authenticatedExtendedCard", GetExtendedAgentCard)];

/// The REST from before 0.2.
pub(crate) const LEGACY: &[Row] = &[
    row(Method::POST, "/tasks/send", SendMessage),
    row(Method::GET, "/tasks/{id}", GetTask),
    row(Method::POST, "/tasks/{id}/cancel", CancelTask),
];

/// The method and path that a client sends, without the other names that a server takes.
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
