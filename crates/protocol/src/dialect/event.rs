//! Encoder for the events of a stream.

use std::collections::HashMap;

use serde::Serialize;

use super::{Dialect, v0_1, v0_3};
use crate::json::write;
use crate::model::{ArtifactId, Metadata, StreamResponse, Task, TaskArtifactUpdateEvent};
use crate::service::Request;
use crate::version::Version;

/// Whether more events follow in a stream. Events before 1.0 encode it as `final`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finality {
    /// More events may follow.
    More,
    /// The event is the last of its stream.
    Last,
}

/// Encodes the events of one stream.
///
/// In most dialects the encoding of an event does not depend on the reader and can be shared, see
/// [`EventWriter::is_reader_independent`]. 0.1 numbers the artifacts of a task, so the writer must
/// know the task.
#[derive(Clone, Debug)]
pub struct EventWriter {
    dialect: Dialect,
    requested_ids: v0_1::RequestedIds,
    /// Index of each artifact within the task.
    artifact_indices: HashMap<ArtifactId, usize>,
}

impl EventWriter {
    /// Creates a writer for the response to `request`. `task` is the task that a resuming reader
    /// already has.
    #[must_use]
    pub fn new(dialect: Dialect, request: &Request, task: Option<&Task>) -> Self {
        let mut writer =
            Self { dialect, requested_ids: request.into(), artifact_indices: HashMap::new() };
        if let Some(task) = task {
            writer.index_artifacts(task);
        }
        writer
    }

    /// Returns whether the encoding depends only on the dialect, the event and its finality.
    #[must_use]
    pub fn is_reader_independent(dialect: Dialect) -> bool {
        dialect.version() != Version::V0_1
    }

    /// Encodes one event, as one or more events of the dialect.
    pub fn write(&mut self, event: &StreamResponse, finality: Finality) -> Vec<Vec<u8>> {
        match Self::write_reader_independent(self.dialect, event, finality) {
            Some(written) => vec![written],
            None => self.write_v0_1(event, finality),
        }
    }

    /// Encodes one event in a dialect whose events are [shared](Self::is_reader_independent);
    /// returns `None` in other dialects.
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

    /// Encodes a task as its artifacts and its status, because 0.1 streams cannot contain a whole
    /// task.
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
