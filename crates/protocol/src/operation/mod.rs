//! Operations of the protocol, and their names in each version and binding.
//!
//! This module contains the JSON-RPC and gRPC methods. [`route`] contains the paths of HTTP+JSON,
//! of which an operation can have several.

pub(crate) mod route;

use http::Method;

use crate::version::Version;

/// Operation of the protocol.
///
/// ```
/// use latimer_protocol::{Operation, Version};
///
/// assert_eq!(Operation::SendMessage.method(Version::V0_3), Some("message/send"));
/// assert_eq!(
///     Operation::from_method("tasks/cancel"),
///     Some((Operation::CancelTask, Version::V0_3)),
/// );
/// assert!(Operation::SubscribeToTask.is_streaming());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Sends a message and returns a task or a direct reply.
    SendMessage,
    /// Sends a message and streams the resulting events.
    SendStreamingMessage,
    /// Returns a task.
    GetTask,
    /// Lists the tasks of the caller.
    ListTasks,
    /// Cancels a task.
    CancelTask,
    /// Streams a task and its further events.
    SubscribeToTask,
    /// Registers a webhook for a task.
    CreateTaskPushNotificationConfig,
    /// Returns one webhook of a task.
    GetTaskPushNotificationConfig,
    /// Lists the webhooks of a task.
    ListTaskPushNotificationConfigs,
    /// Deletes a webhook of a task.
    DeleteTaskPushNotificationConfig,
    /// Returns the card for authenticated callers.
    GetExtendedAgentCard,
    /// Returns the public card. Not part of the specification, but some clients call it.
    GetAgentCard,
}

/// Optional feature that an agent's card must declare before clients use certain operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// `capabilities.streaming`.
    Streaming,
    /// `capabilities.pushNotifications`.
    PushNotifications,
    /// `capabilities.extendedAgentCard`.
    ExtendedAgentCard,
}

/// Names of one operation.
struct Row {
    operation: Operation,
    capability: Option<Capability>,
    /// JSON-RPC methods in 1.0, 0.3 and 0.1, where the version has one.
    methods: [Option<&'static str>; 3],
    /// JSON-RPC methods that some 0.3 clients use and no specification defines.
    aliases: &'static [&'static str],
    /// gRPC methods in `lf.a2a.v1` and `a2a.v1`, where the package has one.
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
    /// All operations.
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
        // A test checks that the rows are in the order of the enum.
        &TABLE[self as usize]
    }

    /// Returns the capability that the agent's card must declare, if the operation requires one.
    #[must_use]
    pub fn capability(self) -> Option<Capability> {
        self.row().capability
    }

    /// Returns whether the result is a stream of events.
    #[must_use]
    pub fn is_streaming(self) -> bool {
        self.capability() == Some(Capability::Streaming)
    }

    /// Returns the JSON-RPC method in `version`, if the version has one.
    #[must_use]
    pub fn method(self, version: Version) -> Option<&'static str> {
        let [v1_0, v0_3, v0_1] = self.row().methods;
        match version {
            Version::V1_0 => v1_0,
            Version::V0_3 => v0_3,
            Version::V0_1 => v0_1,
        }
    }

    /// Returns the gRPC method in `version`, if the version has one.
    #[must_use]
    pub fn rpc(self, version: Version) -> Option<&'static str> {
        let [v1_0, v0_3] = self.row().rpcs;
        match version {
            Version::V1_0 => v1_0,
            Version::V0_3 => v0_3,
            Version::V0_1 => None,
        }
    }

    /// Returns the HTTP method and path template in `version`, if the version has one. The path is
    /// relative to the URL of the interface and contains the placeholders `{id}` and `{config}`.
    /// For 0.1 this is the route of the legacy REST API.
    #[must_use]
    pub fn route(self, version: Version) -> Option<(Method, String)> {
        route::canonical(self, version)
    }

    /// Returns the operation and version of a JSON-RPC method. Methods that 0.3 and 0.1 share are
    /// attributed to 0.3.
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
