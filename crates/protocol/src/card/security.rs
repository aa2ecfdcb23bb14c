//! Security schemes, and the requirements that refer to them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::OAuthFlows;
use crate::model::wire;

/// Method by which callers authenticate.
///
/// ```
/// # use latimer_protocol::card::SecurityScheme;
/// # use serde_json::json;
/// let scheme = SecurityScheme::bearer();
/// assert_eq!(json!(scheme), json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}}));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SchemeMembers")]
pub enum SecurityScheme {
    /// API key in a header, query parameter or cookie.
    #[serde(rename = "apiKeySecurityScheme")]
    ApiKey(ApiKeySecurityScheme),
    /// HTTP authentication with an `Authorization` header.
    #[serde(rename = "httpAuthSecurityScheme")]
    HttpAuth(HttpAuthSecurityScheme),
    /// OAuth 2.0 access token.
    #[serde(rename = "oauth2SecurityScheme")]
    OAuth2(OAuth2SecurityScheme),
    /// OpenID Connect token.
    #[serde(rename = "openIdConnectSecurityScheme")]
    OpenIdConnect(OpenIdConnectSecurityScheme),
    /// TLS client certificate.
    #[serde(rename = "mtlsSecurityScheme")]
    MutualTls(MutualTlsSecurityScheme),
}

impl SecurityScheme {
    /// Creates a scheme for bearer tokens of unspecified format.
    #[must_use]
    pub fn bearer() -> Self {
        Self::http("Bearer")
    }

    /// Creates a scheme for the named HTTP authentication scheme.
    pub fn http(scheme: impl Into<String>) -> Self {
        Self::HttpAuth(HttpAuthSecurityScheme { scheme: scheme.into(), ..Default::default() })
    }

    /// Creates a scheme for an API key in the header `name`.
    pub fn api_key(name: impl Into<String>) -> Self {
        Self::ApiKey(ApiKeySecurityScheme {
            location: "header".into(),
            name: name.into(),
            description: None,
        })
    }
}

/// API key in a header, query parameter or cookie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKeySecurityScheme {
    /// Human-readable description.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// Location of the key: `header`, `query` or `cookie`.
    pub location: String,
    /// Name of the header, parameter or cookie.
    pub name: String,
}

/// HTTP authentication with an `Authorization` header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpAuthSecurityScheme {
    /// Human-readable description.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// HTTP authentication scheme, such as `Bearer`.
    pub scheme: String,
    /// Format of bearer tokens, such as `JWT`. Informational.
    #[serde(
        default,
        alias = "bearer_format",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub bearer_format: Option<String>,
}

/// Access token obtained by an OAuth 2.0 flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OAuth2SecurityScheme {
    /// Human-readable description.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// Flow by which a caller obtains a token.
    pub flows: OAuthFlows,
    /// URL of the authorization server metadata (RFC 8414).
    #[serde(
        default,
        alias = "oauth2_metadata_url",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub oauth2_metadata_url: Option<String>,
}

/// Token obtained by OpenID Connect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenIdConnectSecurityScheme {
    /// Human-readable description.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// URL of the provider's discovery document.
    #[serde(alias = "open_id_connect_url")]
    pub open_id_connect_url: String,
}

/// TLS client certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MutualTlsSecurityScheme {
    /// Human-readable description.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
}

/// Set of security schemes that a caller must satisfy together, with the required scopes.
///
/// ```
/// # use latimer_protocol::card::SecurityRequirement;
/// # use serde_json::json;
/// let requirement = SecurityRequirement::scheme("google").with_scopes("google", ["openid"]);
/// assert_eq!(json!(requirement), json!({"schemes": {"google": {"list": ["openid"]}}}));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RequirementMembers", into = "RequirementMembers")]
pub struct SecurityRequirement {
    /// Required scopes by scheme name.
    pub schemes: BTreeMap<String, Vec<String>>,
}

impl SecurityRequirement {
    /// Creates a requirement for the scheme `name` without scopes.
    pub fn scheme(name: impl Into<String>) -> Self {
        Self { schemes: BTreeMap::from([(name.into(), Vec::new())]) }
    }

    /// Adds the scheme `name` with these scopes.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(
        mut self,
        name: impl Into<String>,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.schemes.insert(name.into(), scopes.into_iter().map(Into::into).collect());
        self
    }
}

#[derive(Serialize, Deserialize)]
struct RequirementMembers {
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    schemes: BTreeMap<String, Scopes>,
}

#[derive(Serialize, Deserialize)]
struct Scopes {
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    list: Vec<String>,
}

impl From<RequirementMembers> for SecurityRequirement {
    fn from(members: RequirementMembers) -> Self {
        let schemes = members.schemes.into_iter().map(|(name, scopes)| (name, scopes.list));
        Self { schemes: schemes.collect() }
    }
}

