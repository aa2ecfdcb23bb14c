//! Reads the keys, and reads them again when they change.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use latimer_protocol::card::{InvalidKey, KeySet, SigningKey};
use latimer_server::Keyring;

use tracing::{info, warn};

use crate::config::{Config, SigningConfig};
use crate::error::StartError;

/// How often to look whether keys have changed.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The keys that a configuration names, if it does.
pub(crate) fn configured_keyring(config: &Config) -> Result<Option<Keyring>, StartError> {
    config.signing.as_ref().map(load_keyring).transpose()
}

fn load_keyring(signing: &SigningConfig) -> Result<Keyring, StartError> {
    let mut keyring =
        read_key_file(&signing.key_file, |text| Keyring::new(SigningKey::read(text)?))?;
    for path in &signing.published_key_files {
        keyring = read_key_file(path, |text| keyring.publish(&KeySet::read(text)?))?;
    }
    Ok(keyring)
}

/// Signs with the next key as soon as its file is there in place of the former one. A file that
/// cannot be used changes nothing.
pub(crate) async fn watch_keys(
    signing: SigningConfig,
    keyring: Keyring,
    mut last_contents: Vec<Option<String>>,
    interval: Duration,
) {
    loop {
        tokio::time::sleep(interval).await;
        let contents = read_key_files(&signing);
        if contents == last_contents {
            continue;
        }
        last_contents = contents;
        let replaced = load_keyring(&signing).map(|next| keyring.replace(&next));
        match replaced {
            Ok(Ok(())) => info!(kid = keyring.kid(), "signing keys were read again"),
            Ok(Err(error)) => warn!(%error, "signing keys stay as they were"),
            Err(error) => warn!(%error, "signing keys stay as they were"),
        }
    }
}

/// What the files say. They are short. From before they are used, so that no change is missed.
pub(crate) fn read_key_files(signing: &SigningConfig) -> Vec<Option<String>> {
    let files: Vec<&PathBuf> =
        [&signing.key_file].into_iter().chain(&signing.published_key_files).collect();
    files.into_iter().map(|it| fs::read_to_string(it).ok()).collect()
}

/// Reads a file that has a key, or several.
pub(crate) fn read_key_file<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, InvalidKey>,
) -> Result<T, StartError> {
    let text = fs::read_to_string(path)
        .map_err(|source| StartError::KeyFile { path: path.to_owned(), source })?;
    parse(&text).map_err(|source| StartError::UnusableKey { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use latimer_protocol::card::JwsAlgorithm;
    use latimer_server::generate_key;

    use super::*;

    #[tokio::test]
    async fn replaced_key_is_used_and_unusable_key_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("signing.pem");
        let write = |text: &str| {
            let new_path = directory.path().join("new");
            fs::write(&new_path, text).unwrap();
            fs::rename(new_path, &key).unwrap();
        };
        let new_key = || generate_key(JwsAlgorithm::EdDsa).unwrap();
        write(new_key().reveal());
        let signing = SigningConfig { key_file: key.clone(), published_key_files: Vec::new() };
        let contents = read_key_files(&signing);
        let keyring = load_keyring(&signing).unwrap();
        let first = keyring.kid();
        let interval = Duration::from_millis(5);
        let watcher = tokio::spawn(watch_keys(signing, keyring.clone(), contents, interval));
        write("no key");
        tokio::time::sleep(4 * interval).await;
        assert_eq!(keyring.kid(), first);
        let next = new_key();
        write(next.reveal());
        while keyring.kid() == first {
            tokio::time::sleep(interval).await;
        }
        assert_eq!(keyring.kid(), SigningKey::read(next.reveal()).unwrap().kid());
        watcher.abort();
    }
}
