//! What can be asked: one table of operations, and how each version and binding names them.
//!
//! Methods are here; the paths of HTTP+JSON, of which there are many for one operation, in
//! [`route`].

pub(crate) mod route;

use http::Method;

use crate::version::Version;

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

/// The names of one operation.
struct Row {
    operation: Operation,
    capability: Option<Capability>,
    /// JSON-RPC methods: of 1.0, of 0.3 and of 0.1, where the version has one.
    methods: [Option<&'static str>; 3],
    /// JSON-RPC methods of 0.3 callers that no specification names.
    aliases: &'static [&'static str],
    /// gRPC methods: of `lf.a2a.v1` and of `a2a.v1`, where the package has one.
    rpcs: [Option<&'static str>; 2],
}

const TABLE: &[Row] = &[
    Row {
        operation: Operation::SendMessage,
        capability: None,
        methods: [Some("SendMessage"), Some("message/send"), Some("tasks/send")],
        aliases: &[],
        rpcs: [Some("SendMessage"), Some("SendMessage")],
    },
    Row {
        operation: Operation::SendStreamingMessage,
        capability: Some(Capability::Streaming),
        methods: [
            Some("SendStreamingMessage"),
            Some("message/stream"),
            Some("tasks/sendSubscribe"),
        ],
        aliases: &["message/sendStreaming"],
        rpcs: [Some("SendStreamingMessage"), Some("SendStreamingMessage")],
    },
    Row {
        operation: Operation::GetTask,
        capability: None,
        methods: [Some("GetTask"), Some("tasks/get"), Some("tasks/get")],
        aliases: &[],
        rpcs: [Some("GetTask"), Some("GetTask")],
    },
    Row {
        operation: Operation::ListTasks,
        capability: None,
        methods: [Some("ListTasks"), None, None],
        aliases: &["tasks/list"],
        rpcs: [Some("ListTasks"), Some("ListTasks")],
    },
    Row {
        operation: Operation::CancelTask,
        capability: None,
        methods: [Some("CancelTask"), Some("tasks/cancel"), Some("tasks/cancel")],
        aliases: &[],
        rpcs: [Some("CancelTask"), Some("CancelTask")],
    },
    Row {
        operation: Operation::SubscribeToTask,
        capability: Some(Capability::Streaming),
        methods: [Some("SubscribeToTask"), Some("tasks/resubscribe"), Some("tasks/resubscribe")],
        aliases: &["tasks/subscribe"],
        rpcs: [Some("SubscribeToTask"), Some("TaskSubscription")],
    },
    Row {
        operation: Operation::CreateTaskPushNotificationConfig,
        capability: Some(Capability::PushNotifications),
        methods: [
            Some("CreateTaskPushNotificationConfig"),
            Some("tasks/pushNotificationConfig/set"),
            Some("tasks/pushNotification/set"),
        ],
        aliases: &[],
        rpcs: [Some("CreateTaskPushNotificationConfig"), Some("CreateTaskPushNotificationConfig")],
    },
    Row {
        operation: Operation::GetTaskPushNotificationConfig,
        capability: Some(Capability::PushNotifications),
        methods: [
            Some("GetTaskPushNotificationConfig"),
            Some("tasks/pushNotificationConfig/get"),
            Some("tasks/pushNotification/get"),
        ],
        aliases: &[],
        rpcs: [Some("GetTaskPushNotificationConfig"), Some("GetTaskPushNotificationConfig")],
    },
    Row {
        operation: Operation::ListTaskPushNotificationConfigs,
        capability: Some(Capability::PushNotifications),
        methods: [
            Some("ListTaskPushNotificationConfigs"),
            Some("tasks/pushNotificationConfig/list"),
            None,
        ],
        aliases: &[],
        rpcs: [Some("ListTaskPushNotificationConfigs"), Some("ListTaskPushNotificationConfig")],
    },
    Row {
        operation: Operation::DeleteTaskPushNotificationConfig,
        capability: Some(Capability::PushNotifications),
        methods: [
            Some("DeleteTaskPushNotificationConfig"),
            Some("tasks/pushNotificationConfig/delete"),
            None,
        ],
        aliases: &[],
        rpcs: [Some("DeleteTaskPushNotificationConfig"), Some("DeleteTaskPushNotificationConfig")],
    },
    Row {
        operation: Operation::GetExtendedAgentCard,
        capability: Some(Capability::ExtendedAgentCard),
        methods: [Some("GetExtendedAgentCard"), Some("agent/getAuthenticatedExtendedCard"), None],
        aliases: &["agentCard/getExtended"],
        rpcs: [Some("GetExtendedAgentCard"), Some("GetAgentCard")],
    },
    Row {
        operation: Operation::GetAgentCard,
        capability: None,
        methods: [Some("GetAgentCard"), None, None],
        aliases: &[],
        rpcs: [None, None],
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
        match version {
            Version::V1_0 => v1_0,
            Version::V0_3 => v0_3,
            Version::V0_1 => v0_1,
        }
    }

    /// Its gRPC method in `version`, if it has one there.
    #[must_use]
    pub fn rpc(self, version: Version) -> Option<&'static str> {
        let [v1_0, v0_3] = self.row().rpcs;
        match version {
            Version::V1_0 => v1_0,
            Version::V0_3 => v0_3,
            Version::V0_1 => None,
        }
    }

    /// Its HTTP+JSON route in `version`, if it has one there: the method to send, and the path
    /// below the interface's address with `{id}` and `{config}` in it. That of 0.1 is of the REST
    /// before it.
    #[must_use]
    pub fn route(self, version: Version) -> Option<(Method, String)> {
        route::canonical(self, version)
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
    fn operation_table_rows_are_in_enum_order() {
        assert_eq!(TABLE.len(), Operation::ALL.len());
        for (row, operation) in TABLE.iter().zip(Operation::ALL) {
            assert_eq!(row.operation, operation);
            assert_eq!(operation.row().operation, operation);
        }
    }

    #[test]
    fn every_jsonrpc_method_name_is_recognized() {
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
    fn jsonrpc_methods_round_trip_to_operations() {
        for operation in Operation::ALL {
            for version in Version::ALL {
                let Some(method) = operation.method(version) else { continue };
                let (parsed, _) = Operation::from_method(method).unwrap();
                assert_eq!(parsed, operation, "{method}");
            }
        }
    }
}
