//! Who may call.

use latimer_server::{
    ApiKeys, CertificateAuth, CertificateName, ClientCertificateMode, JwtSettings, Tls,
};

use super::Resolve;
use crate::config::{AgentConfig, AuthConfig, Problem, raw};

/// What to do when nobody is asked who they are.
const NAME_SOMEBODY: &str =
    "set `api_key`, or say in `[[auth.keys]]`, `[auth.jwt]` or `tls.client_ca` who may call";

impl Resolve<'_> {
    pub(super) fn auth(&mut self, raw: raw::Auth, tls: &raw::Tls) -> AuthConfig {
        let name = match tls.client_name {
            raw::ClientName::Subject => CertificateName::Subject,
            raw::ClientName::Dns => CertificateName::Dns,
            raw::ClientName::Uri => CertificateName::Uri,
            raw::ClientName::Email => CertificateName::Email,
        };
        let certificates =
            || CertificateAuth::named_by(name).with_scopes(tls.client_scopes.clone());
        AuthConfig {
            keys: self.keys(raw.keys),
            jwt: self.jwt(raw.jwt),
            certificates: tls.client_ca.is_some().then(certificates),
        }
    }

    fn keys(&mut self, raw: Vec<raw::Key>) -> ApiKeys {
        let mut keys = ApiKeys::default();
        let mut seen = Vec::new();
        for (place, raw::Key { name, sha256, scopes }) in raw.into_iter().enumerate() {
            let place = place.to_string();
            let path = ["auth", "keys", &place, "sha256"];
            if name.is_empty() || seen.iter().any(|(it, _)| *it == name) {
                let origin = self.origin(&["auth", "keys", &place, "name"]);
                let message = format!("each key needs a name of its own, and {name:?} is none");
                self.problems.push(Problem::new(origin, message));
            }
            // What stands there may be the key itself, so that it is not repeated.
            let Ok(digest) = sha256.reveal().parse() else {
                let message =
                    format!("the `sha256` of the key {name:?} is not 64 digits in hexadecimal");
                self.problem(&path, message, "make it with `latimer config hash-key`");
                continue;
            };
            if seen.iter().any(|(_, it)| *it == digest) {
                let message = format!("the key {name:?} is the same as another");
                self.problem(&path, message, "nobody could tell their callers apart");
            }
            seen.push((name.clone(), digest));
            keys = keys.with_key(&name, digest, scopes);
        }
        keys
    }

    fn jwt(&mut self, raw: raw::Jwt) -> Option<JwtSettings> {
        let Some(issuer) = raw.issuer else {
            if !raw.audience.is_empty() || raw.jwks_url.is_some() {
                let message = "`auth.jwt` needs `issuer`: without it, no tokens count";
                self.problem(&["auth", "jwt"], message, "say who issues the tokens");
            }
            return None;
        };
        let mut settings = JwtSettings::new(issuer, "");
        settings.audiences = raw.audience;
        settings.keys_url = raw.jwks_url;
        settings.leeway = raw.leeway.0;
        settings.scopes = raw.scopes;
        settings.principal_claim = raw.principal_claim;
        settings.keys_max_age = raw.keys_max_age.0;
        let algorithms = raw.algorithms.iter().map(|it| it.parse()).collect::<Result<_, _>>();
        let checked = algorithms.and_then(|algorithms| {
            settings.algorithms = algorithms;
            settings.check()
        });
        if let Err(error) = checked {
            let origin = self.origin(&["auth", "jwt", error.setting]);
            let message = format!("`auth.jwt.{}`: {}", error.setting, error.problem);
            self.problems.push(Problem::new(origin, message));
        }
        Some(settings)
    }

    pub(super) fn tls(&mut self, raw: raw::Tls) -> Option<Tls> {
        let raw::Tls { certificate, key, client_ca, client_certificates, .. } = raw;
        let (certificate, key) = match (certificate, key, &client_ca) {
            (Some(certificate), Some(key), _) => (certificate, key),
            (None, None, None) => return None,
            (None, _, _) => {
                let message = "`tls` needs `certificate`: without it, there is no TLS";
                self.problem(&["tls"], message, "name the certificate of the server and its key");
                return None;
            }
            (Some(_), None, _) => {
                let message = "`tls` needs `key`: the certificate is of no use without it";
                self.problem(&["tls"], message, "name the private key of the certificate");
                return None;
            }
        };
        let certificate = self.path(&["tls", "certificate"], &certificate);
        let tls = Tls::new(certificate, self.path(&["tls", "key"], &key));
        let rule = match client_certificates {
            raw::ClientCertificates::Required => ClientCertificateMode::Required,
            raw::ClientCertificates::Optional => ClientCertificateMode::Optional,
        };
        Some(match client_ca {
            Some(file) => tls.client_ca(self.path(&["tls", "client_ca"], &file), rule),
            None => tls,
        })
    }

    /// What only makes sense when callers are told apart.
    pub(super) fn check_guarded(&mut self, guarded: bool, cards: bool, agents: &[AgentConfig]) {
        if guarded {
            return;
        }
        if cards {
            let message = "`card_requires_auth` closes nothing: nobody is asked who they are";
            self.problem(&["card_requires_auth"], message, NAME_SOMEBODY);
        }
        for (place, agent) in agents.iter().enumerate() {
            if !agent.access.is_unrestricted() {
                let path = ["agents", &place.to_string(), "allow"];
                let name = &agent.name;
                let message =
                    format!("nobody could use the agent {name:?}: nobody is asked who they are");
                self.problem(&path, message, NAME_SOMEBODY);
            }
        }
    }

    pub(super) fn check_public_paths(&mut self, paths: &[String]) {
        for (place, path) in paths.iter().enumerate() {
            if !path.starts_with('/') {
                let key = ["public_paths", &place.to_string()];
                let message = format!("`public_paths`: {path:?} is no path");
                self.problem(&key, message, "write it like \"/metrics\" or \"/a2a/agents/open/*\"");
            }
        }
    }
}
