//! Load generator that holds resources of a server open while its memory is measured.

use std::io::Read as _;

use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::http::Connection;

/// Server and resources to hold open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Socket address of the server, whose agent is a [`worker_agent`](crate::server_under_test::worker_agent).
    pub address: String,
    /// Path of the JSON-RPC endpoint.
    pub path: String,
    /// Resources to hold open.
    pub resource: Resource,
}

/// Kind and number of resources.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Resource {
    /// This many connections, each after one completed request.
    Connections(usize),
    /// This many running tasks.
    Tasks(usize),
    /// Stream readers of running tasks.
    Subscribers {
        /// Number of readers, each with its own connection.
        count: usize,
        /// Number of tasks, among which the readers are distributed evenly.
        tasks: usize,
    },
}

/// Opens the resources, writes `true` as a line of JSON to standard output, and holds the resources
/// open until standard input ends.
///
/// # Errors
/// Fails if a resource cannot be opened.
pub fn run(plan: Plan) -> Result<(), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let connections = runtime.block_on(open_resource(&plan))?;
    crate::report::write_json(&true)?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    drop(connections);
    Ok(())
}

async fn open_resource(plan: &Plan) -> Result<Vec<Connection>, BenchError> {
    let mut connections = Vec::new();
    match plan.resource {
        Resource::Connections(count) => {
            let request = plan.request("GetTask", r#"{"id":"unknown-task"}"#);
            for _ in 0..count {
                let mut connection = Connection::open(&plan.address, None).await?;
                connection.exchange(request.as_bytes()).await?;
                connections.push(connection);
            }
        }
        Resource::Tasks(count) => {
            plan.start_tasks(count).await?;
        }
        Resource::Subscribers { count, tasks } => {
            let tasks = plan.start_tasks(tasks).await?;
            for task in tasks.iter().cycle().take(count) {
                connections.push(subscribe(plan, task).await?);
            }
        }
    }
    Ok(connections)
}

/// Subscribes to a task, and reads the stream up to the first event.
async fn subscribe(plan: &Plan, task: &str) -> Result<Connection, BenchError> {
    let request = plan.request("SubscribeToTask", &format!(r#"{{"id":"{task}"}}"#));
    let mut connection = Connection::open(&plan.address, None).await?;
    let status = connection.start_stream(request.as_bytes()).await?;
    let mut body = Vec::new();
    while status == 200 && memchr::memmem::find(&body, b"data:").is_none() {
        connection.read_more(&mut body).await?;
    }
    if memchr::memmem::find(&body, br#""result""#).is_none() {
        return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
    }
    Ok(connection)
}

impl Plan {
    /// Starts tasks that do not finish, and returns their ids.
    async fn start_tasks(&self, count: usize) -> Result<Vec<String>, BenchError> {
        let mut connection = Connection::open(&self.address, None).await?;
        let mut ids = Vec::with_capacity(count);
        for index in 0..count {
            let request = self.immediate_message("wait", index);
            let response = connection.exchange(request.as_bytes()).await?;
            ids.push(task_id(response.body)?);
        }
        Ok(ids)
    }

    /// Builds a request that sends a message and returns without waiting for the turn.
    pub(crate) fn immediate_message(&self, text: &str, index: usize) -> String {
        let params = format!(
            r#"{{"message":{{"messageId":"{text} {index}","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}},"configuration":{{"returnImmediately":true}}}}"#
        );
        self.request("SendMessage", &params)
    }

    /// Builds an HTTP request with a JSON-RPC call.
    pub(crate) fn request(&self, method: &str, params: &str) -> String {
        let Self { address, path, .. } = self;
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    }
}

/// Returns the id of the task in a JSON-RPC response.
pub(crate) fn task_id(body: &[u8]) -> Result<String, BenchError> {
    let value: serde_json::Value = serde_json::from_slice(body)?;
    let id = value.pointer("/result/task/id").and_then(serde_json::Value::as_str);
    Ok(id.ok_or_else(|| format!("no task: {value}"))?.to_owned())
}
