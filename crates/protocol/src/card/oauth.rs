//! How an OAuth 2.0 token is got.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::security::exactly_one;
use crate::model::wire;

/// How a token is got. Since 1.0 a scheme has exactly one flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "FlowMembers")]
pub enum OAuthFlows {
    /// Somebody logs in with a browser.
    AuthorizationCode(AuthorizationCodeOAuthFlow),
    /// The caller is a program with its own credentials.
    ClientCredentials(ClientCredentialsOAuthFlow),
    /// Deprecated.
    Implicit(ImplicitOAuthFlow),
    /// Deprecated.
    Password(PasswordOAuthFlow),
    /// Somebody logs in on another device.
    DeviceCode(DeviceCodeOAuthFlow),
}

/// The authorization code flow: somebody logs in with a browser.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthorizationCodeOAuthFlow {
    /// Where somebody logs in.
    #[serde(default, alias = "authorization_url", deserialize_with = "wire::nullable")]
    pub authorization_url: String,
    /// Where a token is got.
    #[serde(default, alias = "token_url", deserialize_with = "wire::nullable")]
    pub token_url: String,
    /// Where a token is renewed; the token address when not given.
    #[serde(
        default,
        alias = "refresh_url",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub refresh_url: Option<String>,
    /// What may be asked for, and what each scope means.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub scopes: BTreeMap<String, String>,
    /// Whether PKCE (RFC 7636) is demanded.
    #[serde(
        default,
        alias = "pkce_required",
        deserialize_with = "wire::bool_or_false",
        skip_serializing_if = "wire::is_false"
    )]
    pub pkce_required: bool,
}

/// The client credentials flow: for programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCredentialsOAuthFlow {
    /// Where a token is got.
    #[serde(default, alias = "token_url", deserialize_with = "wire::nullable")]
    pub token_url: String,
    /// Where a token is renewed; the token address when not given.
    #[serde(
        default,
        alias = "refresh_url",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub refresh_url: Option<String>,
    /// What may be asked for, and what each scope means.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub scopes: BTreeMap<String, String>,
}

/// The implicit flow. Deprecated: use the authorization code flow with PKCE.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImplicitOAuthFlow {
    /// Where somebody logs in.
    #[serde(
        default,
        alias = "authorization_url",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub authorization_url: String,
    /// Where a token is renewed; the token address when not given.
    #[serde(
        default,
        alias = "refresh_url",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub refresh_url: Option<String>,
    /// What may be asked for, and what each scope means.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub scopes: BTreeMap<String, String>,
}

/// The password flow. Deprecated: use the authorization code flow with PKCE.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PasswordOAuthFlow {
    /// Where a token is got.
    #[serde(
        default,
        alias = "token_url",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub token_url: String,
    /// Where a token is renewed; the token address when not given.
    #[serde(
        default,
        alias = "refresh_url",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub refresh_url: Option<String>,
    /// What may be asked for, and what each scope means.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub scopes: BTreeMap<String, String>,
}

/// The device code flow: somebody logs in on another device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceCodeOAuthFlow {
    /// Where the code is got.
    #[serde(default, alias = "device_authorization_url", deserialize_with = "wire::nullable")]
    pub device_authorization_url: String,
    /// Where a token is got.
    #[serde(default, alias = "token_url", deserialize_with = "wire::nullable")]
    pub token_url: String,
    /// Where a token is renewed; the token address when not given.
    #[serde(
        default,
        alias = "refresh_url",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub refresh_url: Option<String>,
    /// What may be asked for, and what each scope means.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub scopes: BTreeMap<String, String>,
}

/// The members of the flows as they are read, before they are known to be exactly one.
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
