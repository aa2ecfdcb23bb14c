//! Routes and bodies of HTTP+JSON, matched by servers and built by clients.
//!
//! Paths are relative to the URL of the interface and percent-encoded, as in the request line.
//! Three generations share the path space: 1.0, 0.3 below `/v1`, and the legacy REST API that
//! precedes 0.2. A [`Dialect`](crate::Dialect) decodes the bodies.
//!
//! | module | content |
//! | --- | --- |
//! | `content` | media types and empty bodies |
//! | `encoding` | percent-encoding of paths and queries |
//! | `match_route` | matching of requests to routes |
//! | `path` | building of request lines |
//! | `request` | conversion between requests and HTTP requests |

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

/// Operation and parameters that a request line specifies.
///
/// A server matches it with [`Route::find`]; a client builds it and converts it with
/// [`Route::request_line`]. The two functions are inverse to each other.
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
    /// Operation of the route.
    pub operation: Operation,
    /// Version of the request.
    pub version: Version,
    /// Format of the reply, where the version does not determine it.
    pub reply_format: ReplyFormat,
    /// Tenant, one or more leading path segments.
    pub tenant: Option<String>,
    /// Task id.
    pub task_id: Option<String>,
    /// Push notification configuration id.
    pub config_id: Option<String>,
    /// Decoded query parameters in order, without the version.
    pub query: Vec<(String, String)>,
}

/// Format of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyFormat {
    /// Format of the version.
    #[default]
    Versioned,
    /// Format of the legacy REST API: a bare task whose status is a string.
    Legacy,
    /// Legacy format for a task that was created over the legacy API, otherwise the format of the
    /// version. Used if the path exists in both APIs and the client declared no version.
    SameAsTask,
}

impl Route {
    /// Creates a route without tenant, ids and query.
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

    /// Returns the path and query parameters as members of the operation's 1.0 request.
    ///
    /// For an operation with a body, the query is ignored; the members take precedence over the
    /// body. Parameters keep their names and values are strings; a repeated parameter becomes a
    /// list. The path takes precedence over the query.
    ///
    /// A `+` before the offset of a timestamp, which form decoding turns into a space, is restored,
    /// because clients often do not encode it: `statusTimestampAfter=2026-01-01T00:00:00+00:00`.
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

/// Returns the member names of the task id and the configuration id in an operation's request.
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
