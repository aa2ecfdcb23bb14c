//! How a caller authenticates, as a card says it: what this version has of its own.

use latimer_pb::v0_3 as pb;
use pb::o_auth_flows::Flow;

use crate::card::{AuthorizationCodeOAuthFlow, OAuthFlows, SecurityRequirement};
use crate::dialect::field::{filled, named, optional, text};
use crate::json::Invalid;

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
                    refresh_url: text(it.refresh_url.as_deref()),
                    scopes: it.scopes.clone(),
                }))
            }
            OAuthFlows::ClientCredentials(it) => Some(Flow::ClientCredentials(it.into())),
            OAuthFlows::Implicit(it) => Some(Flow::Implicit(it.into())),
            OAuthFlows::Password(it) => Some(Flow::Password(it.into())),
            // Came with 1.0. Without it the scheme still says that a bearer token is wanted.
            OAuthFlows::DeviceCode(_) => None,
        };
        Self { flow }
    }
}

impl TryFrom<pb::OAuthFlows> for OAuthFlows {
    type Error = Invalid;

    fn try_from(flows: pb::OAuthFlows) -> Result<Self, Invalid> {
        match flows.flow {
            Some(Flow::AuthorizationCode(it)) => {
                named(it.try_into().map(Self::AuthorizationCode), "authorizationCode")
            }
            Some(Flow::ClientCredentials(it)) => {
                named(it.try_into().map(Self::ClientCredentials), "clientCredentials")
            }
            Some(Flow::Implicit(it)) => Ok(Self::Implicit(it.into())),
            Some(Flow::Password(it)) => Ok(Self::Password(it.into())),
            None => Err(Invalid::new("", "must have exactly one flow")),
        }
    }
}

impl TryFrom<pb::AuthorizationCodeOAuthFlow> for AuthorizationCodeOAuthFlow {
    type Error = Invalid;

    fn try_from(flow: pb::AuthorizationCodeOAuthFlow) -> Result<Self, Invalid> {
        Ok(Self {
            authorization_url: filled(flow.authorization_url, "authorizationUrl")?,
            token_url: filled(flow.token_url, "tokenUrl")?,
            refresh_url: optional(flow.refresh_url),
            scopes: flow.scopes,
            pkce_required: false,
        })
    }
}
