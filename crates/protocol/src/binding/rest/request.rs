//! Requests: an address and a body on one side, what is asked on the other.

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

/// A request as a client sends it.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The HTTP method.
    pub method: Method,
    /// The path and query, below the address of the interface.
    pub path: String,
    /// The body, where the operation has one.
    pub body: Option<Vec<u8>>,
}

impl fmt::Debug for HttpRequest {
    /// Without the body, which may hold secrets.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, path, .. } = self;
        out.debug_struct("Outgoing")
            .field("method", method)
            .field("path", path)
            .finish_non_exhaustive()
    }
}

impl HttpRequest {
    /// Writes a request in a dialect of HTTP+JSON.
    ///
    /// # Errors
    /// When the dialect has no such operation, or an id cannot stand in an address.
    pub fn new(dialect: Dialect, request: &Request) -> Result<Self, Error> {
        let (method, path) = Route::for_request(request, dialect).request_line()?;
        let body = match (dialect, request) {
            _ if !has_body(request.operation()) => None,
            // Posted to a path, and still in the envelope of a call.
            (Dialect::Legacy, Request::SendMessage(_)) => {
                Some(jsonrpc::write_call(dialect, &jsonrpc::Id::from(1), request)?)
            }
            _ => Some(dialect.write_request(request)?),
        };
        Ok(Self { method, path, body })
    }
}

impl Route {
    /// The dialect that a request of this route is read in.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match self.reply_format {
            ReplyFormat::Legacy => Dialect::Legacy,
            ReplyFormat::Versioned | ReplyFormat::SameAsTask => Dialect::over_http(self.version),
        }
    }

    /// Reads the request: what the address says goes over what the body says. `new_id` names a
    /// message without an id, where the dialect's messages have none.
    ///
    /// # Errors
    /// When the body is not JSON, or a field is wrong.
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

    /// Puts what the address says in place of whatever the body says about the same.
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

    /// The route of a request.
    fn for_request(request: &Request, dialect: Dialect) -> Self {
        let mut route = Self::new(request.operation(), dialect.version());
        // Only 1.0 has tenants.
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

/// The members of a request as the parameters of a query, but for those in the path.
fn query_params(request: &impl Serialize, in_path: &[&str]) -> Vec<(String, String)> {
    let Ok(Value::Object(members)) = serde_json::to_value(request) else { return Vec::new() };
    let remaining = members.into_iter().filter(|(name, _)| !in_path.contains(&name.as_str()));
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    remaining.map(|(name, value)| (name, text(value))).collect()
}
