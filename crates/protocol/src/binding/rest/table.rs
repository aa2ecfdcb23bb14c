//! Every path that is served, by generation.
//!
//! `{id}` and `{config}` stand for one segment, or for what comes before a suffix; `a|b` is either.
//! The first row that fits the path and the method is taken.

use http::Method;

use crate::operation::Operation::{
    self, CancelTask, CreateTaskPushNotificationConfig, DeleteTaskPushNotificationConfig,
    GetExtendedAgentCard, GetTask, GetTaskPushNotificationConfig, ListTaskPushNotificationConfigs,
    ListTasks, SendMessage, SendStreamingMessage, SubscribeToTask,
};

/// One path, with a method it takes and what the two together ask for.
pub(super) struct Row {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) operation: Operation,
}

const fn row(method: Method, path: &'static str, operation: Operation) -> Row {
    Row { method, path, operation }
}

/// 1.0, with the other names that one SDK's server has for it.
pub(super) const V1_0: &[Row] = &[
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
pub(super) const V0_3: &[Row] = &[
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
pub(super) const CARD_0_2: &[Row] =
    &[row(Method::GET, "/agent/authenticatedExtendedCard", GetExtendedAgentCard)];

/// The REST from before 0.2.
pub(super) const OLDEST: &[Row] = &[
    row(Method::POST, "/tasks/send", SendMessage),
    row(Method::GET, "/tasks/{id}", GetTask),
    row(Method::POST, "/tasks/{id}/cancel", CancelTask),
];
