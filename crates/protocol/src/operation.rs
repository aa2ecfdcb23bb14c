//! What can be asked: one table of operations, and how each version and binding names them.

use http::Method;

use crate::version::Version;

/// What an agent's card must declare before an operation may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// `capabilities.streaming`.
    Streaming,
    /// `capabilities.pushNotifications`.
    PushNotifications,
    /// `capabilities.extendedAgentCard`.
    ExtendedAgentCard,
}

/// Something a caller can ask of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Handle a message, and answer when there is something to answer.
    SendMessage,
    /// Handle a message, and tell what happens as it happens.
    SendStreamingMessage,
    /// Show a task.
    GetTask,
    /// Show the caller's tasks.
    ListTasks,
    /// Stop a task.
    CancelTask,
    /// Tell what happens to a task from now on.
    SubscribeToTask,
    /// Register a webhook for a task.
    CreateTaskPushNotificationConfig,
    /// Show one webhook of a task.
    GetTaskPushNotificationConfig,
    /// Show the webhooks of a task.
    ListTaskPushNotificationConfigs,
    /// Remove a webhook of a task.
    DeleteTaskPushNotificationConfig,
    /// Show the card for authenticated callers.
    GetExtendedAgentCard,
    /// Show the public card. Not of the specification: a method some callers know.
    GetAgentCard,
}

