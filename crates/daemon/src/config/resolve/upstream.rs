//! Agents elsewhere that are published here.

use std::time::Duration;

use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::{Secret, Version};

use super::Resolve;
use crate::config::raw::{self, Binding};
use crate::config::{OAuthConfig, Signatures, UpstreamConfig};

/// How long a call may take unless told otherwise.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);

/// How long a stream may be silent where nobody can say.
pub(super) const IDLE: Duration = Duration::from_secs(120);

/// How many agents a message may pass where nobody can say.
pub(super) const HOPS: u32 = 8;

impl Resolve<'_> {
    pub(super) fn upstream(&mut self, place: &str, raw: raw::Agent) -> UpstreamConfig {
        let path = |key| ["agents", place, key];
        let url = raw.url.unwrap_or_default();
        self.check_url(&path("url"), Some(&url));
        self.check_url(&path("card_url"), raw.card_url.as_deref());
        let signatures = match raw.signatures {
            raw::Signatures::Ignore => Signatures::Ignore,
            raw::Signatures::IfSigned => Signatures::IfSigned,
            raw::Signatures::Required => Signatures::Required,
        };
        if signatures != Signatures::Ignore && raw.trusted_keys.is_empty() {
            let message = "`signatures`: no key is trusted, so that none could be right";
            self.problem(&path("signatures"), message, "name their files in `trusted_keys`");
        }
        let version =
            raw.protocol_version.and_then(|it| self.version(&path("protocol_version"), &it));
        let token = self.or_variable(&path("auth_token_env"), raw.auth_token, raw.auth_token_env);
        let oauth = self.oauth(place, raw.oauth);
        let keys = raw.trusted_keys.iter();
        let keys = keys.map(|it| self.path(&path("trusted_keys"), it.as_ref())).collect();
        UpstreamConfig {
            url,
            card_url: raw.card_url,
            headers: raw.headers,
            token,
            token_file: raw.auth_token_file.map(|it| self.path(&path("auth_token_file"), &it)),
            oauth,
            timeout: raw.timeout.map_or(TIMEOUT, |it| it.0),
            idle: raw.idle_timeout.0,
            stream: raw.stream,
            tenant: raw.tenant,
            version,
            binding: raw.binding.map(|it| match it {
                Binding::Jsonrpc => ProtocolBinding::JsonRpc,
                Binding::HttpJson => ProtocolBinding::HttpJson,
                Binding::Grpc => ProtocolBinding::Grpc,
            }),
            signatures,
            trusted_keys: keys,
            hops: raw.hops,
            forward_user: raw.forward_user,
        }
    }

    fn oauth(&mut self, place: &str, raw: raw::OAuth) -> Option<OAuthConfig> {
        let path = ["agents", place, "oauth", "client_secret_env"];
        let client_secret = self.or_variable(&path, raw.client_secret, raw.client_secret_env);
        let (scopes, servers) = (raw.scopes, raw.servers);
        match raw.client_id {
            Some(client_id) => Some(OAuthConfig { client_id, client_secret, scopes, servers }),
            None if client_secret.is_some() || !scopes.is_empty() || !servers.is_empty() => {
                let path = ["agents", place, "oauth"];
                self.problem(&path, "`oauth` needs `client_id`", "add it");
                None
            }
            None => None,
        }
    }

    pub(super) fn version(&mut self, path: &[&str], text: &str) -> Option<Version> {
        let version = text.parse().ok();
        if version.is_none() {
            let known = Version::ALL.map(Version::as_str).join(", ");
            let key = path.last().copied().unwrap_or_default();
            let message = format!("`{key}`: {text:?} is no version of A2A");
            self.problem(path, message, format!("there are: {known}"));
        }
        version
    }

    /// A secret, or the variable of the environment that has it.
    pub(super) fn or_variable(
        &mut self,
        path: &[&str],
        secret: Option<Secret>,
        variable: Option<String>,
    ) -> Option<Secret> {
        let Some(variable) = variable.filter(|_| secret.is_none()) else { return secret };
        let found = self.surroundings.variable(&variable);
        if found.is_none() {
            self.warning(path, format!("the variable {variable} is not set"));
        }
        found.map(Secret::new)
    }
}
