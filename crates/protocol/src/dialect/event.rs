//! The events of a stream.

use std::collections::HashMap;

use serde::Serialize;

use super::{Dialect, v0_1, v0_3};
use crate::error::Error;
use crate::json::write;
use crate::model::{ArtifactId, Metadata, StreamResponse, Task, TaskArtifactUpdateEvent};
use crate::service::Request;
use crate::version::Version;

/// Whether a stream goes on behind an event. Before 1.0 the event says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// More may come.
    Continues,
    /// It was the last one.
    Closes,
}

/// Writes the events of one stream.
///
/// In most dialects an event is written the same for every reader, and may be shared among them: see
/// [`EventWriter::is_shared`]. In 0.1 artifacts have numbers, so a stream must know its task.
#[derive(Clone, Debug)]
pub struct EventWriter {
    dialect: Dialect,
    asked: v0_1::Asked,
    /// The number of each artifact: its place in the task.
    places: HashMap<ArtifactId, usize>,
}

impl EventWriter {
    /// A writer for the answer to `request`. `task` is the task as the reader knows it, when it
    /// resumes.
    #[must_use]
    pub fn new(dialect: Dialect, request: &Request, task: Option<&Task>) -> Self {
        let mut writer = Self { dialect, asked: request.into(), places: HashMap::new() };
        if let Some(task) = task {
            writer.know(task);
        }
        writer
    }

    /// Whether what is written depends on the dialect, the event and what comes then, and on
    /// nothing else.
    #[must_use]
    pub fn is_shared(dialect: Dialect) -> bool {
        dialect.version() != Version::V0_1
    }

    /// Writes one event, as one or several.
    ///
    /// # Errors
    /// When the dialect has no way to say it.
    pub fn write(&mut self, event: &StreamResponse, then: Then) -> Result<Vec<Vec<u8>>, Error> {
        match Self::write_shared(self.dialect, event, then) {
            Some(written) => Ok(vec![written]),
            None => self.write_numbered(event, then),
        }
    }

    /// Writes one event in a dialect whose events are [shared](Self::is_shared); none in another.
    pub(crate) fn write_shared(
        dialect: Dialect,
        event: &StreamResponse,
        then: Then,
    ) -> Option<Vec<u8>> {
        Some(match dialect {
            Dialect::V1_0 => one(event),
            Dialect::V0_3 => one(&v0_3::json::Event::of(event, then)),
            Dialect::V0_3Proto => one(&v0_3::protojson::Event::of(event, then)),
            Dialect::V0_1 | Dialect::Oldest => return None,
        })
    }

    fn write_numbered(
        &mut self,
        event: &StreamResponse,
        then: Then,
    ) -> Result<Vec<Vec<u8>>, Error> {
        match event {
            StreamResponse::Task(task) => Ok(self.write_task(task, then)),
            StreamResponse::Message(message) => {
                Ok(self.write_task(&v0_1::as_task(message, &self.asked)?, then))
            }
            StreamResponse::StatusUpdate(it) => {
                Ok(vec![v0_1::write_status(&it.task_id, &it.status, &it.metadata, then)])
            }
            StreamResponse::ArtifactUpdate(update) => {
                let place = self.place(&update.artifact.artifact_id);
                Ok(vec![v0_1::write_artifact(update, place)])
            }
        }
    }

    /// A whole task has no place in a stream of 0.1: it becomes its artifacts and its status.
    fn write_task(&mut self, task: &Task, then: Then) -> Vec<Vec<u8>> {
        self.know(task);
        let artifacts = task.artifacts.iter().enumerate();
        let mut events: Vec<_> = artifacts
            .map(|(place, artifact)| {
                let update = TaskArtifactUpdateEvent::new(task.id.clone(), artifact.clone());
                v0_1::write_artifact(&update, place)
            })
            .collect();
        events.push(v0_1::write_status(&task.id, &task.status, &Metadata::new(), then));
        events
    }

    fn know(&mut self, task: &Task) {
        for artifact in &task.artifacts {
            self.place(&artifact.artifact_id);
        }
    }

    fn place(&mut self, artifact: &ArtifactId) -> usize {
        let next = self.places.len();
        *self.places.entry(artifact.clone()).or_insert(next)
    }
}

fn one(event: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(super::ROOM);
    write(&mut out, event);
    out
}
