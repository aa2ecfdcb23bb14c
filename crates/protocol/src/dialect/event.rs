//! The events of a stream.

use serde::Serialize;

use super::{Dialect, v0_1, v0_3};
use crate::error::Error;
use crate::json::write;
use crate::model::{
    ArtifactId, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent,
};
use crate::service::Request;
use crate::version::Version;

/// Writes the events of one stream.
///
/// In most dialects an event is written the same for every reader, and may be shared among them: see
/// [`EventWriter::is_shared`]. In 0.1 artifacts have numbers, so a stream must know its task.
#[derive(Clone, Debug)]
pub struct EventWriter {
    dialect: Dialect,
    request: Request,
    artifacts: Vec<ArtifactId>,
}

impl EventWriter {
    /// A writer for the answer to `request`. `task` is the task as the reader knows it, when it
    /// resumes.
    #[must_use]
    pub fn new(dialect: Dialect, request: Request, task: Option<&Task>) -> Self {
        let mut writer = Self { dialect, request, artifacts: Vec::new() };
        if let Some(task) = task {
            writer.know(task);
        }
        writer
    }

    /// Whether what is written depends on the dialect and the event alone.
    #[must_use]
    pub fn is_shared(dialect: Dialect) -> bool {
        dialect.version() != Version::V0_1
    }

    /// Writes one event, as one or several; `closes` when the stream ends with it.
    ///
    /// # Errors
    /// When the dialect has no way to say it.
    pub fn write(&mut self, event: &StreamResponse, closes: bool) -> Result<Vec<Vec<u8>>, Error> {
        Ok(match self.dialect {
            Dialect::V1_0 => one(event),
            Dialect::V0_3 => one(&v0_3::json::Event::of(event, closes)),
            Dialect::V0_3Proto => one(&v0_3::protojson::Event::of(event, closes)),
            Dialect::V0_1 | Dialect::Oldest => self.write_numbered(event, closes)?,
        })
    }

    fn write_numbered(
        &mut self,
        event: &StreamResponse,
        closes: bool,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let whole = match event {
            StreamResponse::Task(task) => task.clone(),
            StreamResponse::Message(message) => v0_1::answer(&self.request, message)?,
            StreamResponse::StatusUpdate(_) => {
                return Ok(vec![v0_1::write_event(event, 0, closes)]);
            }
            StreamResponse::ArtifactUpdate(update) => {
                let place = self.place(&update.artifact.artifact_id);
                return Ok(vec![v0_1::write_event(event, place, closes)]);
            }
        };
        self.know(&whole);
        let Task { id, status, artifacts, .. } = whole;
        let pieces = artifacts.into_iter().enumerate().map(|(place, artifact)| {
            let update = TaskArtifactUpdateEvent::new(id.clone(), artifact);
            v0_1::write_event(&StreamResponse::ArtifactUpdate(update), place, false)
        });
        let mut events: Vec<_> = pieces.collect();
        let status = StreamResponse::StatusUpdate(TaskStatusUpdateEvent::new(id.clone(), status));
        events.push(v0_1::write_event(&status, 0, closes));
        Ok(events)
    }

    fn know(&mut self, task: &Task) {
        for artifact in &task.artifacts {
            self.place(&artifact.artifact_id);
        }
    }

    fn place(&mut self, artifact: &ArtifactId) -> usize {
        let known = self.artifacts.iter().position(|it| it == artifact);
        known.unwrap_or_else(|| {
            self.artifacts.push(artifact.clone());
            self.artifacts.len() - 1
        })
    }
}

fn one(event: &impl Serialize) -> Vec<Vec<u8>> {
    let mut out = Vec::with_capacity(super::ROOM);
    write(&mut out, event);
    vec![out]
}