impl From<SecurityRequirement> for RequirementMembers {
    fn from(requirement: SecurityRequirement) -> Self {
        let schemes = requirement.schemes.into_iter().map(|(name, list)| (name, Scopes { list }));
        Self { schemes: schemes.collect() }
    }
}

/// Names of one kind of security scheme in 0.3 and 1.0.
pub(super) struct SchemeKind {
    /// Value of `type` in 0.3.
    pub(super) name: &'static str,
    /// Member that contains a scheme of this kind in 1.0.
    pub(super) member: &'static str,
    /// Member that identifies a 0.3 scheme without `type`; `None` for the fallback kind.
    pub(super) distinguishing_member: Option<&'static str>,
}

/// All kinds of security schemes, in the order in which a scheme without `type` is matched.
pub(super) const SCHEME_KINDS: [SchemeKind; 5] = [
    SchemeKind {
        name: "apiKey",
        member: "apiKeySecurityScheme",
        distinguishing_member: Some("in"),
    },
    SchemeKind {
        name: "http",
        member: "httpAuthSecurityScheme",
        distinguishing_member: Some("scheme"),
    },
    SchemeKind {
        name: "oauth2",
        member: "oauth2SecurityScheme",
        distinguishing_member: Some("flows"),
    },
    SchemeKind {
        name: "openIdConnect",
        member: "openIdConnectSecurityScheme",
        distinguishing_member: Some("openIdConnectUrl"),
    },
    SchemeKind { name: "mutualTLS", member: "mtlsSecurityScheme", distinguishing_member: None },
];

/// Members of a scheme before validation that exactly one of them is present.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SchemeMembers {
    #[serde(alias = "api_key_security_scheme")]
    api_key_security_scheme: Option<ApiKeySecurityScheme>,
    #[serde(alias = "http_auth_security_scheme")]
    http_auth_security_scheme: Option<HttpAuthSecurityScheme>,
    #[serde(alias = "oauth2_security_scheme", rename = "oauth2SecurityScheme")]
    oauth2_security_scheme: Option<OAuth2SecurityScheme>,
    #[serde(alias = "open_id_connect_security_scheme")]
    open_id_connect_security_scheme: Option<OpenIdConnectSecurityScheme>,
    #[serde(alias = "mtls_security_scheme")]
    mtls_security_scheme: Option<MutualTlsSecurityScheme>,
}

impl TryFrom<SchemeMembers> for SecurityScheme {
    type Error = &'static str;

    fn try_from(members: SchemeMembers) -> Result<Self, Self::Error> {
        let schemes = [
            members.api_key_security_scheme.map(Self::ApiKey),
            members.http_auth_security_scheme.map(Self::HttpAuth),
            members.oauth2_security_scheme.map(Self::OAuth2),
            members.open_id_connect_security_scheme.map(Self::OpenIdConnect),
            members.mtls_security_scheme.map(Self::MutualTls),
        ];
        exactly_one(schemes.into_iter().flatten()).ok_or("must have exactly one kind of scheme")
    }
}

/// Returns the only item; `None` if there is no item or more than one.
pub(super) fn exactly_one<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scheme_requires_exactly_one_kind() {
        for (wire, fits) in [
            (json!({"mtlsSecurityScheme": {}}), true),
            (json!({"mtls_security_scheme": {"description": "d"}}), true),
            (json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}, "type": "http"}), true),
            (json!({"httpAuthSecurityScheme": {"scheme": "a"}, "mtlsSecurityScheme": null}), true),
            (json!({"httpAuthSecurityScheme": {"scheme": "a"}, "mtlsSecurityScheme": {}}), false),
            (json!({"type": "http", "scheme": "Bearer"}), false),
            (json!({"oauth2SecurityScheme": {"flows": {}}}), false),
            (json!({"oauth2SecurityScheme": {"flows": {"implicit": {}, "password": {}}}}), false),
            (json!({"oauth2SecurityScheme": {"flows": {"implicit": {}}}}), true),
        ] {
            let read = serde_json::from_value::<SecurityScheme>(wire.clone());
            assert_eq!(read.is_ok(), fits, "{wire}");
        }
    }

    #[test]
    fn empty_scopes_are_omitted_from_requirements() {
        for (wire, written) in [
            (
                json!({"schemes": {"a": {"list": []}, "b": {}}}),
                json!({"schemes": {"a": {}, "b": {}}}),
            ),
            (
                json!({"schemes": {"a": {"list": ["x"]}}}),
                json!({"schemes": {"a": {"list": ["x"]}}}),
            ),
            (json!({}), json!({})),
        ] {
            let read: SecurityRequirement = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(json!(read), written, "{wire}");
        }
    }
}
