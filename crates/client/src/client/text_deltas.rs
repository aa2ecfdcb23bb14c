//! The text that each event adds to a task.

use std::collections::HashMap;

use latimer_protocol::{Artifact, ArtifactId, Part, StreamResponse};

/// Text of each artifact that was already emitted, so that each chunk is emitted once.
#[derive(Debug, Default)]
pub(super) struct TextDeltas(HashMap<ArtifactId, String>);

impl TextDeltas {
    /// Emits the text that an event adds.
    pub(super) fn emit(&mut self, event: &StreamResponse, on_text: &mut impl FnMut(&str)) {
        match event {
            StreamResponse::Message(message) => emit_text(&message.text(), on_text),
            StreamResponse::StatusUpdate(_) => {}
            StreamResponse::ArtifactUpdate(update) if update.append => {
                let text = artifact_text(&update.artifact);
                self.0.entry(update.artifact.artifact_id.clone()).or_default().push_str(&text);
                emit_text(&text, on_text);
            }
            StreamResponse::ArtifactUpdate(update) => self.emit_artifact(&update.artifact, on_text),
            StreamResponse::Task(task) => {
                task.artifacts.iter().for_each(|it| self.emit_artifact(it, on_text));
            }
        }
    }

    /// Emits the text that was appended to an artifact, or all of it if it was replaced.
    fn emit_artifact(&mut self, artifact: &Artifact, on_text: &mut impl FnMut(&str)) {
        let text = artifact_text(artifact);
        let emitted = self.0.entry(artifact.artifact_id.clone()).or_default();
        emit_text(text.strip_prefix(emitted.as_str()).unwrap_or(&text), on_text);
        *emitted = text;
    }
}

fn emit_text(text: &str, on_text: &mut impl FnMut(&str)) {
    if !text.is_empty() {
        on_text(text);
    }
}

/// Concatenates the text parts of an artifact.
fn artifact_text(artifact: &Artifact) -> String {
    artifact.parts.iter().filter_map(Part::as_text).collect()
}

#[cfg(test)]
mod tests {
    use latimer_protocol::{ContextId, Task, TaskArtifactUpdateEvent, TaskId, TaskState};

    use super::*;

    #[test]
    fn text_is_emitted_once_whatever_event_carries_it() {
        let (id, artifact_id) = (TaskId::new("t").unwrap(), ArtifactId::new("a").unwrap());
        let chunk = |text: &str, append| {
            let artifact = Artifact::new(artifact_id.clone(), Part::text(text));
            let update = TaskArtifactUpdateEvent::new(id.clone(), artifact);
            StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent { append, ..update })
        };
        let mut task = Task::new(id.clone(), ContextId::new("c").unwrap(), TaskState::Working);
        task.artifacts =
            vec![Artifact::new(artifact_id.clone(), Part::text("one two three")).into()];
        let (mut deltas, mut emitted) = (TextDeltas::default(), Vec::new());
        for event in [
            chunk("one", false),
            chunk(" two", true),
            StreamResponse::Task(task),
            chunk(" four", true),
            chunk("other", false),
        ] {
            deltas.emit(&event, &mut |text: &str| emitted.push(text.to_owned()));
        }
        assert_eq!(emitted, ["one", " two", " three", " four", "other"]);
    }
}
