//! Limitations of SDKs, each as a change of the model.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latimer_protocol::card::{AgentCard, OAuthFlows, SecurityScheme};
use latimer_protocol::{
    Artifact, Content, Message, Metadata, Part, Request, SendMessageResponse, StreamResponse, Task,
    TaskStatus, Timestamp,
};
use serde_json::{Value, json};

use crate::arbitrary::ComparableReply;

/// Change that makes a model representable by an SDK, or that an SDK applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelChange {
    /// Removes the task references of messages.
    References,
    /// Removes the metadata of parts. Without its marker, wrapped data stays wrapped.
    PartMetadata,
    /// Removes file names.
    FileNames,
    /// Replaces file bytes by their base64 text.
    BytesAsText,
    /// Removes the extensions of artifacts.
    ArtifactExtensions,
    /// Clears `append` in artifact updates.
    Append,
    /// Removes the history length from messages to send.
    HistoryLength,
    /// Adds a configuration to messages to send.
    Configuration,
    /// Replaces `null` as the value of a data part.
    NullData,
    /// Replaces `null` in all JSON values.
    Nulls,
    /// Moves timestamps before 1970 to after 1970.
    Times,
    /// Restricts the locations of API keys to those that the 0.3 schema lists.
    KeyLocations,
    /// Removes OAuth members that 0.3 lacks. Latimer writes them, and most 0.3 readers ignore them.
    OAuth,
    /// Removes security features that 0.2 lacks: mutual TLS, which it rejects, the OAuth metadata
    /// URL, and requirements of skills.
    Security,
    /// Removes the icon of cards.
    Icon,
    /// Replaces missing capabilities by `false` and empty URLs by missing ones.
    Defaults,
    /// Removes security requirements.
    Requirements,
    /// Removes requirements without scopes.
    NoScopes,
    /// Removes requirements of a scheme named `schemes`.
    Schemes,
}

impl ModelChange {
    fn metadata(self, metadata: &mut Metadata) {
        metadata.values_mut().for_each(|it| self.json(it));
    }

