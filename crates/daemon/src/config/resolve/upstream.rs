//! Remote agents, published or not.

use std::path::Path;

use latimer_protocol::card::ProtocolBinding;

use super::value::resolve_secret;
use crate::config::diagnostic::Diagnostics;
use crate::config::location::Location;
use crate::config::raw::{
    Binding, ClientIdentity, OAuthKeys, SignaturePolicy, TokenKeys, Upstream,
};

impl Upstream {
    /// Checks that signatures can be verified if they are required.
    pub(in crate::config) fn check(&self, at: &Location<'_>, diagnostics: &mut Diagnostics) {
        if self.signatures != SignaturePolicy::Ignore && self.trusted_keys.is_empty() {
            let message = "`signatures` needs `trusted_keys`: without them, no signature is valid";
            let hint = "add the files of the public keys to `trusted_keys`";
            diagnostics.error(&at.key("signatures"), message, hint);
        }
    }
}

impl ClientIdentity {
    /// Checks that a certificate has a key.
    pub(in crate::config) fn check(&self, at: &Location<'_>, diagnostics: &mut Diagnostics) {
        let (has, needs) = match (&self.client_certificate, &self.client_key) {
            (Some(_), Some(_)) | (None, None) => return,
            (Some(_), None) => ("client_certificate", "client_key"),
            (None, Some(_)) => ("client_key", "client_certificate"),
        };
        diagnostics.error(
            &at.key(has),
            format!("`{has}` needs `{needs}`"),
            format!("add `{needs}`"),
        );
    }

    /// Returns the files of the certificate and of its key.
    #[must_use]
    pub fn files(&self) -> Option<(&Path, &Path)> {
        Some((self.client_certificate.as_deref()?, self.client_key.as_deref()?))
    }
}

impl TokenKeys {
    /// Reads the token from the environment variable.
    pub(in crate::config) fn check(&mut self, at: &Location<'_>, diagnostics: &mut Diagnostics) {
        let (token, variable) = (&mut self.auth_token, self.auth_token_env.as_deref());
        resolve_secret(token, variable, &at.key("auth_token_env"), diagnostics);
    }
}

impl OAuthKeys {
    /// Reads the client secret from the environment variable, and checks that there is a client id.
    pub(in crate::config) fn check(&mut self, at: &Location<'_>, diagnostics: &mut Diagnostics) {
        let (secret, variable) = (&mut self.client_secret, self.client_secret_env.as_deref());
        resolve_secret(secret, variable, &at.key("client_secret_env"), diagnostics);
        let Self { client_id, client_secret, scopes, servers, .. } = self;
        if client_id.is_none()
            && (client_secret.is_some() || !scopes.is_empty() || !servers.is_empty())
        {
            diagnostics.error(at, "`oauth` needs `client_id`", "add the id of the OAuth client");
        }
    }
}

impl From<Binding> for ProtocolBinding {
    fn from(binding: Binding) -> Self {
        match binding {
            Binding::Jsonrpc => Self::JsonRpc,
            Binding::HttpJson => Self::HttpJson,
            Binding::Grpc => Self::Grpc,
        }
    }
}
