//! How a caller authenticates, as a card says it.

use latimer_pb::v1 as pb;
use pb::o_auth_flows::Flow;
use pb::security_scheme::Scheme;

use crate::card::{
    ApiKeySecurityScheme, AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow,
    DeviceCodeOAuthFlow, HttpAuthSecurityScheme, ImplicitOAuthFlow, MutualTlsSecurityScheme,
    OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme, PasswordOAuthFlow,
    SecurityRequirement, SecurityScheme,
};
use crate::dialect::field::{filled, named, optional, required, text};
use crate::json::Invalid;

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

impl From<&SecurityScheme> for pb::SecurityScheme {
    fn from(scheme: &SecurityScheme) -> Self {
        let scheme = match scheme {
            SecurityScheme::ApiKey(it) => Scheme::ApiKeySecurityScheme(pb::ApiKeySecurityScheme {
                description: text(it.description.as_deref()),
                location: it.location.clone(),
                name: it.name.clone(),
            }),
            SecurityScheme::HttpAuth(it) => {
                Scheme::HttpAuthSecurityScheme(pb::HttpAuthSecurityScheme {
                    description: text(it.description.as_deref()),
                    scheme: it.scheme.clone(),
                    bearer_format: text(it.bearer_format.as_deref()),
                })
            }
            SecurityScheme::OAuth2(it) => Scheme::Oauth2SecurityScheme(pb::OAuth2SecurityScheme {
                description: text(it.description.as_deref()),
                flows: Some((&it.flows).into()),
                oauth2_metadata_url: text(it.oauth2_metadata_url.as_deref()),
            }),
            SecurityScheme::OpenIdConnect(it) => {
                Scheme::OpenIdConnectSecurityScheme(pb::OpenIdConnectSecurityScheme {
                    description: text(it.description.as_deref()),
                    open_id_connect_url: it.open_id_connect_url.clone(),
                })
            }
            SecurityScheme::MutualTls(it) => {
                let description = text(it.description.as_deref());
                Scheme::MtlsSecurityScheme(pb::MutualTlsSecurityScheme { description })
            }
        };
        Self { scheme: Some(scheme) }
    }
}

impl TryFrom<pb::SecurityScheme> for SecurityScheme {
    type Error = Invalid;

    fn try_from(scheme: pb::SecurityScheme) -> Result<Self, Invalid> {
        let Some(scheme) = scheme.scheme else {
            return Err(Invalid::new("", "must have exactly one kind of scheme"));
        };
        match scheme {
            Scheme::ApiKeySecurityScheme(it) => {
                named(it.try_into().map(Self::ApiKey), "apiKeySecurityScheme")
            }
            Scheme::HttpAuthSecurityScheme(it) => {
                named(it.try_into().map(Self::HttpAuth), "httpAuthSecurityScheme")
            }
            Scheme::Oauth2SecurityScheme(it) => {
                named(it.try_into().map(Self::OAuth2), "oauth2SecurityScheme")
            }
            Scheme::OpenIdConnectSecurityScheme(it) => {
                named(it.try_into().map(Self::OpenIdConnect), "openIdConnectSecurityScheme")
            }
            Scheme::MtlsSecurityScheme(it) => {
                let description = optional(it.description);
                Ok(Self::MutualTls(MutualTlsSecurityScheme { description }))
            }
        }
    }
}

impl TryFrom<pb::ApiKeySecurityScheme> for ApiKeySecurityScheme {
    type Error = Invalid;

    fn try_from(scheme: pb::ApiKeySecurityScheme) -> Result<Self, Invalid> {
        Ok(Self {
            description: optional(scheme.description),
            location: filled(scheme.location, "location")?,
            name: filled(scheme.name, "name")?,
        })
    }
}

impl TryFrom<pb::HttpAuthSecurityScheme> for HttpAuthSecurityScheme {
    type Error = Invalid;

    fn try_from(scheme: pb::HttpAuthSecurityScheme) -> Result<Self, Invalid> {
        Ok(Self {
            description: optional(scheme.description),
            scheme: filled(scheme.scheme, "scheme")?,
            bearer_format: optional(scheme.bearer_format),
        })
    }
}

impl TryFrom<pb::OAuth2SecurityScheme> for OAuth2SecurityScheme {
    type Error = Invalid;