/// The names of one operation.
struct Row {
    operation: Operation,
    capability: Option<Capability>,
    /// JSON-RPC methods: of 1.0, of 0.3 and of 0.1; empty where the version has none.
    methods: [&'static str; 3],
    /// JSON-RPC methods of 0.3 callers that no specification names.
    aliases: &'static [&'static str],
    /// gRPC methods: of `lf.a2a.v1` and of `a2a.v1`.
    rpcs: [&'static str; 2],
    /// The HTTP+JSON route of 1.0: method, and path below the interface's address.
    route: Option<(Method, &'static str)>,
    /// The HTTP+JSON route of 0.3.
    older_route: Option<(Method, &'static str)>,
}

const TABLE: &[Row] = &[
    Row {
        operation: Operation::SendMessage,
        capability: None,
        methods: ["SendMessage", "message/send", "tasks/send"],
        aliases: &[],
        rpcs: ["SendMessage", "SendMessage"],
        route: Some((Method::POST, "/message:send")),
        older_route: Some((Method::POST, "/v1/message:send")),
    },
    Row {
        operation: Operation::SendStreamingMessage,
        capability: Some(Capability::Streaming),
        methods: ["SendStreamingMessage", "message/stream", "tasks/sendSubscribe"],
        aliases: &["message/sendStreaming"],
        rpcs: ["SendStreamingMessage", "SendStreamingMessage"],
        route: Some((Method::POST, "/message:stream")),
        older_route: Some((Method::POST, "/v1/message:stream")),
    },
    Row {
        operation: Operation::GetTask,
        capability: None,
        methods: ["GetTask", "tasks/get", "tasks/get"],
        aliases: &[],
        rpcs: ["GetTask", "GetTask"],
        route: Some((Method::GET, "/tasks/{id}")),
        older_route: Some((Method::GET, "/v1/tasks/{id}")),
    },
    Row {
        operation: Operation::ListTasks,
        capability: None,
        methods: ["ListTasks", "", ""],
        aliases: &["tasks/list"],
        rpcs: ["ListTasks", "ListTasks"],
        route: Some((Method::GET, "/tasks")),
        older_route: Some((Method::GET, "/v1/tasks")),
    },
    Row {
        operation: Operation::CancelTask,
        capability: None,
        methods: ["CancelTask", "tasks/cancel", "tasks/cancel"],
        aliases: &[],
        rpcs: ["CancelTask", "CancelTask"],
        route: Some((Method::POST, "/tasks/{id}:cancel")),
        older_route: Some((Method::POST, "/v1/tasks/{id}:cancel")),
    },
    Row {
        operation: Operation::SubscribeToTask,
        capability: Some(Capability::Streaming),
        methods: ["SubscribeToTask", "tasks/resubscribe", "tasks/resubscribe"],
        aliases: &["tasks/subscribe"],
        rpcs: ["SubscribeToTask", "TaskSubscription"],
        route: Some((Method::POST, "/tasks/{id}:subscribe")),
        older_route: Some((Method::POST, "/v1/tasks/{id}:subscribe")),
    },
    Row {
        operation: Operation::CreateTaskPushNotificationConfig,
        capability: Some(Capability::PushNotifications),
        methods: [
            "CreateTaskPushNotificationConfig",
            "tasks/pushNotificationConfig/set",
            "tasks/pushNotification/set",
        ],
        aliases: &[],
        rpcs: ["CreateTaskPushNotificationConfig", "CreateTaskPushNotificationConfig"],
        route: Some((Method::POST, "/tasks/{id}/pushNotificationConfigs")),
        older_route: Some((Method::POST, "/v1/tasks/{id}/pushNotificationConfigs")),
    },
    Row {
        operation: Operation::GetTaskPushNotificationConfig,
        capability: Some(Capability::PushNotifications),
        methods: [
            "GetTaskPushNotificationConfig",
            "tasks/pushNotificationConfig/get",
            "tasks/pushNotification/get",
        ],
        aliases: &[],
        rpcs: ["GetTaskPushNotificationConfig", "GetTaskPushNotificationConfig"],
        route: Some((Method::GET, "/tasks/{id}/pushNotificationConfigs/{config}")),
        older_route: Some((Method::GET, "/v1/tasks/{id}/pushNotificationConfigs/{config}")),
    },
    Row {
        operation: Operation::ListTaskPushNotificationConfigs,
        capability: Some(Capability::PushNotifications),
        methods: ["ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/list", ""],
        aliases: &[],
        rpcs: ["ListTaskPushNotificationConfigs", "ListTaskPushNotificationConfig"],
        route: Some((Method::GET, "/tasks/{id}/pushNotificationConfigs")),
        older_route: Some((Method::GET, "/v1/tasks/{id}/pushNotificationConfigs")),
    },
    Row {
        operation: Operation::DeleteTaskPushNotificationConfig,
        capability: Some(Capability::PushNotifications),
        methods: ["DeleteTaskPushNotificationConfig", "tasks/pushNotificationConfig/delete", ""],
        aliases: &[],
        rpcs: ["DeleteTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"],
        route: Some((Method::DELETE, "/tasks/{id}/pushNotificationConfigs/{config}")),
        older_route: Some((Method::DELETE, "/v1/tasks/{id}/pushNotificationConfigs/{config}")),
    },
    Row {
        operation: Operation::GetExtendedAgentCard,
        capability: Some(Capability::ExtendedAgentCard),
        methods: ["GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard", ""],
        aliases: &["agentCard/getExtended"],
        rpcs: ["GetExtendedAgentCard", "GetAgentCard"],
        route: Some((Method::GET, "/extendedAgentCard")),
        older_route: Some((Method::GET, "/v1/card")),
    },
    Row {
        operation: Operation::GetAgentCard,
        capability: None,
        methods: ["GetAgentCard", "", ""],
        aliases: &[],
        rpcs: ["", ""],
        route: None,
        older_route: None,
    },
];

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 12] = [
        Self::SendMessage,
        Self::SendStreamingMessage,
        Self::GetTask,
        Self::ListTasks,
        Self::CancelTask,
        Self::SubscribeToTask,
        Self::CreateTaskPushNotificationConfig,
        Self::GetTaskPushNotificationConfig,
        Self::ListTaskPushNotificationConfigs,
        Self::DeleteTaskPushNotificationConfig,
        Self::GetExtendedAgentCard,
        Self::GetAgentCard,
    ];

    fn row(self) -> &'static Row {
        // The table lists every operation in the order of the enum.
        &TABLE[self as usize]
    }

    /// What the agent's card must declare.
    #[must_use]
    pub fn capability(self) -> Option<Capability> {
        self.row().capability
    }

    /// Whether the answer is a stream of events.
    #[must_use]
    pub fn is_streaming(self) -> bool {
        self.capability() == Some(Capability::Streaming)
    }