    fn json(self, value: &mut Value) {
        match value {
            Value::Null if self == Self::Nulls => *value = false.into(),
            Value::Array(items) => items.iter_mut().for_each(|it| self.json(it)),
            Value::Object(members) => members.values_mut().for_each(|it| self.json(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn part(self, part: &mut Part) {
        self.metadata(&mut part.metadata);
        if let Content::Data(value) = &mut part.content {
            self.json(value);
        }
        match self {
            Self::PartMetadata => {
                part.metadata.clear();
                if let Content::Data(value) = &mut part.content
                    && !value.is_object()
                {
                    **value = json!({ "value": value.take() });
                }
            }
            Self::FileNames => part.filename = None,
            Self::BytesAsText => {
                if let Content::Raw(bytes) = &mut part.content {
                    *bytes = STANDARD.encode(&bytes).into();
                }
            }
            Self::NullData if part.content == Part::data(Value::Null).content => {
                part.content = Part::data(false).content;
            }
            _ => {}
        }
    }

    fn message(self, message: &mut Message) {
        self.metadata(&mut message.metadata);
        if self == Self::References {
            message.reference_task_ids.clear();
        }
        message.parts.iter_mut().for_each(|it| self.part(it));
    }

    fn artifact(self, artifact: &mut Artifact) {
        self.metadata(&mut artifact.metadata);
        if self == Self::ArtifactExtensions {
            artifact.extensions.clear();
        }
        artifact.parts.iter_mut().for_each(|it| self.part(it));
    }

    fn status(self, status: &mut TaskStatus) {
        status.timestamp = status.timestamp.map(|it| self.time(it));
        status.message.iter_mut().for_each(|it| self.message(Arc::make_mut(it)));
    }

    fn time(self, time: Timestamp) -> Timestamp {
        match self {
            Self::Times => Timestamp::from_millis(time.as_millis().abs()).expect("in range"),
            _ => time,
        }
    }

    fn task(self, task: &mut Task) {
        self.metadata(&mut task.metadata);
        self.status(&mut task.status);
        task.history.iter_mut().for_each(|it| self.message(Arc::make_mut(it)));
        task.artifacts.iter_mut().for_each(|it| self.artifact(Arc::make_mut(it)));
    }

    pub(super) fn request(self, request: &mut Request) {
        match request {
            Request::SendMessage(it) | Request::SendStreamingMessage(it) => {
                self.metadata(&mut it.metadata);
                self.message(&mut it.message);
                if let (Self::HistoryLength, Some(configuration)) = (self, &mut it.configuration) {
                    configuration.history_length = None;
                }
                if self == Self::Configuration {
                    it.configuration.get_or_insert_default();
                }
            }
            Request::ListTasks(it) => {
                it.status_timestamp_after = it.status_timestamp_after.map(|it| self.time(it));
            }
            _ => {}
        }
    }

    pub(super) fn reply(self, reply: &mut ComparableReply) {
        match reply {
            ComparableReply::SendMessage(SendMessageResponse::Message(it)) => self.message(it),
            ComparableReply::SendMessage(SendMessageResponse::Task(it)) => {
                self.task(std::sync::Arc::make_mut(it))
            }
            ComparableReply::Task(it) => self.task(it),
            ComparableReply::TaskList(page) => page.tasks.iter_mut().for_each(|it| self.task(it)),
            ComparableReply::PushConfig(_) | ComparableReply::PushConfigList(_) => {}
        }
    }

    pub(super) fn event(self, event: &mut StreamResponse) {
        match event {
            StreamResponse::Task(it) => self.task(it),
            StreamResponse::Message(it) => self.message(it),
            StreamResponse::StatusUpdate(it) => {
                self.metadata(&mut it.metadata);
                self.status(&mut it.status);
            }
            StreamResponse::ArtifactUpdate(it) => {
                self.metadata(&mut it.metadata);
                it.append &= self != Self::Append;
                self.artifact(Arc::make_mut(&mut it.artifact));
            }
        }
    }

    pub(super) fn card(self, card: &mut AgentCard) {
        card.capabilities.extensions.iter_mut().for_each(|it| self.metadata(&mut it.params));
        if self == Self::Icon {
            card.icon_url = None;
        }
        if self == Self::Defaults {
            card.documentation_url = card.documentation_url.take().filter(|it| !it.is_empty());
            card.capabilities.streaming.get_or_insert(false);
            card.capabilities.push_notifications.get_or_insert(false);
        }
        if self == Self::Security {
            card.skills.iter_mut().for_each(|it| it.security_requirements.clear());
        }
        card.security_schemes.retain(|_, scheme| self.scheme(scheme));
        let skills = card.skills.iter_mut().flat_map(|it| &mut it.security_requirements);
        for requirement in card.security_requirements.iter_mut().chain(skills) {
            requirement.schemes.retain(|name, scopes| match self {
                Self::Requirements => false,
                Self::NoScopes => !scopes.is_empty(),
                Self::Schemes => name != "schemes",
                _ => true,
            });
        }
    }

    /// Changes a scheme; returns false if the scheme must be removed.
    fn scheme(self, scheme: &mut SecurityScheme) -> bool {
        match (self, scheme) {
            (Self::KeyLocations, SecurityScheme::ApiKey(key)) => key.location = "header".to_owned(),
            (Self::Security, SecurityScheme::MutualTls(_)) => return false,
            (Self::Security, SecurityScheme::OAuth2(oauth)) => oauth.oauth2_metadata_url = None,
            (Self::OAuth, SecurityScheme::OAuth2(oauth)) => match &mut oauth.flows {
                OAuthFlows::AuthorizationCode(flow) => flow.pkce_required = false,
                OAuthFlows::DeviceCode(_) => return false,
                _ => {}
            },
            _ => {}
        }
        true
    }
}
