//! The text of a task, as it grows.

use std::collections::HashMap;

use latimer_protocol::{Artifact, ArtifactId, Part, StreamResponse};

/// What was told of each artifact, so that nothing is told twice.
#[derive(Debug, Default)]
pub(super) struct Texts(HashMap<ArtifactId, String>);

impl Texts {
    /// Tells what an event adds.
    pub(super) fn tell(&mut self, event: &StreamResponse, on_text: &mut impl FnMut(&str)) {
        match event {
            StreamResponse::Message(message) => said(&message.text(), on_text),
            StreamResponse::StatusUpdate(_) => {}
            StreamResponse::ArtifactUpdate(update) if update.append => {
                let text = text(&update.artifact);
                self.0.entry(update.artifact.artifact_id.clone()).or_default().push_str(&text);
                said(&text, on_text);
            }
            StreamResponse::ArtifactUpdate(update) => self.whole(&update.artifact, on_text),
            StreamResponse::Task(task) => {
                task.artifacts.iter().for_each(|it| self.whole(it, on_text));
            }
        }
    }

    /// Tells what an artifact has more than before, or all of it where it is another one now.
    fn whole(&mut self, artifact: &Artifact, on_text: &mut impl FnMut(&str)) {
        let text = text(artifact);
        let told = self.0.entry(artifact.artifact_id.clone()).or_default();
        said(text.strip_prefix(told.as_str()).unwrap_or(&text), on_text);
        *told = text;
    }
}

fn said(text: &str, on_text: &mut impl FnMut(&str)) {
    if !text.is_empty() {
        on_text(text);
    }
}

/// The texts of an artifact as they are, without anything between them.
fn text(artifact: &Artifact) -> String {
    artifact.parts.iter().filter_map(Part::as_text).collect()
}

#[cfg(test)]
mod tests {
    use latimer_protocol::{ContextId, Task, TaskArtifactUpdateEvent, TaskId, TaskState};

    use super::*;

    #[test]
    fn a_text_is_told_once_however_it_comes() {
        let (id, name) = (TaskId::new("t").unwrap(), ArtifactId::new("a").unwrap());
        let piece = |text: &str, append| {
            let artifact = Artifact::new(name.clone(), Part::text(text));
            let update = TaskArtifactUpdateEvent::new(id.clone(), artifact);
            StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent { append, ..update })
        };
        let mut task = Task::new(id.clone(), ContextId::new("c").unwrap(), TaskState::Working);
        task.artifacts = vec![Artifact::new(name.clone(), Part::text("one two three")).into()];
        let (mut texts, mut told) = (Texts::default(), Vec::new());
        for event in [
            piece("one", false),
            piece(" two", true),
            StreamResponse::Task(task),
            piece(" four", true),
            piece("other", false),
        ] {
            texts.tell(&event, &mut |text: &str| told.push(text.to_owned()));
        }
        assert_eq!(told, ["one", " two", " three", " four", "other"]);
    }
}
