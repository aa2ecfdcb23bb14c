//! An artifact made piece by piece.

use latimer_protocol::{Artifact, ArtifactId, Part, TaskArtifactUpdateEvent};

use super::{Turn, TurnError};

/// Makes one artifact piece by piece. Readers see each piece as it comes.
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

    /// The same artifact under another id, to go on with one that was begun in an earlier turn.
    #[must_use]
    pub fn with_id(mut self, id: ArtifactId) -> Self {
        self.id = id;
        self.started = true;
        self
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &ArtifactId {
        &self.id
    }

    /// Adds a piece.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn push(&mut self, part: impl Into<Part>) -> Result<(), TurnError> {
        self.send(part.into(), false).await
    }

    /// Adds the last piece, and says that it is the last. An artifact may do without one: the end of
    /// the task is the end of its artifacts.
    ///
    /// # Errors
    /// When the turn is over.
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
