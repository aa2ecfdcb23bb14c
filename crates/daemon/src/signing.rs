//! Reads the keys.

use std::fs;
use std::path::Path;

use latimer_protocol::card::{InvalidKey, KeySet, SigningKey};
use latimer_server::Keyring;

use crate::config::Config;
use crate::error::StartError;

/// The keys that a configuration names, if it does.
pub(crate) fn keyring(config: &Config) -> Result<Option<Keyring>, StartError> {
    let Some(signing) = &config.signing else { return Ok(None) };
    let mut keyring = read(&signing.key, |text| Keyring::new(SigningKey::read(text)?))?;
    for path in &signing.publish {
        keyring = read(path, |text| keyring.publish(&KeySet::read(text)?))?;
    }
    Ok(Some(keyring))
}

fn read<T>(path: &Path, take: impl FnOnce(&str) -> Result<T, InvalidKey>) -> Result<T, StartError> {
    let text = fs::read_to_string(path)
        .map_err(|source| StartError::KeyFile { path: path.to_owned(), source })?;
    take(&text).map_err(|source| StartError::Key { path: path.to_owned(), source })
}
