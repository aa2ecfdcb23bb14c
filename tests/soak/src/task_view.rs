//! What callers see of tasks, however it is spelled.

use serde_json::Value;

/// A task, an event of one, or a direct answer.
#[derive(Clone, Debug)]
pub struct TaskView(pub Value);

impl TaskView {
    /// What is in it: 1.0 says what it is with a name, 0.3 with a kind.
    fn inner(&self) -> &Value {
        let names = ["task", "message", "statusUpdate", "artifactUpdate"];
        names.iter().find_map(|it| self.0.get(it)).unwrap_or(&self.0)
    }

    /// The id of the task.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        let inner = self.inner();
        inner.get("taskId").or_else(|| inner.get("id")).and_then(Value::as_str)
    }

    /// The state of the task, as 0.3 spells it.
    #[must_use]
    pub fn state(&self) -> Option<String> {
        let state = self.inner().pointer("/status/state")?.as_str()?;
        Some(state.trim_start_matches("TASK_STATE_").to_lowercase().replace('_', "-"))
    }

    /// Whether it is a task as a whole.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.inner().get("id").is_some() && self.state().is_some()
    }

    /// Whether the task is over.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        let state = self.state().unwrap_or_default();
        ["completed", "canceled", "failed", "rejected"].contains(&&*state)
    }

    /// The numbers of the pieces in it, as the demonstration makes them: `chunk 3 of 7`.
    #[must_use]
    pub fn chunk_numbers(&self) -> Vec<u64> {
        self.texts()
            .iter()
            .filter_map(|it| it.strip_prefix("chunk ")?.split(' ').next()?.parse().ok())
            .collect()
    }

    /// What was answered, in words: the texts of artifacts, or of a direct answer.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        let parts = self.parts().into_iter();
        parts.filter_map(|it| it.get("text")?.as_str()).collect()
    }

    /// How long files are, in base64.
    #[must_use]
    pub fn file_lengths(&self) -> Vec<usize> {
        let raw = |it: &Value| {
            it.get("raw").or_else(|| it.pointer("/file/bytes"))?.as_str().map(str::len)
        };
        self.parts().into_iter().filter_map(raw).collect()
    }

    /// What the agent says about the state.
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
        for (name, value, task, state, pieces) in [
            (
                "a task of 1.0",
                json!({"task": {"id": "t", "status": new_status, "artifacts": [artifact]}}),
                Some("t"),
                Some("input-required"),
                vec![2],
            ),
            (
                "a task of 0.3",
                json!({"kind": "task", "id": "t", "status": old_status, "artifacts": [artifact]}),
                Some("t"),
                Some("input-required"),
                vec![2],
            ),
            (
                "an artifact of 1.0",
                json!({"artifactUpdate": {"taskId": "t", "artifact": artifact}}),
                Some("t"),
                None,
                vec![2],
            ),
            (
                "a status of 0.3",
                json!({"kind": "status-update", "taskId": "t", "status": old_status}),
                Some("t"),
                Some("input-required"),
                vec![],
            ),
            (
                "a direct answer",
                json!({"message": {"messageId": "m", "parts": [{"text": "good day"}]}}),
                None,
                None,
                vec![],
            ),
        ] {
            let view = TaskView(value);
            assert_eq!(view.task_id(), task, "{name}");
            assert_eq!(view.state().as_deref(), state, "{name}");
            assert_eq!(view.chunk_numbers(), pieces, "{name}");
            assert_eq!(view.is_task(), name.contains("a task"), "{name}");
        }
    }
}
