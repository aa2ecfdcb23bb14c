//! OAuth 2.0 flows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::security::exactly_one;
use crate::model::wire;

/// Flow by which a caller obtains an OAuth 2.0 token. Since 1.0 a scheme has exactly one flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "FlowMembers")]
pub enum OAuthFlows {
    /// The user logs in with a browser.
    AuthorizationCode(AuthorizationCodeOAuthFlow),
    /// The client authenticates with its own credentials.
    ClientCredentials(ClientCredentialsOAuthFlow),
    /// Deprecated implicit flow.
    Implicit(ImplicitOAuthFlow),
    /// Deprecated password flow.
    Password(PasswordOAuthFlow),
    /// The user logs in on another device.
    DeviceCode(DeviceCodeOAuthFlow),
}

/// Authorization code flow: the user logs in with a browser.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthorizationCodeOAuthFlow {
    /// URL at which the user logs in.
    #[serde(default, alias = "authorization_url", deserialize_with = "wire::nullable")]
    pub authorization_url: String,
    /// URL that issues tokens.
    #[serde(default, alias = "token_url", deserialize_with = "wire::nullable")]
    pub token_url: String,
    /// URL that renews tokens; the token URL if absent.
    #[serde(
        default,
        alias = "refresh_url",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub refresh_url: Option<String>,
    /// Available scopes, with a description of each.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub scopes: BTreeMap<String, String>,
    /// Whether PKCE (RFC 7636) is required.
    #[serde(
        default,
        alias = "pkce_required",
        deserialize_with = "wire::bool_or_false",
        skip_serializing_if = "wire::is_false"
    )]
    pub pkce_required: bool,
}

/// Client credentials flow: the client authenticates itself, without a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCredentialsOAuthFlow {
    /// URL that issues tokens.
    #[serde(default, alias = "token_url", deserialize_with = "wire::nullable")]
    pub token_url: String,
    /// URL that renews tokens; the token URL if absent.
    #[serde(
        default,
        alias = "refresh_url",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub refresh_url: Option<String>,
    /// Available scopes, with a description of each.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub scopes: BTreeMap<String, String>,
}

/// Implicit flow. Deprecated in favor of the authorization code flow with PKCE.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImplicitOAuthFlow {
    /// URL at which the user logs in.
    #[serde(
        default,
        alias = "authorization_url",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub authorization_url: String,
    /// URL that renews tokens; the token URL if absent.
    #[serde(
        default,
        alias = "refresh_url",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub refresh_url: Option<String>,
    /// Available scopes, with a description of each.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub scopes: BTreeMap<String, String>,
}

/// Password flow. Deprecated in favor of the authorization code flow with PKCE.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PasswordOAuthFlow {
    /// URL that issues tokens.
    #[serde(
        default,
        alias = "token_url",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub token_url: String,
    /// URL that renews tokens; the token URL if absent.
    #[serde(
        default,
        alias = "refresh_url",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub refresh_url: Option<String>,
    /// Available scopes, with a description of each.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub scopes: BTreeMap<String, String>,
}

/// Device code flow: the user logs in on another device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceCodeOAuthFlow {
    /// URL that issues device codes.
    #[serde(default, alias = "device_authorization_url", deserialize_with = "wire::nullable")]
    pub device_authorization_url: String,
    /// URL that issues tokens.
    #[serde(default, alias = "token_url", deserialize_with = "wire::nullable")]
    pub token_url: String,
    /// URL that renews tokens; the token URL if absent.
    #[serde(
        default,
        alias = "refresh_url",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub refresh_url: Option<String>,
    /// Available scopes, with a description of each.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub scopes: BTreeMap<String, String>,
}

/// Members of the flows before validation that exactly one of them is present.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FlowMembers {
    #[serde(alias = "authorization_code")]
    authorization_code: Option<AuthorizationCodeOAuthFlow>,
    #[serde(alias = "client_credentials")]
    client_credentials: Option<ClientCredentialsOAuthFlow>,
    implicit: Option<ImplicitOAuthFlow>,
    password: Option<PasswordOAuthFlow>,
    #[serde(alias = "device_code")]
    device_code: Option<DeviceCodeOAuthFlow>,
}

impl TryFrom<FlowMembers> for OAuthFlows {
    type Error = &'static str;

    fn try_from(members: FlowMembers) -> Result<Self, Self::Error> {
        let flows = [
            members.authorization_code.map(Self::AuthorizationCode),
            members.client_credentials.map(Self::ClientCredentials),
            members.implicit.map(Self::Implicit),
            members.password.map(Self::Password),
            members.device_code.map(Self::DeviceCode),
        ];
        exactly_one(flows.into_iter().flatten()).ok_or("must have exactly one flow")
    }
}
