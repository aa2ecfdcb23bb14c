//! Security requirements and OAuth flows that differ from 0.3.

use latimer_pb::v1 as pb;
use pb::o_auth_flows::Flow;

use crate::card::{
    AuthorizationCodeOAuthFlow, DeviceCodeOAuthFlow, OAuthFlows, SecurityRequirement,
};
use crate::dialect::field::{in_field, optional_text, required_text, text_or_empty};
use crate::json::InvalidField;

impl From<&SecurityRequirement> for pb::SecurityRequirement {
    fn from(requirement: &SecurityRequirement) -> Self {
        let schemes = requirement.schemes.iter();
        let schemes =
            schemes.map(|(name, list)| (name.clone(), pb::StringList { list: list.clone() }));
        Self { schemes: schemes.collect() }
    }
}

impl From<pb::SecurityRequirement> for SecurityRequirement {
    fn from(requirement: pb::SecurityRequirement) -> Self {
        let schemes = requirement.schemes.into_iter().map(|(name, scopes)| (name, scopes.list));
        Self { schemes: schemes.collect() }
    }
}

impl From<&OAuthFlows> for pb::OAuthFlows {
    fn from(flows: &OAuthFlows) -> Self {
        let flow = match flows {
            OAuthFlows::AuthorizationCode(it) => {
                Flow::AuthorizationCode(pb::AuthorizationCodeOAuthFlow {
                    authorization_url: it.authorization_url.clone(),
                    token_url: it.token_url.clone(),
                    refresh_url: text_or_empty(it.refresh_url.as_deref()),
                    scopes: it.scopes.clone(),
                    pkce_required: it.pkce_required,
                })
            }
            OAuthFlows::ClientCredentials(it) => Flow::ClientCredentials(it.into()),
            OAuthFlows::Implicit(it) => Flow::Implicit(it.into()),
            OAuthFlows::Password(it) => Flow::Password(it.into()),
            OAuthFlows::DeviceCode(it) => Flow::DeviceCode(pb::DeviceCodeOAuthFlow {
                device_authorization_url: it.device_authorization_url.clone(),
                token_url: it.token_url.clone(),
                refresh_url: text_or_empty(it.refresh_url.as_deref()),
                scopes: it.scopes.clone(),
            }),
        };
        Self { flow: Some(flow) }
    }
}

impl TryFrom<pb::OAuthFlows> for OAuthFlows {
    type Error = InvalidField;

    fn try_from(flows: pb::OAuthFlows) -> Result<Self, InvalidField> {
        match flows.flow {
            Some(Flow::AuthorizationCode(it)) => {
                in_field(it.try_into().map(Self::AuthorizationCode), "authorizationCode")
            }
            Some(Flow::ClientCredentials(it)) => {
                in_field(it.try_into().map(Self::ClientCredentials), "clientCredentials")
            }
            Some(Flow::Implicit(it)) => Ok(Self::Implicit(it.into())),
            Some(Flow::Password(it)) => Ok(Self::Password(it.into())),
            Some(Flow::DeviceCode(it)) => {
                in_field(it.try_into().map(Self::DeviceCode), "deviceCode")
            }
            None => Err(InvalidField::new("", "must have exactly one flow")),
        }
    }
}

impl TryFrom<pb::AuthorizationCodeOAuthFlow> for AuthorizationCodeOAuthFlow {
    type Error = InvalidField;

    fn try_from(flow: pb::AuthorizationCodeOAuthFlow) -> Result<Self, InvalidField> {
        Ok(Self {
            authorization_url: required_text(flow.authorization_url, "authorizationUrl")?,
            token_url: required_text(flow.token_url, "tokenUrl")?,
            refresh_url: optional_text(flow.refresh_url),
            scopes: flow.scopes,
            pkce_required: flow.pkce_required,
        })
    }
}

impl TryFrom<pb::DeviceCodeOAuthFlow> for DeviceCodeOAuthFlow {
    type Error = InvalidField;

    fn try_from(flow: pb::DeviceCodeOAuthFlow) -> Result<Self, InvalidField> {
        Ok(Self {
            device_authorization_url: required_text(
                flow.device_authorization_url,
                "deviceAuthorizationUrl",
            )?,
            token_url: required_text(flow.token_url, "tokenUrl")?,
            refresh_url: optional_text(flow.refresh_url),
            scopes: flow.scopes,
        })
    }
}
