//! What our task has already of what the agent behind made.

use std::collections::HashSet;
use std::sync::Arc;

use latimer_protocol::{
    Artifact, ArtifactId, Message, MessageId, Metadata, Part, Role, Task, TaskState,
};

/// What our task has already.
#[derive(Debug, Default)]
pub(super) struct Told {
    artifacts: Vec<(ArtifactId, Vec<Part>)>,
    messages: HashSet<MessageId>,
    /// What was said last, for agents that give what they say another id each time.
    last: Vec<Part>,
    pub(super) state: TaskState,
    metadata: Metadata,
}

/// What has to be told of an artifact so that ours is like theirs.
#[derive(Debug, PartialEq)]
pub(super) enum News {
    /// Nothing.
    None,
    /// These parts more.
    More(Vec<Part>),
    /// All of it.
    All,
}

impl Told {
    /// What a task of ours has.
    pub(super) fn of(task: &Task) -> Self {
        let mut told =
            Self { state: task.status.state, metadata: task.metadata.clone(), ..Self::default() };
        for artifact in &task.artifacts {
            told.artifacts.push((artifact.artifact_id.clone(), artifact.parts.clone()));
        }
        for message in task.history.iter().chain(&task.status.message) {
            told.say(message);
        }
        told
    }

    /// Takes note of a message of the agent. False when it was told before.
    pub(super) fn say(&mut self, message: &Message) -> bool {
        if message.role == Role::Agent {
            self.last.clone_from(&message.parts);
        }
        self.messages.insert(message.message_id.clone())
    }

    /// Whether a message was told: it, or what it says as the last thing that was said.
    pub(super) fn has_said(&self, message: &Message) -> bool {
        self.messages.contains(&message.message_id) || self.last == message.parts
    }

    /// Whether there is such an artifact.
    pub(super) fn has(&self, id: &ArtifactId) -> bool {
        self.artifacts.iter().any(|(known, _)| known == id)
    }

    /// Takes note of an artifact, or of more of it.
    pub(super) fn add(&mut self, artifact: &Artifact, append: bool) {
        let parts = artifact.parts.iter().cloned();
        match self.artifacts.iter_mut().find(|(id, _)| *id == artifact.artifact_id) {
            Some((_, known)) if append => known.extend(parts),
            Some((_, known)) => *known = parts.collect(),
            None => self.artifacts.push((artifact.artifact_id.clone(), parts.collect())),
        }
    }

    /// What to tell of an artifact as it stands there.
    pub(super) fn news(&self, theirs: &Artifact) -> News {
        let known = self.artifacts.iter().find(|(id, _)| *id == theirs.artifact_id);
        let Some((_, ours)) = known else { return News::All };
        if let Some(more) = theirs.parts.strip_prefix(ours.as_slice()) {
            return if more.is_empty() { News::None } else { News::More(more.to_vec()) };
        }
        match (text(ours), text(&theirs.parts)) {
            (Some(ours), Some(all)) if ours == all => News::None,
            // It puts texts together that came one by one.
            (Some(ours), Some(all)) if all.starts_with(&ours) => {
                News::More(vec![Part::text(&all[ours.len()..])])
            }
            _ => News::All,
        }
    }

    /// The members of a task's metadata that ours has not.
    pub(super) fn news_of_metadata(&mut self, theirs: Metadata) -> Metadata {
        let known = self.metadata.clone();
        let news = theirs.into_iter().filter(|(name, value)| known.get(name) != Some(value));
        let news: Metadata = news.collect();
        self.metadata.extend(news.clone());
        news
    }
}

/// The messages of the agent in a history.
pub(super) fn of_agent(history: &[Arc<Message>]) -> impl Iterator<Item = &Arc<Message>> {
    history.iter().filter(|it| it.role == Role::Agent)
}

/// The text of parts, if they are nothing else.
fn text(parts: &[Part]) -> Option<String> {
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
    fn only_what_is_new_is_told() {
        let more = |texts: &[&str]| News::More(texts.iter().map(|it| Part::text(*it)).collect());
        for (ours, theirs, want) in [
            (None, &["one"][..], News::All),
            (Some(&["one", "two"][..]), &["one", "two"], News::None),
            (Some(&["one"]), &["one", "two", "three"], more(&["two", "three"])),
            (Some(&["one", "two"]), &["onetwothree"], more(&["three"])),
            (Some(&["one", "two"]), &["onetwo"], News::None),
            (Some(&["one", "two"]), &["one"], News::All),
            (Some(&["one"]), &["other"], News::All),
        ] {
            let mut told = Told::default();
            if let Some(ours) = ours {
                told.add(&artifact(ours), false);
            }
            assert_eq!(told.news(&artifact(theirs)), want, "{ours:?} {theirs:?}");
        }
    }
}