    /// Its JSON-RPC method in `version`, if it has one there.
    #[must_use]
    pub fn method(self, version: Version) -> Option<&'static str> {
        let [v1_0, v0_3, v0_1] = self.row().methods;
        let method = match version {
            Version::V1_0 => v1_0,
            Version::V0_3 => v0_3,
            Version::V0_1 => v0_1,
        };
        Some(method).filter(|it| !it.is_empty())
    }

    /// Its gRPC method in `version`, if it has one there.
    #[must_use]
    pub fn rpc(self, version: Version) -> Option<&'static str> {
        let [v1_0, v0_3] = self.row().rpcs;
        let rpc = match version {
            Version::V1_0 => v1_0,
            Version::V0_3 => v0_3,
            Version::V0_1 => "",
        };
        Some(rpc).filter(|it| !it.is_empty())
    }

    /// Its HTTP+JSON route in `version`, if it has one there: the method to send, and the path
    /// below the interface's address with `{id}` and `{config}` in it.
    #[must_use]
    pub fn route(self, version: Version) -> Option<(&'static Method, &'static str)> {
        let route = match version {
            Version::V1_0 => self.row().route.as_ref(),
            Version::V0_3 => self.row().older_route.as_ref(),
            Version::V0_1 => None,
        };
        route.map(|(method, path)| (method, *path))
    }

    /// The operation and version that a JSON-RPC method names.
    ///
    /// Methods that 0.3 and 0.1 share are read as 0.3.
    #[must_use]
    pub fn from_method(method: &str) -> Option<(Self, Version)> {
        TABLE.iter().find_map(|row| {
            let version = Version::ALL
                .into_iter()
                .find(|version| row.operation.method(*version) == Some(method))
                .or_else(|| row.aliases.contains(&method).then_some(Version::V0_3))?;
            Some((row.operation, version))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_operations() {
        assert_eq!(TABLE.len(), Operation::ALL.len());
        for (row, operation) in TABLE.iter().zip(Operation::ALL) {
            assert_eq!(row.operation, operation);
            assert_eq!(operation.row().operation, operation);
        }
    }

    #[test]
    fn every_method_ever_used_is_known() {
        use Operation as O;
        for (method, want) in [
            ("SendMessage", (O::SendMessage, Version::V1_0)),
            ("GetAgentCard", (O::GetAgentCard, Version::V1_0)),
            ("message/send", (O::SendMessage, Version::V0_3)),
            ("message/stream", (O::SendStreamingMessage, Version::V0_3)),
            ("message/sendStreaming", (O::SendStreamingMessage, Version::V0_3)),
            ("tasks/get", (O::GetTask, Version::V0_3)),
            ("tasks/list", (O::ListTasks, Version::V0_3)),
            ("tasks/cancel", (O::CancelTask, Version::V0_3)),
            ("tasks/subscribe", (O::SubscribeToTask, Version::V0_3)),
            ("tasks/resubscribe", (O::SubscribeToTask, Version::V0_3)),
            (
                "tasks/pushNotificationConfig/set",
                (O::CreateTaskPushNotificationConfig, Version::V0_3),
            ),
            ("agent/getAuthenticatedExtendedCard", (O::GetExtendedAgentCard, Version::V0_3)),
            ("agentCard/getExtended", (O::GetExtendedAgentCard, Version::V0_3)),
            ("tasks/send", (O::SendMessage, Version::V0_1)),
            ("tasks/sendSubscribe", (O::SendStreamingMessage, Version::V0_1)),
            ("tasks/pushNotification/set", (O::CreateTaskPushNotificationConfig, Version::V0_1)),
            ("tasks/pushNotification/get", (O::GetTaskPushNotificationConfig, Version::V0_1)),
        ] {
            assert_eq!(Operation::from_method(method), Some(want), "{method}");
        }
        for method in ["", "sendMessage", "Tasks/get", "message/", "tasks/delete"] {
            assert_eq!(Operation::from_method(method), None, "{method}");
        }
    }

    #[test]
    fn a_method_leads_back_to_its_operation() {
        for operation in Operation::ALL {
            for version in Version::ALL {
                let Some(method) = operation.method(version) else { continue };
                let (found, _) = Operation::from_method(method).unwrap();
                assert_eq!(found, operation, "{method}");
            }
        }
    }
}
