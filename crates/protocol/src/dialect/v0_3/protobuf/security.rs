//! Security requirements and OAuth flows that differ from 1.0.

use latimer_pb::v0_3 as pb;
use pb::o_auth_flows::Flow;

use crate::card::{AuthorizationCodeOAuthFlow, OAuthFlows, SecurityRequirement};
use crate::dialect::field::{in_field, optional_text, required_text, text_or_empty};
use crate::json::InvalidField;

impl From<&SecurityRequirement> for pb::Security {
    fn from(requirement: &SecurityRequirement) -> Self {
        let schemes = requirement.schemes.iter();
        let schemes =
            schemes.map(|(name, list)| (name.clone(), pb::StringList { list: list.clone() }));
        Self { schemes: schemes.collect() }
    }
}

impl From<pb::Security> for SecurityRequirement {
    fn from(requirement: pb::Security) -> Self {
        let schemes = requirement.schemes.into_iter().map(|(name, scopes)| (name, scopes.list));
        Self { schemes: schemes.collect() }
    }
}

impl From<&OAuthFlows> for pb::OAuthFlows {
    fn from(flows: &OAuthFlows) -> Self {
        let flow = match flows {
            OAuthFlows::AuthorizationCode(it) => {
                Some(Flow::AuthorizationCode(pb::AuthorizationCodeOAuthFlow {
                    authorization_url: it.authorization_url.clone(),
                    token_url: it.token_url.clone(),
                    refresh_url: text_or_empty(it.refresh_url.as_deref()),
                    scopes: it.scopes.clone(),
                }))
            }
            OAuthFlows::ClientCredentials(it) => Some(Flow::ClientCredentials(it.into())),
            OAuthFlows::Implicit(it) => Some(Flow::Implicit(it.into())),
            OAuthFlows::Password(it) => Some(Flow::Password(it.into())),
            // Device code flows exist since 1.0. Without one, the scheme still requires a bearer
            // token.
            OAuthFlows::DeviceCode(_) => None,
        };
        Self { flow }
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
            pkce_required: false,
        })
    }
}
