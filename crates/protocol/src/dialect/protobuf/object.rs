//! Conversions of artifacts, tasks and their events.

use std::sync::Arc;

use latimer_pb::{v0_3, v1};

use crate::dialect::field::{
    convert_all, convert_all_shared, in_field, optional_id, optional_text, required, required_id,
    text_or_empty,
};
use crate::dialect::wellknown::{from_struct, to_struct};
use crate::json::InvalidField;
use crate::model::{Artifact, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent};

macro_rules! conversions {
    ($pb:ident) => {
        impl From<&Artifact> for $pb::Artifact {
            fn from(artifact: &Artifact) -> Self {
                Self {
                    artifact_id: artifact.artifact_id.to_string(),
                    name: text_or_empty(artifact.name.as_deref()),
                    description: text_or_empty(artifact.description.as_deref()),
                    parts: artifact.parts.iter().map(Into::into).collect(),
                    metadata: to_struct(&artifact.metadata),
                    extensions: artifact.extensions.clone(),
                }
            }
        }

        impl TryFrom<$pb::Artifact> for Artifact {
            type Error = InvalidField;

            fn try_from(artifact: $pb::Artifact) -> Result<Self, InvalidField> {
                Ok(Self {
                    artifact_id: required_id(&artifact.artifact_id, "artifactId")?,
                    name: optional_text(artifact.name),
                    description: optional_text(artifact.description),
                    parts: convert_all(artifact.parts, "parts")?,
                    metadata: from_struct(artifact.metadata, "metadata")?,
                    extensions: artifact.extensions,
                })
            }
        }

        impl From<&Task> for $pb::Task {
            fn from(task: &Task) -> Self {
                Self {
                    id: task.id.to_string(),
                    context_id: text_or_empty(task.context_id.as_ref().map(AsRef::as_ref)),
                    status: Some((&task.status).into()),
                    artifacts: task.artifacts.iter().map(|it| (&**it).into()).collect(),
                    history: task.history.iter().map(|it| (&**it).into()).collect(),
                    metadata: to_struct(&task.metadata),
                }
            }
        }

        impl TryFrom<$pb::Task> for Task {
            type Error = InvalidField;

            fn try_from(task: $pb::Task) -> Result<Self, InvalidField> {
                Ok(Self {
                    id: required_id(&task.id, "id")?,
                    context_id: optional_id(&task.context_id, "contextId")?,
                    status: in_field(required(task.status, "status")?.try_into(), "status")?,
                    artifacts: convert_all_shared(task.artifacts, "artifacts")?,
                    history: convert_all_shared(task.history, "history")?,
                    metadata: from_struct(task.metadata, "metadata")?,
                })
            }
        }

        impl TryFrom<$pb::TaskStatusUpdateEvent> for TaskStatusUpdateEvent {
            type Error = InvalidField;

            fn try_from(update: $pb::TaskStatusUpdateEvent) -> Result<Self, InvalidField> {
                Ok(Self {
                    task_id: required_id(&update.task_id, "taskId")?,
                    context_id: optional_id(&update.context_id, "contextId")?,
                    status: in_field(required(update.status, "status")?.try_into(), "status")?,
                    metadata: from_struct(update.metadata, "metadata")?,
                })
            }
        }

        impl From<&TaskArtifactUpdateEvent> for $pb::TaskArtifactUpdateEvent {
            fn from(update: &TaskArtifactUpdateEvent) -> Self {
                Self {
                    task_id: update.task_id.to_string(),
                    context_id: text_or_empty(update.context_id.as_ref().map(AsRef::as_ref)),
                    artifact: Some((&*update.artifact).into()),
                    append: update.append,
                    last_chunk: update.last_chunk,
                    metadata: to_struct(&update.metadata),
                }
            }
        }

        impl TryFrom<$pb::TaskArtifactUpdateEvent> for TaskArtifactUpdateEvent {
            type Error = InvalidField;

            fn try_from(update: $pb::TaskArtifactUpdateEvent) -> Result<Self, InvalidField> {
                let artifact = required(update.artifact, "artifact")?.try_into().map(Arc::new);
                Ok(Self {
                    task_id: required_id(&update.task_id, "taskId")?,
                    context_id: optional_id(&update.context_id, "contextId")?,
                    artifact: in_field(artifact, "artifact")?,
                    append: update.append,
                    last_chunk: update.last_chunk,
                    metadata: from_struct(update.metadata, "metadata")?,
                })
            }
        }
    };
}

conversions!(v0_3);
conversions!(v1);
