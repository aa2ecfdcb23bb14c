//! How a caller authenticates: schemes, and which of them are required.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::OAuthFlows;
use crate::model::wire;

/// A way to authenticate. Exactly one kind, under the kind's own member on the wire.
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
    /// A key in a header, a query parameter or a cookie.
    #[serde(rename = "apiKeySecurityScheme")]
    ApiKey(ApiKeySecurityScheme),
    /// An `Authorization` header.
    #[serde(rename = "httpAuthSecurityScheme")]
    HttpAuth(HttpAuthSecurityScheme),
    /// OAuth 2.0.
    #[serde(rename = "oauth2SecurityScheme")]
    OAuth2(OAuth2SecurityScheme),
    /// OpenID Connect.
    #[serde(rename = "openIdConnectSecurityScheme")]
    OpenIdConnect(OpenIdConnectSecurityScheme),
    /// A client certificate.
    #[serde(rename = "mtlsSecurityScheme")]
    MutualTls(MutualTlsSecurityScheme),
}

impl SecurityScheme {
    /// A bearer token of any format.
    #[must_use]
    pub fn bearer() -> Self {
        Self::http("Bearer")
    }

    /// An `Authorization` header of this HTTP authentication scheme.
    pub fn http(scheme: impl Into<String>) -> Self {
        Self::HttpAuth(HttpAuthSecurityScheme { scheme: scheme.into(), ..Default::default() })
    }

    /// A key in the header `name`.
    pub fn api_key(name: impl Into<String>) -> Self {
        Self::ApiKey(ApiKeySecurityScheme {
            location: "header".into(),
            name: name.into(),
            description: None,
        })
    }
}

/// A key in a header, a query parameter or a cookie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKeySecurityScheme {
    /// What it is, for people.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// Where the key goes: `header`, `query` or `cookie`.
    pub location: String,
    /// The name of the header, parameter or cookie.
    pub name: String,
}

/// An `Authorization` header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpAuthSecurityScheme {
    /// What it is, for people.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// The HTTP authentication scheme, such as `Bearer`.
    pub scheme: String,
    /// What a bearer token looks like, such as `JWT`.
    #[serde(
        default,
        alias = "bearer_format",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub bearer_format: Option<String>,
}

/// OAuth 2.0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OAuth2SecurityScheme {
    /// What it is, for people.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// How a token is got.
    pub flows: OAuthFlows,
    /// Where the authorization server describes itself (RFC 8414).
    #[serde(
        default,
        alias = "oauth2_metadata_url",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub oauth2_metadata_url: Option<String>,
}

/// OpenID Connect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenIdConnectSecurityScheme {
    /// What it is, for people.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// Where the provider describes itself.
    #[serde(alias = "open_id_connect_url")]
    pub open_id_connect_url: String,
}

/// A client certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MutualTlsSecurityScheme {
    /// What it is, for people.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
}

/// One sufficient combination: all of these schemes together, each with the scopes it needs.
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
    /// Scopes by the name of the scheme.
    pub schemes: BTreeMap<String, Vec<String>>,
}

impl SecurityRequirement {
    /// The scheme `name` alone, without scopes.
    pub fn scheme(name: impl Into<String>) -> Self {
        Self { schemes: BTreeMap::from([(name.into(), Vec::new())]) }
    }

    /// The same requirement, with the scheme `name` and these scopes too.
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

/// A kind of scheme, as the versions spell it.
pub(super) struct SchemeKind {
    /// What 0.3 says in `type`.
    pub(super) name: &'static str,
    /// The member of 1.0 that holds a scheme of this kind.
    pub(super) member: &'static str,
    /// A member by which a scheme of 0.3 without a `type` is known; the last kind needs none.
    pub(super) distinguishing_member: Option<&'static str>,
}

/// Every kind of scheme, in the order in which one without a `type` is tried.
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

/// The members of a scheme as they are read, before they are known to be exactly one.
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

/// The only item, if there is exactly one.
pub(super) fn exactly_one<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scheme_is_of_exactly_one_kind() {
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
    fn requirements_leave_empty_scopes_out() {
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
