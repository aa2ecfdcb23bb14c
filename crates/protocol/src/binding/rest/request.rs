//! Conversion between requests and HTTP requests.

use std::fmt;

use http::Method;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{ReplyFormat, Route, has_body, json_body};
use crate::binding::jsonrpc;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::json;
use crate::model::{MessageId, PushConfigId, TaskId};
use crate::operation::Operation;
use crate::service::Request;

/// HTTP request of a client.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The HTTP method.
    pub method: Method,
    /// Path and query relative to the URL of the interface.
    pub path: String,
    /// Body, if the operation has one.
    pub body: Option<Vec<u8>>,
}

impl fmt::Debug for HttpRequest {
    /// Omits the body, which may contain secrets.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, path, .. } = self;
        out.debug_struct("HttpRequest")
            .field("method", method)
            .field("path", path)
            .finish_non_exhaustive()
    }
}

impl HttpRequest {
    /// Encodes a request in an HTTP+JSON dialect.
    ///
    /// # Errors
    /// Returns an error if the operation has no route in the dialect, or an id cannot be used in a
    /// URL.
    pub fn new(dialect: Dialect, request: &Request) -> Result<Self, Error> {
        let (method, path) = Route::for_request(request, dialect).request_line()?;
        let body = match (dialect, request) {
            _ if !has_body(request.operation()) => None,
            // The legacy API posts a JSON-RPC envelope to a REST path.
            (Dialect::Legacy, Request::SendMessage(_)) => {
                Some(jsonrpc::write_call(dialect, &jsonrpc::Id::from(1), request)?)
            }
            _ => Some(dialect.write_request(request)?),
        };
        Ok(Self { method, path, body })
    }
}

impl Route {
    /// Returns the dialect of the request.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match self.reply_format {
            ReplyFormat::Legacy => Dialect::Legacy,
            ReplyFormat::Versioned | ReplyFormat::SameAsTask => Dialect::over_http(self.version),
        }
    }

    /// Decodes the request. Path parameters take precedence over the body. `new_id` creates the
    /// message id in dialects whose messages have none.
    ///
    /// # Errors
    /// Returns an error if the body is not JSON or a field is invalid.
    pub fn read_request(
        &self,
        bytes: &[u8],
        new_id: &dyn Fn() -> MessageId,
    ) -> Result<Request, Error> {
        let dialect = self.dialect();
        let json = json::utf8_str(json_body(bytes))?;
        match self.operation {
            Operation::SendMessage | Operation::SendStreamingMessage => {
                let params = match dialect {
                    Dialect::Legacy => {
                        let envelope = jsonrpc::Request::read(json.as_bytes());
                        envelope.map_err(|rejection| rejection.error)?.params
                    }
                    _ => json,
                };
                let mut request = dialect.read_request(self.operation, params, new_id)?;
                if self.tenant.is_some() {
                    request.set_tenant(self.tenant.clone());
                }
                Ok(request)
            }
            Operation::GetTask
            | Operation::ListTasks
            | Operation::CancelTask
            | Operation::SubscribeToTask
            | Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig
            | Operation::GetExtendedAgentCard
            | Operation::GetAgentCard => {
                let mut members: Map<String, Value> = match has_body(self.operation) {
                    true => json::from_str(json)?,
                    false => Map::new(),
                };
                self.apply_path_params(&mut members);
                dialect.read_members(self.operation, members, new_id)
            }
        }
    }

    /// Replaces members of the body by the path parameters of the same meaning.
    fn apply_path_params(&self, members: &mut Map<String, Value>) {
        let params = self.members();
        for (name, aliases) in [("id", ["taskId", "task_id"].as_slice()), ("taskId", &["task_id"])]
        {
            if params.contains_key(name) {
                aliases.iter().for_each(|it| drop(members.shift_remove(*it)));
            }
        }
        members.extend(params);
    }

    /// Creates the route of a request.
    fn for_request(request: &Request, dialect: Dialect) -> Self {
        let mut route = Self::new(request.operation(), dialect.version());
        // Tenants exist only in 1.0.
        route.tenant = request.tenant().filter(|_| dialect == Dialect::V1_0).map(str::to_owned);
        let task = |id: &TaskId| Some(id.to_string());
        let config = |id: &Option<PushConfigId>| id.as_ref().map(ToString::to_string);
        match request {
            Request::GetTask(it) => {
                route.task_id = task(&it.id);
                route.query = query_params(it, &["tenant", "id"]);
            }
            Request::CancelTask(it) => route.task_id = task(&it.id),
            Request::SubscribeToTask(it) => route.task_id = task(&it.id),
            Request::ListTasks(it) => {
                route.query = query_params(it, &["tenant"]);
                dialect.rename_query_params(&mut route.query);
            }
            Request::CreateTaskPushNotificationConfig(it) => {
                route.task_id = it.task_id.as_ref().and_then(task);
            }
            Request::GetTaskPushNotificationConfig(it) => {
                (route.task_id, route.config_id) = (task(&it.task_id), config(&it.id));
            }
            Request::DeleteTaskPushNotificationConfig(it) => {
                (route.task_id, route.config_id) = (task(&it.task_id), config(&it.id));
            }
            Request::ListTaskPushNotificationConfigs(it) => {
                route.task_id = task(&it.task_id);
                route.query = query_params(it, &["tenant", "taskId"]);
            }
            Request::SendMessage(_)
            | Request::SendStreamingMessage(_)
            | Request::GetExtendedAgentCard(_)
            | Request::GetAgentCard => {}
        }
        route
    }
}

/// Converts the members of a request to query parameters, except those in the path.
fn query_params(request: &impl Serialize, in_path: &[&str]) -> Vec<(String, String)> {
    let Ok(Value::Object(members)) = serde_json::to_value(request) else { return Vec::new() };
    let remaining = members.into_iter().filter(|(name, _)| !in_path.contains(&name.as_str()));
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    remaining.map(|(name, value)| (name, text(value))).collect()
}
