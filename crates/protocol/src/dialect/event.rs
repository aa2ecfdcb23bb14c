//! The events of a stream.

use std::collections::HashMap;

use serde::Serialize;

use super::{Dialect, v0_1, v0_3};
use crate::json::write;
use crate::model::{ArtifactId, Metadata, StreamResponse, Task, TaskArtifactUpdateEvent};
use crate::service::Request;
use crate::version::Version;

/// Whether a stream goes on behind an event. Before 1.0 the event says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finality {
    /// More may come.
    More,
    /// It was the last one.
    Last,
}

/// Writes the events of one stream.
///
/// In most dialects an event is written the same for every reader, and may be shared among them: see
/// [`EventWriter::is_reader_independent`]. In 0.1 artifacts have numbers, so a stream must know its task.
#[derive(Clone, Debug)]
pub struct EventWriter {
    dialect: Dialect,
    requested_ids: v0_1::RequestedIds,
    /// The number of each artifact: its place in the task.
    artifact_indices: HashMap<ArtifactId, usize>,
}

impl EventWriter {
    /// A writer for the answer to `request`. `task` is the task as the reader knows it, when it
    /// resumes.
    #[must_use]
    pub fn new(dialect: Dialect, request: &Request, task: Option<&Task>) -> Self {
        let mut writer =
            Self { dialect, requested_ids: request.into(), artifact_indices: HashMap::new() };
        if let Some(task) = task {
            writer.index_artifacts(task);
        }
        writer
    }

    /// Whether what is written depends on the dialect, the event and what comes then, and on
    /// nothing else.
    #[must_use]
    pub fn is_reader_independent(dialect: Dialect) -> bool {
        dialect.version() != Version::V0_1
    }

    /// Writes one event, as one or several.
    pub fn write(&mut self, event: &StreamResponse, finality: Finality) -> Vec<Vec<u8>> {
        match Self::write_reader_independent(self.dialect, event, finality) {
            Some(written) => vec![written],
            None => self.write_v0_1(event, finality),
        }
    }

    /// Writes one event in a dialect whose events are [shared](Self::is_reader_independent); none in another.
    pub(crate) fn write_reader_independent(
        dialect: Dialect,
        event: &StreamResponse,
        finality: Finality,
    ) -> Option<Vec<u8>> {
        Some(match dialect {
            Dialect::V1_0 => encode(event),
            Dialect::V0_3 => encode(&v0_3::json::Event::new(event, finality)),
            Dialect::V0_3Proto => encode(&v0_3::protojson::Event::new(event, finality)),
            Dialect::V0_1 | Dialect::Legacy => return None,
        })
    }

    fn write_v0_1(&mut self, event: &StreamResponse, finality: Finality) -> Vec<Vec<u8>> {
        match event {
            StreamResponse::Task(task) => self.write_task(task, finality),
            StreamResponse::Message(message) => {
                self.write_task(&v0_1::task_from_message(message, &self.requested_ids), finality)
            }
            StreamResponse::StatusUpdate(it) => {
                vec![v0_1::write_status(&it.task_id, &it.status, &it.metadata, finality)]
            }
            StreamResponse::ArtifactUpdate(update) => {
                let index = self.artifact_index(&update.artifact.artifact_id);
                vec![v0_1::write_artifact(update, index)]
            }
        }
    }

    /// A whole task has no place in a stream of 0.1: it becomes its artifacts and its status.
    fn write_task(&mut self, task: &Task, finality: Finality) -> Vec<Vec<u8>> {
        self.index_artifacts(task);
        let artifacts = task.artifacts.iter().enumerate();
        let mut events: Vec<_> = artifacts
            .map(|(index, artifact)| {
                let update = TaskArtifactUpdateEvent::new(task.id.clone(), artifact.clone());
                v0_1::write_artifact(&update, index)
            })
            .collect();
        events.push(v0_1::write_status(&task.id, &task.status, &Metadata::new(), finality));
        events
    }

    fn index_artifacts(&mut self, task: &Task) {
        for artifact in &task.artifacts {
            self.artifact_index(&artifact.artifact_id);
        }
    }

    fn artifact_index(&mut self, artifact: &ArtifactId) -> usize {
        let next = self.artifact_indices.len();
        *self.artifact_indices.entry(artifact.clone()).or_insert(next)
    }
}

fn encode(event: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(super::INITIAL_BUFFER_BYTES);
    write(&mut out, event);
    out
}
