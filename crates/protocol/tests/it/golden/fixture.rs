//! Loader for the golden fixtures.

use std::fs;
use std::path::{Path, PathBuf};

use latimer_protocol::{Operation, Version};
use serde::Deserialize;
use serde_json::Value;

/// Recorded exchange.
#[derive(Debug)]
pub(crate) struct Fixture {
    /// Path relative to the fixture directory.
    pub(crate) name: String,
    pub(crate) version: Version,
    pub(crate) binding: String,
    pub(crate) operation: Option<Operation>,
    pub(crate) request: Option<Request>,
    pub(crate) response: Response,
}

#[derive(Debug, Deserialize)]
struct File {
    protocol: String,
    binding: String,
    operation: String,
    request: Option<Request>,
    response: Response,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    #[serde(default)]
    pub(crate) method: String,
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) headers: Value,
    pub(crate) body: Option<Value>,
    /// Message bytes of a gRPC call.
    pub(crate) message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Response {
    #[serde(default)]
    pub(crate) status: u16,
    /// Whether the peer aborted the exchange.
    #[serde(default)]
    pub(crate) aborted: bool,
    pub(crate) body: Option<Value>,
    pub(crate) events: Option<Vec<Value>>,
    pub(crate) sse: Option<String>,
    /// Status code, messages, status message and status details of a gRPC call.
    #[serde(default)]
    pub(crate) code: i32,
    #[serde(default)]
    pub(crate) messages: Vec<RecordedMessage>,
    pub(crate) text: Option<String>,
    pub(crate) details: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RecordedMessage {
    pub(crate) message: String,
}

/// Loads all fixtures, ordered by name.
pub(crate) fn load_all() -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut files = Vec::new();
    for version in ["0.2", "0.3", "1.0"] {
        collect_json_files(&root.join(version), &mut files);
    }
    files.sort();
    files.iter().map(|path| load(&root, path)).collect()
}

fn collect_json_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("fixture directory exists") {
        let path = entry.expect("fixture directory is readable").path();
        if path.is_dir() {
            collect_json_files(&path, files);
        } else if path.extension().is_some_and(|it| it == "json") {
            files.push(path);
        }
    }
}

fn load(root: &Path, path: &Path) -> Fixture {
    let name = path.strip_prefix(root).expect("path is below the root").display().to_string();
    let text = fs::read_to_string(path).expect("fixture is readable");
    let file: File = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    Fixture {
        version: file.protocol.parse().unwrap_or_else(|error| panic!("{name}: {error}")),
        binding: file.binding,
        operation: operation(&file.operation),
        request: file.request,
        response: file.response,
        name,
    }
}

fn operation(name: &str) -> Option<Operation> {
    Some(match name {
        "send_message" => Operation::SendMessage,
        "send_streaming_message" => Operation::SendStreamingMessage,
        "get_task" => Operation::GetTask,
        "list_tasks" => Operation::ListTasks,
        "cancel_task" => Operation::CancelTask,
        "subscribe_to_task" => Operation::SubscribeToTask,
        "create_push_config" => Operation::CreateTaskPushNotificationConfig,
        "get_push_config" => Operation::GetTaskPushNotificationConfig,
        "list_push_configs" => Operation::ListTaskPushNotificationConfigs,
        "delete_push_config" => Operation::DeleteTaskPushNotificationConfig,
        "get_extended_agent_card" => Operation::GetExtendedAgentCard,
        "get_agent_card" => Operation::GetAgentCard,
        "push_delivery" => return None,
        other => panic!("unknown operation {other}"),
    })
}
