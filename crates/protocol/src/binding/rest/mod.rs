//! HTTP+JSON: addresses of operations, found by a server and made by a client.
//!
//! Paths are those below the address of an interface, as they stand in the request line: still
//! percent-encoded. Three generations share them: 1.0, 0.3 under `/v1`, and the REST that was there
//! before 0.2. What a body says is the business of a dialect.

mod content;
mod encoding;
mod match_route;
mod path;
mod request;
#[cfg(test)]
mod tests;

pub use content::{A2A_JSON, JSON, is_json, is_readable, json_body, negotiate_media_type, prefers};
pub use match_route::{Rejection, RouteRequest};
pub use request::HttpRequest;

pub(super) use encoding::{decode_form, is_version_parameter};

use serde_json::{Map, Value};

use crate::operation::Operation;
use crate::version::Version;

/// What an address asks for.
///
/// A server finds it with [`Route::find`]; a client makes it, and its address with
/// [`Route::request_line`]. The two are each other's inverse.
///
/// ```
/// # use {http::Method, latimer_protocol::{Operation, Version}};
/// # use latimer_protocol::binding::rest::{Route, RouteRequest};
/// let request = RouteRequest::new(&Method::POST, "/acme/tasks/a%2Fb:cancel");
/// let request = RouteRequest { declared: Some(Version::V1_0), ..request };
/// let route = Route::find(&request)?;
/// assert_eq!(route.operation, Operation::CancelTask);
/// assert_eq!(route.tenant.as_deref(), Some("acme"));
/// assert_eq!(route.task_id.as_deref(), Some("a/b"));
/// # Ok::<(), latimer_protocol::binding::rest::Rejection>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The operation.
    pub operation: Operation,
    /// The version it is asked in.
    pub version: Version,
    /// The shape to answer in, where the version alone does not tell.
    pub reply_format: ReplyFormat,
    /// The tenant, one or more segments before the rest of the path.
    pub tenant: Option<String>,
    /// The task.
    pub task_id: Option<String>,
    /// The push notification configuration.
    pub config_id: Option<String>,
    /// The parameters of the query in their order, decoded; without the version.
    pub query: Vec<(String, String)>,
}

/// In which shape an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyFormat {
    /// In that of the version.
    #[default]
    Versioned,
    /// In that of the REST before 0.2: a bare task whose status is a text.
    Legacy,
    /// In the oldest for a task that was made in it, else in that of the version: the address is
    /// both the oldest's and that of 1.0, and the caller does not say which it means.
    SameAsTask,
}

impl Route {
    /// A route to `operation` in `version`, with nothing else in it.
    #[must_use]
    pub fn new(operation: Operation, version: Version) -> Self {
        let reply_format = match version {
            Version::V0_1 => ReplyFormat::Legacy,
            Version::V0_3 | Version::V1_0 => ReplyFormat::Versioned,
        };
        Self {
            operation,
            version,
            reply_format,
            tenant: None,
            task_id: None,
            config_id: None,
            query: Vec::new(),
        }
    }

    /// What the address says, as the members of the operation's request in 1.0.
    ///
    /// Of an operation that has a body, only what the path says: it goes over what the body says.
    /// Parameters keep their names, values are texts, and one that is given several times is a
    /// list. The path wins over the query.
    ///
    /// A `+` before the offset of a time, which reads as a blank where it is not encoded, is put
    /// back: `statusTimestampAfter=2026-01-01T00:00:00+00:00` is what many would write.
    pub(crate) fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        for (name, value) in self.query.iter().filter(|_| !has_body(self.operation)) {
            add_param(&mut members, name, encoding::restore_time_offset(name, value).into());
        }
        let (task_param, config_param) = param_names(self.operation);
        if self.task_id.is_some() {
            members.shift_remove("task_id");
        }
        let path = [
            ("tenant", &self.tenant),
            (task_param, &self.task_id),
            (config_param, &self.config_id),
        ];
        for (name, value) in path {
            if let Some(value) = value {
                members.insert(name.to_owned(), value.as_str().into());
            }
        }
        members
    }
}

fn add_param(members: &mut Map<String, Value>, name: &str, value: Value) {
    match members.get_mut(name) {
        None => {
            members.insert(name.to_owned(), value);
        }
        Some(Value::Array(values)) => values.push(value),
        Some(first) => *first = Value::Array(vec![first.take(), value]),
    }
}

/// How the request of an operation calls its task, and its push notification configuration.
fn param_names(operation: Operation) -> (&'static str, &'static str) {
    match operation {
        Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig => ("taskId", "id"),
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::GetTask
        | Operation::ListTasks
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::GetExtendedAgentCard
        | Operation::GetAgentCard => ("id", "configId"),
    }
}

fn has_body(operation: Operation) -> bool {
    match operation {
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::CancelTask
        | Operation::CreateTaskPushNotificationConfig => true,
        Operation::GetTask
        | Operation::ListTasks
        | Operation::SubscribeToTask
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard
        | Operation::GetAgentCard => false,
    }
}
