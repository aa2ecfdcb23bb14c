//! Artifacts written in chunks.

use latimer_protocol::{Artifact, ArtifactId, Part, TaskArtifactUpdateEvent};

use super::{Turn, TurnError};

/// Writes one artifact of a turn in chunks. Streams receive each chunk as its own event.
///
/// Dropping the writer leaves the artifact without a last chunk; readers then take the end of the
/// task as its end. Created by [`Turn::artifact`].
#[derive(Debug)]
pub struct ArtifactWriter {
    turn: Turn,
    id: ArtifactId,
    name: Option<String>,
    started: bool,
}

impl ArtifactWriter {
    pub(super) fn new(turn: Turn, id: ArtifactId, name: String) -> Self {
        Self { turn, id, name: Some(name).filter(|it| !it.is_empty()), started: false }
    }

    /// Sets the artifact id and appends to that artifact, to continue one that an earlier turn
    /// started.
    #[must_use]
    pub fn with_id(mut self, id: ArtifactId) -> Self {
        self.id = id;
        self.started = true;
        self
    }

    /// Returns the artifact id.
    #[must_use]
    pub fn id(&self) -> &ArtifactId {
        &self.id
    }

    /// Appends a chunk. Waits while the outbox of the turn is full.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn push(&mut self, part: impl Into<Part>) -> Result<(), TurnError> {
        self.send(part.into(), false).await
    }

    /// Appends the last chunk and marks it as the last. Optional: the end of the task also ends its
    /// artifacts.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn push_last(mut self, part: impl Into<Part>) -> Result<(), TurnError> {
        self.send(part.into(), true).await
    }

    async fn send(&mut self, part: Part, last_chunk: bool) -> Result<(), TurnError> {
        let name = self.name.clone().filter(|_| !self.started);
        let artifact = Artifact { name, ..Artifact::new(self.id.clone(), part) };
        let append = std::mem::replace(&mut self.started, true);
        let update = TaskArtifactUpdateEvent::new(self.turn.task_id().clone(), artifact);
        self.turn.update_artifact(TaskArtifactUpdateEvent { append, last_chunk, ..update }).await
    }
}