    fn try_from(scheme: pb::OAuth2SecurityScheme) -> Result<Self, Invalid> {
        Ok(Self {
            description: optional(scheme.description),
            flows: named(required(scheme.flows, "flows")?.try_into(), "flows")?,
            oauth2_metadata_url: optional(scheme.oauth2_metadata_url),
        })
    }
}

impl TryFrom<pb::OpenIdConnectSecurityScheme> for OpenIdConnectSecurityScheme {
    type Error = Invalid;

    fn try_from(scheme: pb::OpenIdConnectSecurityScheme) -> Result<Self, Invalid> {
        Ok(Self {
            description: optional(scheme.description),
            open_id_connect_url: filled(scheme.open_id_connect_url, "openIdConnectUrl")?,
        })
    }
}

impl From<&OAuthFlows> for pb::OAuthFlows {
    fn from(flows: &OAuthFlows) -> Self {
        let flow = match flows {
            OAuthFlows::AuthorizationCode(it) => {
                Flow::AuthorizationCode(pb::AuthorizationCodeOAuthFlow {
                    authorization_url: it.authorization_url.clone(),
                    token_url: it.token_url.clone(),
                    refresh_url: text(it.refresh_url.as_deref()),
                    scopes: it.scopes.clone(),
                    pkce_required: it.pkce_required,
                })
            }
            OAuthFlows::ClientCredentials(it) => {
                Flow::ClientCredentials(pb::ClientCredentialsOAuthFlow {
                    token_url: it.token_url.clone(),
                    refresh_url: text(it.refresh_url.as_deref()),
                    scopes: it.scopes.clone(),
                })
            }
            OAuthFlows::Implicit(it) => Flow::Implicit(pb::ImplicitOAuthFlow {
                authorization_url: it.authorization_url.clone(),
                refresh_url: text(it.refresh_url.as_deref()),
                scopes: it.scopes.clone(),
            }),
            OAuthFlows::Password(it) => Flow::Password(pb::PasswordOAuthFlow {
                token_url: it.token_url.clone(),
                refresh_url: text(it.refresh_url.as_deref()),
                scopes: it.scopes.clone(),
            }),
            OAuthFlows::DeviceCode(it) => Flow::DeviceCode(pb::DeviceCodeOAuthFlow {
                device_authorization_url: it.device_authorization_url.clone(),
                token_url: it.token_url.clone(),
                refresh_url: text(it.refresh_url.as_deref()),
                scopes: it.scopes.clone(),
            }),
        };
        Self { flow: Some(flow) }
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
            Some(Flow::Implicit(it)) => Ok(Self::Implicit(ImplicitOAuthFlow {
                authorization_url: it.authorization_url,
                refresh_url: optional(it.refresh_url),
                scopes: it.scopes,
            })),
            Some(Flow::Password(it)) => Ok(Self::Password(PasswordOAuthFlow {
                token_url: it.token_url,
                refresh_url: optional(it.refresh_url),
                scopes: it.scopes,
            })),
            Some(Flow::DeviceCode(it)) => named(it.try_into().map(Self::DeviceCode), "deviceCode"),
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
            pkce_required: flow.pkce_required,
        })
    }
}

impl TryFrom<pb::ClientCredentialsOAuthFlow> for ClientCredentialsOAuthFlow {
    type Error = Invalid;

    fn try_from(flow: pb::ClientCredentialsOAuthFlow) -> Result<Self, Invalid> {
        Ok(Self {
            token_url: filled(flow.token_url, "tokenUrl")?,
            refresh_url: optional(flow.refresh_url),
            scopes: flow.scopes,
        })
    }
}

impl TryFrom<pb::DeviceCodeOAuthFlow> for DeviceCodeOAuthFlow {
    type Error = Invalid;

    fn try_from(flow: pb::DeviceCodeOAuthFlow) -> Result<Self, Invalid> {
        Ok(Self {
            device_authorization_url: filled(
                flow.device_authorization_url,
                "deviceAuthorizationUrl",
            )?,
            token_url: filled(flow.token_url, "tokenUrl")?,
            refresh_url: optional(flow.refresh_url),
            scopes: flow.scopes,
        })
    }
}
