//! Version-independent view of tasks, events and direct replies.

use serde_json::Value;

/// JSON of a task, a task event or a direct reply, in any protocol version.
#[derive(Clone, Debug)]
pub struct TaskView(pub Value);

impl TaskView {
    /// Returns the payload: 1.0 wraps it in a member named after its type, 0.3 has a member `kind`.
    fn inner(&self) -> &Value {
        let names = ["task", "message", "statusUpdate", "artifactUpdate"];
        names.iter().find_map(|it| self.0.get(it)).unwrap_or(&self.0)
    }

    /// Returns the id of the task, if the payload belongs to one.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        let inner = self.inner();
        inner.get("taskId").or_else(|| inner.get("id")).and_then(Value::as_str)
    }

    /// Returns the state of the task in the notation of 0.3, such as `input-required`.
    #[must_use]
    pub fn state(&self) -> Option<String> {
        let state = self.inner().pointer("/status/state")?.as_str()?;
        Some(state.trim_start_matches("TASK_STATE_").to_lowercase().replace('_', "-"))
    }

    /// Returns whether the payload is a complete task rather than an event or a direct reply.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.inner().get("id").is_some() && self.state().is_some()
    }

    /// Returns whether the task is in a terminal state.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        let state = self.state().unwrap_or_default();
        ["completed", "canceled", "failed", "rejected"].contains(&&*state)
    }

    /// Returns the numbers of the chunks in the payload, which the demo agent writes as `chunk 3 of
    /// 7`.
    #[must_use]
    pub fn chunk_numbers(&self) -> Vec<u64> {
        self.texts()
            .iter()
            .filter_map(|it| it.strip_prefix("chunk ")?.split(' ').next()?.parse().ok())
            .collect()
    }

    /// Returns the texts of all artifacts, or of a direct reply.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        let parts = self.parts().into_iter();
        parts.filter_map(|it| it.get("text")?.as_str()).collect()
    }

    /// Returns the lengths of all files, in base64 characters.
    #[must_use]
    pub fn file_lengths(&self) -> Vec<usize> {
        let raw = |it: &Value| {
            it.get("raw").or_else(|| it.pointer("/file/bytes"))?.as_str().map(str::len)
        };
        self.parts().into_iter().filter_map(raw).collect()
    }

    /// Returns the text of the status message.
    #[must_use]
    pub fn status_text(&self) -> Option<&str> {
        self.inner().pointer("/status/message/parts/0/text")?.as_str()
    }

    fn parts(&self) -> Vec<&Value> {
        let inner = self.inner();
        let artifacts = inner.get("artifacts").and_then(Value::as_array);
        let own_parts = [inner.get("artifact"), Some(inner)].into_iter().flatten();
        let holders = artifacts.into_iter().flatten().chain(own_parts);
        holders.filter_map(|it| it.get("parts")?.as_array()).flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn task_view_reads_every_wire_format() {
        let new_status = json!({"state": "TASK_STATE_INPUT_REQUIRED"});
        let old_status = json!({"state": "input-required"});
        let artifact = json!({"parts": [{"text": "chunk 2 of 7\n"}]});
        for (name, value, task, state, chunks) in [
            (
                "1.0 task",
                json!({"task": {"id": "t", "status": new_status, "artifacts": [artifact]}}),
                Some("t"),
                Some("input-required"),
                vec![2],
            ),
            (
                "0.3 task",
                json!({"kind": "task", "id": "t", "status": old_status, "artifacts": [artifact]}),
                Some("t"),
                Some("input-required"),
                vec![2],
            ),
            (
                "1.0 artifact",
                json!({"artifactUpdate": {"taskId": "t", "artifact": artifact}}),
                Some("t"),
                None,
                vec![2],
            ),
            (
                "0.3 status",
                json!({"kind": "status-update", "taskId": "t", "status": old_status}),
                Some("t"),
                Some("input-required"),
                vec![],
            ),
            (
                "direct reply",
                json!({"message": {"messageId": "m", "parts": [{"text": "good day"}]}}),
                None,
                None,
                vec![],
            ),
        ] {
            let view = TaskView(value);
            assert_eq!(view.task_id(), task, "{name}");
            assert_eq!(view.state().as_deref(), state, "{name}");
            assert_eq!(view.chunk_numbers(), chunks, "{name}");
            assert_eq!(view.is_task(), name.ends_with("task"), "{name}");
        }
    }
}
