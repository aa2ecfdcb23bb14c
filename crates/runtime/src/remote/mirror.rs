//! Content of the upstream task that the local task already contains.

use std::collections::HashSet;
use std::sync::Arc;

use latimer_protocol::{
    Artifact, ArtifactId, Message, MessageId, Metadata, Part, Role, Task, TaskState,
};

/// Content of the local task, to compute what an upstream snapshot adds.
#[derive(Debug, Default)]
pub(super) struct MirrorState {
    artifacts: Vec<(ArtifactId, Vec<Part>)>,
    messages: HashSet<MessageId>,
    /// Parts of the last agent message, for agents that assign a new id to a message each time.
    last_agent_parts: Vec<Part>,
    pub(super) state: TaskState,
    metadata: Metadata,
}

/// Difference between the local and the upstream version of an artifact.
#[derive(Debug, PartialEq)]
pub(super) enum ArtifactDelta {
    /// No difference.
    Unchanged,
    /// The upstream artifact has these additional parts.
    Append(Vec<Part>),
    /// The upstream artifact replaces the local one, or is new.
    Replace,
}

impl MirrorState {
    /// Creates the state of a local task.
    pub(super) fn from_task(task: &Task) -> Self {
        let mut mirror =
            Self { state: task.status.state, metadata: task.metadata.clone(), ..Self::default() };
        for artifact in &task.artifacts {
            mirror.artifacts.push((artifact.artifact_id.clone(), artifact.parts.clone()));
        }
        for message in task.history.iter().chain(&task.status.message) {
            mirror.record_message(message);
        }
        mirror
    }

    /// Records a message. Returns whether it is new.
    pub(super) fn record_message(&mut self, message: &Message) -> bool {
        if message.role == Role::Agent {
            self.last_agent_parts.clone_from(&message.parts);
        }
        self.messages.insert(message.message_id.clone())
    }

    /// Returns whether a message was recorded, or has the same parts as the last agent message.
    pub(super) fn has_message(&self, message: &Message) -> bool {
        self.messages.contains(&message.message_id) || self.last_agent_parts == message.parts
    }

    /// Returns whether an artifact with this id was recorded.
    pub(super) fn has_artifact(&self, id: &ArtifactId) -> bool {
        self.artifacts.iter().any(|(existing, _)| existing == id)
    }

    /// Records an artifact, or parts appended to it.
    pub(super) fn record_artifact(&mut self, artifact: &Artifact, append: bool) {
        let parts = artifact.parts.iter().cloned();
        match self.artifacts.iter_mut().find(|(id, _)| *id == artifact.artifact_id) {
            Some((_, recorded)) if append => recorded.extend(parts),
            Some((_, recorded)) => *recorded = parts.collect(),
            None => self.artifacts.push((artifact.artifact_id.clone(), parts.collect())),
        }
    }

    /// Compares the recorded artifact with the upstream one.
    pub(super) fn artifact_delta(&self, upstream: &Artifact) -> ArtifactDelta {
        let recorded = self.artifacts.iter().find(|(id, _)| *id == upstream.artifact_id);
        let Some((_, local)) = recorded else { return ArtifactDelta::Replace };
        if let Some(appended) = upstream.parts.strip_prefix(local.as_slice()) {
            return if appended.is_empty() {
                ArtifactDelta::Unchanged
            } else {
                ArtifactDelta::Append(appended.to_vec())
            };
        }
        match (text_if_only_text(local), text_if_only_text(&upstream.parts)) {
            (Some(local_text), Some(upstream_text)) if local_text == upstream_text => {
                ArtifactDelta::Unchanged
            }
            // The agent joins text parts that it sent separately.
            (Some(local_text), Some(upstream_text)) if upstream_text.starts_with(&local_text) => {
                ArtifactDelta::Append(vec![Part::text(&upstream_text[local_text.len()..])])
            }
            _ => ArtifactDelta::Replace,
        }
    }

    /// Records upstream metadata and returns the members that are new or changed.
    pub(super) fn metadata_delta(&mut self, upstream: Metadata) -> Metadata {
        let recorded = self.metadata.clone();
        let changed =
            upstream.into_iter().filter(|(name, value)| recorded.get(name) != Some(value));
        let changed: Metadata = changed.collect();
        self.metadata.extend(changed.clone());
        changed
    }
}

/// Returns the agent messages of a history.
pub(super) fn agent_messages(history: &[Arc<Message>]) -> impl Iterator<Item = &Arc<Message>> {
    history.iter().filter(|it| it.role == Role::Agent)
}

/// Returns the concatenated text of parts that are all text.
fn text_if_only_text(parts: &[Part]) -> Option<String> {
    parts.iter().map(Part::as_text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(texts: &[&str]) -> Artifact {
        let mut artifact = Artifact::new(ArtifactId::new("a").unwrap(), Part::text(""));
        artifact.parts = texts.iter().map(|it| Part::text(*it)).collect();
        artifact
    }

    #[test]
    fn artifact_delta_contains_only_new_parts() {
        let append = |texts: &[&str]| {
            ArtifactDelta::Append(texts.iter().map(|it| Part::text(*it)).collect())
        };
        for (local, upstream, want) in [
            (None, &["one"][..], ArtifactDelta::Replace),
            (Some(&["one", "two"][..]), &["one", "two"], ArtifactDelta::Unchanged),
            (Some(&["one"]), &["one", "two", "three"], append(&["two", "three"])),
            (Some(&["one", "two"]), &["onetwothree"], append(&["three"])),
            (Some(&["one", "two"]), &["onetwo"], ArtifactDelta::Unchanged),
            (Some(&["one", "two"]), &["one"], ArtifactDelta::Replace),
            (Some(&["one"]), &["other"], ArtifactDelta::Replace),
        ] {
            let mut mirror = MirrorState::default();
            if let Some(local) = local {
                mirror.record_artifact(&artifact(local), false);
            }
            assert_eq!(mirror.artifact_delta(&artifact(upstream)), want, "{local:?} {upstream:?}");
        }
    }
}
