//! Authentication methods of a configuration.

use latimer_protocol::Secret;
use latimer_server::{AnyOf, JwtAuth, KeyDigest};

use crate::config::Config;
use crate::error::StartError;

/// Builds the configured authentication methods; `None` if none is configured.
pub(crate) fn authenticators(config: &Config) -> Result<Option<AnyOf>, StartError> {
    let mut authenticators = AnyOf::default();
    let keys = config.auth.keys.clone();
    let keys = match &config.api_key {
        Some(key) => keys.with_operator_key(key),
        None => keys,
    };
    if !keys.is_empty() {
        authenticators = authenticators.with(keys);
    }
    if let Some(settings) = &config.auth.jwt {
        authenticators =
            authenticators.with(JwtAuth::new(settings.clone()).map_err(StartError::Jwt)?);
    }
    if let Some(certificates) = &config.auth.certificates {
        authenticators = authenticators.with(certificates.clone());
    }
    Ok(Some(authenticators).filter(|it| !it.is_empty()))
}

/// Returns the digest of an API key for `sha256` of `[[auth.keys]]`.
#[must_use]
pub fn hash_key(key: &str) -> String {
    KeyDigest::from_key(&Secret::new(key)).to_string()
}
