//! Agents elsewhere, published or not.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::{Secret, Version};

use super::Resolve;
use crate::config::raw::{self, Binding};
use crate::config::{IdentityConfig, OAuthConfig, Signatures, UpstreamConfig};

/// How long a call may take unless told otherwise.
const TIMEOUT: Duration = Duration::from_secs(120);

/// How many agents a message may pass where nobody can say.
pub(super) const HOPS: u32 = 8;

/// What is said of an agent elsewhere, wherever it is said.
pub(super) struct Said {
    pub(super) url: String,
    pub(super) card_url: Option<String>,
    pub(super) call_url: bool,
    pub(super) root_certificates: Option<PathBuf>,
    pub(super) client_certificate: Option<PathBuf>,
    pub(super) client_key: Option<PathBuf>,
    pub(super) headers: BTreeMap<String, Secret>,
    pub(super) auth_token: Option<Secret>,
    pub(super) auth_token_env: Option<String>,
    pub(super) auth_token_file: Option<PathBuf>,
    pub(super) oauth: raw::OAuth,
    pub(super) timeout: Option<Duration>,
    pub(super) idle: Duration,
    pub(super) stream: bool,
    pub(super) tenant: Option<String>,
    /// Behind the key that it stands at.
    pub(super) version: (&'static str, Option<String>),
    pub(super) binding: Option<Binding>,
    pub(super) signatures: raw::Signatures,
    pub(super) trusted_keys: Vec<String>,
    pub(super) hops: u32,
    pub(super) forward_user: bool,
}

impl From<raw::Agent> for Said {
    fn from(raw: raw::Agent) -> Self {
        Self {
            url: raw.url.unwrap_or_default(),
            card_url: raw.card_url,
            call_url: raw.call_url,
            root_certificates: raw.root_certificates,
            client_certificate: raw.client_certificate,
            client_key: raw.client_key,
            headers: raw.headers,
            auth_token: raw.auth_token,
            auth_token_env: raw.auth_token_env,
            auth_token_file: raw.auth_token_file,
            oauth: raw.oauth,
            timeout: raw.timeout.map(|it| it.0),
            idle: raw.idle_timeout.0,
            stream: raw.stream,
            tenant: raw.tenant,
            version: ("protocol_version", raw.protocol_version),
            binding: raw.binding,
            signatures: raw.signatures,
            trusted_keys: raw.trusted_keys,
            hops: raw.hops,
            forward_user: raw.forward_user,
        }
    }
}

impl Resolve<'_> {
    /// An agent elsewhere, of which something is said at a path.
    pub(super) fn upstream(&mut self, path: &[&str], said: Said) -> UpstreamConfig {
        let within = |key| path.iter().copied().chain([key]).collect::<Vec<_>>();
        self.check_url(&within("url"), Some(&said.url));
        self.check_url(&within("card_url"), said.card_url.as_deref());
        let signatures = match said.signatures {
            raw::Signatures::Ignore => Signatures::Ignore,
            raw::Signatures::IfSigned => Signatures::IfSigned,
            raw::Signatures::Required => Signatures::Required,
        };
        if signatures != Signatures::Ignore && said.trusted_keys.is_empty() {
            let message = "`signatures`: no key is trusted, so that none could be right";
            self.problem(&within("signatures"), message, "name their files in `trusted_keys`");
        }
        let (key, version) = said.version;
        let version = version.and_then(|it| self.version(&within(key), &it));
        let variable = within("auth_token_env");
        let token = self.or_variable(&variable, said.auth_token, said.auth_token_env);
        let file = within("auth_token_file");
        let roots = said.root_certificates.map(|it| self.path(&within("root_certificates"), &it));
        let identity = self.identity(path, said.client_certificate, said.client_key);
        let keys = said.trusted_keys.iter();
        UpstreamConfig {
            url: said.url,
            card_url: said.card_url,
            call_url: said.call_url,
            root_certificates: roots,
            identity,
            headers: said.headers,
            token,
            token_file: said.auth_token_file.map(|it| self.path(&file, &it)),
            oauth: self.oauth(&within("oauth"), said.oauth),
            timeout: said.timeout.unwrap_or(TIMEOUT),
            idle: said.idle,
            stream: said.stream,
            tenant: said.tenant,
            version,
            binding: said.binding.map(|it| match it {
                Binding::Jsonrpc => ProtocolBinding::JsonRpc,
                Binding::HttpJson => ProtocolBinding::HttpJson,
                Binding::Grpc => ProtocolBinding::Grpc,
            }),
            signatures,
            trusted_keys: keys.map(|it| self.path(&within("trusted_keys"), it.as_ref())).collect(),
            hops: said.hops,
            forward_user: said.forward_user,
            user_agent: self.user_agent.clone(),
        }
    }

    /// The files of a certificate and its key, of which there are both or none.
    fn identity(
        &mut self,
        path: &[&str],
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
    ) -> Option<IdentityConfig> {
        let within = |key| path.iter().copied().chain([key]).collect::<Vec<_>>();
        match (certificate, key) {
            (Some(certificate), Some(key)) => Some(IdentityConfig {
                certificate: self.path(&within("client_certificate"), &certificate),
                key: self.path(&within("client_key"), &key),
            }),
            (None, None) => None,
            (certificate, _) => {
                let (has, needs) = match certificate {
                    Some(_) => ("client_certificate", "client_key"),
                    None => ("client_key", "client_certificate"),
                };
                self.problem(&within(has), format!("`{has}` needs `{needs}`"), "add it");
                None
            }
        }
    }

    fn oauth(&mut self, path: &[&str], raw: raw::OAuth) -> Option<OAuthConfig> {
        let variable: Vec<_> = path.iter().copied().chain(["client_secret_env"]).collect();
        let client_secret = self.or_variable(&variable, raw.client_secret, raw.client_secret_env);
        let (scopes, servers) = (raw.scopes, raw.servers);
        for (place, url) in servers.iter().enumerate() {
            let place = place.to_string();
            let within: Vec<_> = path.iter().copied().chain(["servers", &place]).collect();
            self.check_url(&within, Some(url));
        }
        match raw.client_id {
            Some(client_id) => Some(OAuthConfig { client_id, client_secret, scopes, servers }),
            None if client_secret.is_some() || !scopes.is_empty() || !servers.is_empty() => {
                self.problem(path, "`oauth` needs `client_id`", "add it");
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
