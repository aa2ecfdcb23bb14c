//! What our task has already of what the agent behind made.

use std::collections::HashSet;
use std::sync::Arc;

use latimer_protocol::{
    Artifact, ArtifactId, Message, MessageId, Metadata, Part, Role, Task, TaskState,
};

/// What our task has already.
#[derive(Debug, Default)]
pub(super) struct MirrorState {
    artifacts: Vec<(ArtifactId, Vec<Part>)>,
    messages: HashSet<MessageId>,
    /// What was said last, for agents that give what they say another id each time.
    last_agent_parts: Vec<Part>,
    pub(super) state: TaskState,
    metadata: Metadata,
}

/// What has to be told of an artifact so that ours is like theirs.
#[derive(Debug, PartialEq)]
pub(super) enum ArtifactDelta {
    /// Nothing.
    Unchanged,
    /// These parts more.
    Append(Vec<Part>),
    /// All of it.
    Replace,
}

impl MirrorState {
    /// What a task of ours has.
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

    /// Takes note of a message of the agent. False when it was told before.
    pub(super) fn record_message(&mut self, message: &Message) -> bool {
        if message.role == Role::Agent {
            self.last_agent_parts.clone_from(&message.parts);
        }
        self.messages.insert(message.message_id.clone())
    }

    /// Whether a message was told: it, or what it says as the last thing that was said.
    pub(super) fn has_message(&self, message: &Message) -> bool {
        self.messages.contains(&message.message_id) || self.last_agent_parts == message.parts
    }

    /// Whether there is such an artifact.
    pub(super) fn has_artifact(&self, id: &ArtifactId) -> bool {
        self.artifacts.iter().any(|(existing, _)| existing == id)
    }

    /// Takes note of an artifact, or of more of it.
    pub(super) fn record_artifact(&mut self, artifact: &Artifact, append: bool) {
        let parts = artifact.parts.iter().cloned();
        match self.artifacts.iter_mut().find(|(id, _)| *id == artifact.artifact_id) {
            Some((_, recorded)) if append => recorded.extend(parts),
            Some((_, recorded)) => *recorded = parts.collect(),
            None => self.artifacts.push((artifact.artifact_id.clone(), parts.collect())),
        }
    }

    /// What to tell of an artifact as it stands there.
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
            // It puts texts together that came one by one.
            (Some(local_text), Some(upstream_text)) if upstream_text.starts_with(&local_text) => {
                ArtifactDelta::Append(vec![Part::text(&upstream_text[local_text.len()..])])
            }
            _ => ArtifactDelta::Replace,
        }
    }

    /// The members of a task's metadata that ours has not.
    pub(super) fn metadata_delta(&mut self, upstream: Metadata) -> Metadata {
        let recorded = self.metadata.clone();
        let changed =
            upstream.into_iter().filter(|(name, value)| recorded.get(name) != Some(value));
        let changed: Metadata = changed.collect();
        self.metadata.extend(changed.clone());
        changed
    }
}

/// The messages of the agent in a history.
pub(super) fn agent_messages(history: &[Arc<Message>]) -> impl Iterator<Item = &Arc<Message>> {
    history.iter().filter(|it| it.role == Role::Agent)
}

/// The text of parts, if they are nothing else.
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
