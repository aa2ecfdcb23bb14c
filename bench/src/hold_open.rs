//! Keeping something open while somebody looks at how much memory it takes.

use std::io::Read as _;

use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::http::Connection;

/// What to keep open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Where the server listens.
    pub address: String,
    /// Where JSON-RPC is.
    pub path: String,
    /// What to keep open.
    pub resource: Resource,
}

/// What to keep open.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Resource {
    /// So many connections, on each of which a request was answered.
    Connections(usize),
    /// So many tasks that go on.
    Tasks(usize),
    /// Readers of tasks that go on.
    Subscribers {
        /// How many there are.
        count: usize,
        /// How many tasks they share.
        tasks: usize,
    },
}

/// Opens what is asked for, says so, and keeps it open until its input ends.
///
/// # Errors
/// When it cannot be opened.
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
            let request = plan.request("GetTask", r#"{"id":"nobody"}"#);
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

/// Reads a task up to where it stands.
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
    /// Begins tasks that go on, and returns their ids.
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

    /// A message that is answered at once.
    pub(crate) fn immediate_message(&self, text: &str, index: usize) -> String {
        let params = format!(
            r#"{{"message":{{"messageId":"{text} {index}","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}},"configuration":{{"returnImmediately":true}}}}"#
        );
        self.request("SendMessage", &params)
    }

    pub(crate) fn request(&self, method: &str, params: &str) -> String {
        let Self { address, path, .. } = self;
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    }
}

/// The id of the task that was answered.
pub(crate) fn task_id(body: &[u8]) -> Result<String, BenchError> {
    let value: serde_json::Value = serde_json::from_slice(body)?;
    let id = value.pointer("/result/task/id").and_then(serde_json::Value::as_str);
    Ok(id.ok_or_else(|| format!("no task: {value}"))?.to_owned())
}
