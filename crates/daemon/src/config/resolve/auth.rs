//! Authentication and TLS.

use latimer_server::{
    ApiKeys, CertificateAuth, CertificateName, ClientCertificateMode, JwtSettings, Tls,
};

use super::Resolver;
use crate::config::{AgentConfig, AuthConfig, Diagnostic, raw};

/// Hint for settings that need authentication.
const CONFIGURE_AUTH_HINT: &str =
    "configure authentication: set `api_key`, `[[auth.keys]]`, `[auth.jwt]` or `tls.client_ca`";

impl Resolver<'_> {
    pub(super) fn resolve_auth(&mut self, raw: raw::Auth, tls: &raw::Tls) -> AuthConfig {
        let named_by = match tls.client_name {
            raw::CertificateName::Subject => CertificateName::Subject,
            raw::CertificateName::Dns => CertificateName::Dns,
            raw::CertificateName::Uri => CertificateName::Uri,
            raw::CertificateName::Email => CertificateName::Email,
        };
        let certificates =
            || CertificateAuth::named_by(named_by).with_scopes(tls.client_scopes.clone());
        AuthConfig {
            keys: self.resolve_api_keys(raw.keys),
            jwt: self.resolve_jwt(raw.jwt),
            certificates: tls.client_ca.is_some().then(certificates),
        }
    }

    fn resolve_api_keys(&mut self, raw: Vec<raw::ApiKey>) -> ApiKeys {
        let mut keys = ApiKeys::default();
        let mut seen = Vec::new();
        for (index, raw::ApiKey { name, sha256, scopes }) in raw.into_iter().enumerate() {
            let index = index.to_string();
            let path = ["auth", "keys", &index, "sha256"];
            if name.is_empty() || seen.iter().any(|(it, _)| *it == name) {
                let provenance = self.provenance(&["auth", "keys", &index, "name"]);
                let (message, hint) = match name.is_empty() {
                    true => ("`name` of an API key is empty".to_owned(), "give the key a name"),
                    false => {
                        (format!("there are two API keys named {name:?}"), "rename one of them")
                    }
                };
                self.diagnostics.push(Diagnostic::new(provenance, message).with_hint(hint));
            }
            // The value may be the key itself, so the message does not contain it.
            let Ok(digest) = sha256.reveal().parse() else {
                let message = format!("`sha256` of key {name:?} is not 64 hexadecimal digits");
                self.report_error(&path, message, "compute it with `latimer config hash-key`");
                continue;
            };
            if seen.iter().any(|(_, it)| *it == digest) {
                let message = format!("key {name:?} duplicates another key");
                self.report_error(&path, message, "give each caller a different key");
            }
            seen.push((name.clone(), digest));
            keys = keys.with_key(&name, digest, scopes);
        }
        keys
    }

    fn resolve_jwt(&mut self, raw: raw::Jwt) -> Option<JwtSettings> {
        let Some(issuer) = raw.issuer else {
            if !raw.audience.is_empty() || raw.jwks_url.is_some() {
                let message = "`auth.jwt` needs `issuer`: without it, tokens are not accepted";
                let hint = "set it to the URL of the token issuer, as in the claim `iss`";
                self.report_error(&["auth", "jwt"], message, hint);
            }
            return None;
        };
        let mut settings = JwtSettings::new(issuer, "");
        settings.audiences = raw.audience;
        settings.keys_url = raw.jwks_url;
        settings.leeway = raw.leeway;
        settings.scopes = raw.scopes;
        settings.principal_claim = raw.principal_claim;
        settings.keys_max_age = raw.keys_max_age;
        settings.keys_max_stale = raw.jwks_max_stale;
        let algorithms = raw.algorithms.iter().map(|it| it.parse()).collect::<Result<_, _>>();
        let checked = algorithms.and_then(|algorithms| {
            settings.algorithms = algorithms;
            settings.check()
        });
        if let Err(error) = checked {
            let provenance = self.provenance(&["auth", "jwt", error.setting]);
            let message = format!("`auth.jwt.{}`: {}", error.setting, error.problem);
            self.diagnostics.push(Diagnostic::new(provenance, message));
        }
        Some(settings)
    }

    pub(super) fn resolve_tls(&mut self, raw: raw::Tls) -> Option<Tls> {
        let raw::Tls { certificate, key, client_ca, client_certificates, .. } = raw;
        let (certificate, key) = match (certificate, key, &client_ca) {
            (Some(certificate), Some(key), _) => (certificate, key),
            (None, None, None) => return None,
            (None, _, _) => {
                let message = "`tls` needs `certificate`: without it, TLS is disabled";
                let hint = "set `certificate` and `key` to the PEM files of the server";
                self.report_error(&["tls"], message, hint);
                return None;
            }
            (Some(_), None, _) => {
                let message = "`tls` needs `key`: the certificate cannot be used without it";
                let hint = "set `key` to the PEM file with the private key of the certificate";
                self.report_error(&["tls"], message, hint);
                return None;
            }
        };
        let tls = Tls::new(certificate, key);
        let mode = match client_certificates {
            raw::ClientCertificateMode::Required => ClientCertificateMode::Required,
            raw::ClientCertificateMode::Optional => ClientCertificateMode::Optional,
        };
        Some(match client_ca {
            Some(file) => tls.client_ca(file, mode),
            None => tls,
        })
    }

    /// Reports settings that have no effect without authentication.
    pub(super) fn check_auth_settings(
        &mut self,
        requires_auth: bool,
        card_requires_auth: bool,
        agents: &[AgentConfig],
    ) {
        if requires_auth {
            return;
        }
        if card_requires_auth {
            let message = "`card_requires_auth` has no effect: no authentication is configured";
            self.report_error(&["card_requires_auth"], message, CONFIGURE_AUTH_HINT);
        }
        for (index, agent) in agents.iter().enumerate() {
            if !agent.access().is_unrestricted() {
                let path = ["agents", &index.to_string(), "allow"];
                let name = &agent.name;
                let message = format!(
                    "`allow` rejects every caller of agent {name:?}: no authentication is configured"
                );
                self.report_error(&path, message, CONFIGURE_AUTH_HINT);
            }
        }
    }

    pub(super) fn check_public_paths(&mut self, paths: &[String]) {
        for (index, path) in paths.iter().enumerate() {
            if !path.starts_with('/') {
                let key = ["public_paths", &index.to_string()];
                let message = format!("`public_paths`: {path:?} does not start with `/`");
                let hint = "use the form \"/metrics\" or \"/a2a/agents/open/*\"";
                self.report_error(&key, message, hint);
            }
        }
    }
}
