//! Webhook without its task, which all formats of 0.3 and 0.1 encode identically.

use serde::Serialize;

use crate::model::{PushConfigId, Secret, TaskPushNotificationConfig};

#[derive(Serialize)]
pub(in crate::dialect) struct PushTarget<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a PushConfigId>,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a Secret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication: Option<Authentication<'a>>,
}

#[derive(Serialize)]
struct Authentication<'a> {
    schemes: [&'a str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<&'a Secret>,
}

impl<'a> From<&'a TaskPushNotificationConfig> for PushTarget<'a> {
    fn from(config: &'a TaskPushNotificationConfig) -> Self {
        let authentication = config.authentication.as_ref().map(|it| Authentication {
            schemes: [it.scheme.as_str()],
            credentials: it.credentials.as_ref(),
        });
        Self {
            id: config.id.as_ref(),
            url: &config.url,
            token: config.token.as_ref(),
            authentication,
        }
    }
}

impl PushTarget<'_> {
    /// Removes the id, which 0.1 does not support.
    #[must_use]
    pub(in crate::dialect) fn without_id(self) -> Self {
        Self { id: None, ..self }
    }
}
