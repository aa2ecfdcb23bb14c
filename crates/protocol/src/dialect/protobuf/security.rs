//! Conversions of security schemes, and of the OAuth flows that are identical in all versions.

use latimer_pb::{v0_3, v1};

use crate::card::{
    ApiKeySecurityScheme, ClientCredentialsOAuthFlow, HttpAuthSecurityScheme, ImplicitOAuthFlow,
    MutualTlsSecurityScheme, OAuth2SecurityScheme, OpenIdConnectSecurityScheme, PasswordOAuthFlow,
    SecurityScheme,
};
use crate::dialect::field::{in_field, optional_text, required, required_text, text_or_empty};
use crate::json::InvalidField;

macro_rules! conversions {
    ($pb:ident) => {
        impl From<&SecurityScheme> for $pb::SecurityScheme {
            fn from(scheme: &SecurityScheme) -> Self {
                use $pb::security_scheme::Scheme;
                let scheme = match scheme {
                    SecurityScheme::ApiKey(it) => {
                        Scheme::ApiKeySecurityScheme($pb::ApiKeySecurityScheme {
                            description: text_or_empty(it.description.as_deref()),
                            location: it.location.clone(),
                            name: it.name.clone(),
                        })
                    }
                    SecurityScheme::HttpAuth(it) => {
                        Scheme::HttpAuthSecurityScheme($pb::HttpAuthSecurityScheme {
                            description: text_or_empty(it.description.as_deref()),
                            scheme: it.scheme.clone(),
                            bearer_format: text_or_empty(it.bearer_format.as_deref()),
                        })
                    }
                    SecurityScheme::OAuth2(it) => {
                        Scheme::Oauth2SecurityScheme($pb::OAuth2SecurityScheme {
                            description: text_or_empty(it.description.as_deref()),
                            flows: Some((&it.flows).into()),
                            oauth2_metadata_url: text_or_empty(it.oauth2_metadata_url.as_deref()),
                        })
                    }
                    SecurityScheme::OpenIdConnect(it) => {
                        Scheme::OpenIdConnectSecurityScheme($pb::OpenIdConnectSecurityScheme {
                            description: text_or_empty(it.description.as_deref()),
                            open_id_connect_url: it.open_id_connect_url.clone(),
                        })
                    }
                    SecurityScheme::MutualTls(it) => {
                        let description = text_or_empty(it.description.as_deref());
                        Scheme::MtlsSecurityScheme($pb::MutualTlsSecurityScheme { description })
                    }
                };
                Self { scheme: Some(scheme) }
            }
        }

        impl TryFrom<$pb::SecurityScheme> for SecurityScheme {
            type Error = InvalidField;

            fn try_from(scheme: $pb::SecurityScheme) -> Result<Self, InvalidField> {
                use $pb::security_scheme::Scheme;
                let Some(scheme) = scheme.scheme else {
                    return Err(InvalidField::new("", "must have exactly one kind of scheme"));
                };
                match scheme {
                    Scheme::ApiKeySecurityScheme(it) => {
                        in_field(it.try_into().map(Self::ApiKey), "apiKeySecurityScheme")
                    }
                    Scheme::HttpAuthSecurityScheme(it) => {
                        in_field(it.try_into().map(Self::HttpAuth), "httpAuthSecurityScheme")
                    }
                    Scheme::Oauth2SecurityScheme(it) => {
                        in_field(it.try_into().map(Self::OAuth2), "oauth2SecurityScheme")
                    }
                    Scheme::OpenIdConnectSecurityScheme(it) => in_field(
                        it.try_into().map(Self::OpenIdConnect),
                        "openIdConnectSecurityScheme",
                    ),
                    Scheme::MtlsSecurityScheme(it) => {
                        let description = optional_text(it.description);
                        Ok(Self::MutualTls(MutualTlsSecurityScheme { description }))
                    }
                }
            }
        }

        impl TryFrom<$pb::ApiKeySecurityScheme> for ApiKeySecurityScheme {
            type Error = InvalidField;

            fn try_from(scheme: $pb::ApiKeySecurityScheme) -> Result<Self, InvalidField> {
                Ok(Self {
                    description: optional_text(scheme.description),
                    location: required_text(scheme.location, "location")?,
                    name: required_text(scheme.name, "name")?,
                })
            }
        }

        impl TryFrom<$pb::HttpAuthSecurityScheme> for HttpAuthSecurityScheme {
            type Error = InvalidField;

            fn try_from(scheme: $pb::HttpAuthSecurityScheme) -> Result<Self, InvalidField> {
                Ok(Self {
                    description: optional_text(scheme.description),
                    scheme: required_text(scheme.scheme, "scheme")?,
                    bearer_format: optional_text(scheme.bearer_format),
                })
            }
        }

        impl TryFrom<$pb::OAuth2SecurityScheme> for OAuth2SecurityScheme {
            type Error = InvalidField;

            fn try_from(scheme: $pb::OAuth2SecurityScheme) -> Result<Self, InvalidField> {
                Ok(Self {
                    description: optional_text(scheme.description),
                    flows: in_field(required(scheme.flows, "flows")?.try_into(), "flows")?,
                    oauth2_metadata_url: optional_text(scheme.oauth2_metadata_url),
                })
            }
        }

        impl TryFrom<$pb::OpenIdConnectSecurityScheme> for OpenIdConnectSecurityScheme {
            type Error = InvalidField;

            fn try_from(scheme: $pb::OpenIdConnectSecurityScheme) -> Result<Self, InvalidField> {
                Ok(Self {
                    description: optional_text(scheme.description),
                    open_id_connect_url: required_text(
                        scheme.open_id_connect_url,
                        "openIdConnectUrl",
                    )?,
                })
            }
        }

        impl From<&ClientCredentialsOAuthFlow> for $pb::ClientCredentialsOAuthFlow {
            fn from(flow: &ClientCredentialsOAuthFlow) -> Self {
                Self {
                    token_url: flow.token_url.clone(),
                    refresh_url: text_or_empty(flow.refresh_url.as_deref()),
                    scopes: flow.scopes.clone(),
                }
            }
        }

        impl TryFrom<$pb::ClientCredentialsOAuthFlow> for ClientCredentialsOAuthFlow {
            type Error = InvalidField;

            fn try_from(flow: $pb::ClientCredentialsOAuthFlow) -> Result<Self, InvalidField> {
                Ok(Self {
                    token_url: required_text(flow.token_url, "tokenUrl")?,
                    refresh_url: optional_text(flow.refresh_url),
                    scopes: flow.scopes,
                })
            }
        }

        impl From<&ImplicitOAuthFlow> for $pb::ImplicitOAuthFlow {
            fn from(flow: &ImplicitOAuthFlow) -> Self {
                Self {
                    authorization_url: flow.authorization_url.clone(),
                    refresh_url: text_or_empty(flow.refresh_url.as_deref()),
                    scopes: flow.scopes.clone(),
                }
            }
        }

        impl From<$pb::ImplicitOAuthFlow> for ImplicitOAuthFlow {
            fn from(flow: $pb::ImplicitOAuthFlow) -> Self {
                Self {
                    authorization_url: flow.authorization_url,
                    refresh_url: optional_text(flow.refresh_url),
                    scopes: flow.scopes,
                }
            }
        }

        impl From<&PasswordOAuthFlow> for $pb::PasswordOAuthFlow {
            fn from(flow: &PasswordOAuthFlow) -> Self {
                Self {
                    token_url: flow.token_url.clone(),
                    refresh_url: text_or_empty(flow.refresh_url.as_deref()),
                    scopes: flow.scopes.clone(),
                }
            }
        }

        impl From<$pb::PasswordOAuthFlow> for PasswordOAuthFlow {
            fn from(flow: $pb::PasswordOAuthFlow) -> Self {
                Self {
                    token_url: flow.token_url,
                    refresh_url: optional_text(flow.refresh_url),
                    scopes: flow.scopes,
                }
            }
        }
    };
}

conversions!(v0_3);
conversions!(v1);
