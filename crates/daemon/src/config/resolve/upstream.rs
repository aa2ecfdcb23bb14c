//! Agents elsewhere, published or not.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::{Secret, Version};

use super::Resolver;
use crate::config::raw::{self, Binding};
use crate::config::{IdentityConfig, OAuthConfig, SignaturePolicy, UpstreamConfig};

/// How long a call may take unless told otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// What is said of an agent elsewhere, wherever it is said.
pub(super) struct UpstreamInput {
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
    pub(super) idle_timeout: Duration,
    pub(super) stream: bool,
    pub(super) tenant: Option<String>,
    /// Behind the key that it stands at.
    pub(super) version: (&'static str, Option<String>),
    pub(super) binding: Option<Binding>,
    pub(super) signatures: raw::SignaturePolicy,
    pub(super) trusted_keys: Vec<String>,
    pub(super) hops: u32,
    pub(super) forward_user: bool,
}

impl From<raw::Agent> for UpstreamInput {
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
            idle_timeout: raw.idle_timeout.0,
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

impl Resolver<'_> {
    /// An agent elsewhere, of which something is said at a path.
    pub(super) fn upstream(&mut self, path: &[&str], input: UpstreamInput) -> UpstreamConfig {
        let key_path = |key| path.iter().copied().chain([key]).collect::<Vec<_>>();
        self.check_url(&key_path("url"), Some(&input.url));
        self.check_url(&key_path("card_url"), input.card_url.as_deref());
        let signatures = match input.signatures {
            raw::SignaturePolicy::Ignore => SignaturePolicy::Ignore,
            raw::SignaturePolicy::IfSigned => SignaturePolicy::IfSigned,
            raw::SignaturePolicy::Required => SignaturePolicy::Required,
        };
        if signatures != SignaturePolicy::Ignore && input.trusted_keys.is_empty() {
            let message = "`signatures`: no key is trusted, so that none could be right";
            self.report_error(
                &key_path("signatures"),
                message,
                "name their files in `trusted_keys`",
            );
        }
        let (key, version) = input.version;
        let version = version.and_then(|it| self.parse_version(&key_path(key), &it));
        let variable = key_path("auth_token_env");
        let token = self.secret_or_env(&variable, input.auth_token, input.auth_token_env);
        let file = key_path("auth_token_file");
        let root_certificates =
            input.root_certificates.map(|it| self.path(&key_path("root_certificates"), &it));
        let identity = self.identity(path, input.client_certificate, input.client_key);
        let keys = input.trusted_keys.iter();
        UpstreamConfig {
            url: input.url,
            card_url: input.card_url,
            ignore_card_urls: input.call_url,
            root_certificates,
            identity,
            headers: input.headers,
            token,
            token_file: input.auth_token_file.map(|it| self.path(&file, &it)),
            oauth: self.oauth(&key_path("oauth"), input.oauth),
            timeout: input.timeout.unwrap_or(DEFAULT_TIMEOUT),
            idle_timeout: input.idle_timeout,
            use_streams: input.stream,
            tenant: input.tenant,
            version,
            binding: input.binding.map(|it| match it {
                Binding::Jsonrpc => ProtocolBinding::JsonRpc,
                Binding::HttpJson => ProtocolBinding::HttpJson,
                Binding::Grpc => ProtocolBinding::Grpc,
            }),
            signature_policy: signatures,
            trusted_keys: keys
                .map(|it| self.path(&key_path("trusted_keys"), it.as_ref()))
                .collect(),
            max_hops: input.hops,
            forward_user: input.forward_user,
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
        let key_path = |key| path.iter().copied().chain([key]).collect::<Vec<_>>();
        match (certificate, key) {
            (Some(certificate), Some(key)) => Some(IdentityConfig {
                certificate: self.path(&key_path("client_certificate"), &certificate),
                key: self.path(&key_path("client_key"), &key),
            }),
            (None, None) => None,
            (certificate, _) => {
                let (has, needs) = match certificate {
                    Some(_) => ("client_certificate", "client_key"),
                    None => ("client_key", "client_certificate"),
                };
                self.report_error(&key_path(has), format!("`{has}` needs `{needs}`"), "add it");
                None
            }
        }
    }

    fn oauth(&mut self, path: &[&str], raw: raw::OAuth) -> Option<OAuthConfig> {
        let variable: Vec<_> = path.iter().copied().chain(["client_secret_env"]).collect();
        let client_secret = self.secret_or_env(&variable, raw.client_secret, raw.client_secret_env);
        let (scopes, servers) = (raw.scopes, raw.servers);
        for (index, url) in servers.iter().enumerate() {
            let index = index.to_string();
            let server_path: Vec<_> = path.iter().copied().chain(["servers", &index]).collect();
            self.check_url(&server_path, Some(url));
        }
        match raw.client_id {
            Some(client_id) => {
                Some(OAuthConfig { client_id, client_secret, scopes, trusted_servers: servers })
            }
            None if client_secret.is_some() || !scopes.is_empty() || !servers.is_empty() => {
                self.report_error(path, "`oauth` needs `client_id`", "add it");
                None
            }
            None => None,
        }
    }

    pub(super) fn parse_version(&mut self, path: &[&str], text: &str) -> Option<Version> {
        let version = text.parse().ok();
        if version.is_none() {
            let supported = Version::ALL.map(Version::as_str).join(", ");
            let key = path.last().copied().unwrap_or_default();
            let message = format!("`{key}`: {text:?} is no version of A2A");
            self.report_error(path, message, format!("there are: {supported}"));
        }
        version
    }

    /// A secret, or the variable of the environment that has it.
    pub(super) fn secret_or_env(
        &mut self,
        path: &[&str],
        secret: Option<Secret>,
        variable: Option<String>,
    ) -> Option<Secret> {
        let Some(variable) = variable.filter(|_| secret.is_none()) else { return secret };
        let value = self.environment.var(&variable);
        if value.is_none() {
            self.report_warning(path, format!("the variable {variable} is not set"));
        }
        value.map(Secret::new)
    }
}
