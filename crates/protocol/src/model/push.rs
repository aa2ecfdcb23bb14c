//! Webhook configurations of tasks.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::wire;
use super::{PushConfigId, TaskId};
use crate::json::InvalidField;

/// Webhook that receives the events of one task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskPushNotificationConfig {
    /// Tenant that the call addresses.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// Identifier within the task; the server assigns one if it is absent.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<PushConfigId>,
    /// Task whose events are delivered; absent in the configuration of a message that creates a
    /// task.
    #[serde(
        default,
        alias = "task_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_id: Option<TaskId>,
    /// URL that events are posted to.
    pub url: String,
    /// Token that the server sends with each notification, so that the receiver can verify the
    /// sender.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub token: Option<Secret>,
    /// Credentials that the server presents to the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationInfo>,
}

impl TaskPushNotificationConfig {
    /// Checks the rules of the protocol that the types do not enforce.
    ///
    /// # Errors
    /// Returns the first field that violates a rule.
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

/// Content of the `Authorization` header of a notification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthenticationInfo {
    /// HTTP authentication scheme, such as `Bearer`, as the caller wrote it.
    pub scheme: String,
    /// Credentials that follow the scheme in the header.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub credentials: Option<Secret>,
}

/// String that must not appear in logs. `Debug` does not print its content.
///
/// ```
/// use latimer_protocol::Secret;
///
/// let secret = Secret::new("s3cret");
/// assert_eq!(format!("{secret:?}"), "Secret");
/// assert_eq!(secret.reveal(), "s3cret");
/// ```
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the secret string. The caller must not log it.
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
