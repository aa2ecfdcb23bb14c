//! Where and how a caller wants to be told about a task.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::wire;
use super::{PushConfigId, TaskId};
use crate::json::InvalidField;

/// A webhook for the events of one task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskPushNotificationConfig {
    /// The tenant the call is for.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// Its identifier within the task; the server makes one when there is none.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<PushConfigId>,
    /// The task; absent when it comes along with the message that begins one.
    #[serde(
        default,
        alias = "task_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_id: Option<TaskId>,
    /// Where the events are posted to.
    pub url: String,
    /// A text the receiver knows the sender by.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub token: Option<Secret>,
    /// How the sender authenticates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationInfo>,
}

impl TaskPushNotificationConfig {
    /// Checks what the protocol demands beyond the shape.
    ///
    /// # Errors
    /// The first field that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidField> {
        if self.url.is_empty() {
            return Err(InvalidField::missing("url"));
        }
        match &self.authentication {
            Some(it) if it.scheme.is_empty() => Err(InvalidField::missing("authentication.scheme")),
            _ => Ok(()),
        }
    }
}

/// How the sender of a notification authenticates: the two halves of an `Authorization` header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthenticationInfo {
    /// The HTTP authentication scheme, such as `Bearer`, in the caller's spelling.
    pub scheme: String,
    /// What goes behind it.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub credentials: Option<Secret>,
}

/// A text that must not be seen. `Debug` prints nothing of it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Takes a text as a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. Mind where it goes.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret")
    }
}

impl std::str::FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(text))
    }
}
