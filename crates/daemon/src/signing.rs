//! Reads the signing keys, and reloads them when their files change.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use latimer_protocol::card::{InvalidKey, KeySet, SigningKey};
use latimer_server::Keyring;

use tracing::{info, warn};

use crate::config::{Config, SigningConfig};
use crate::error::StartError;

/// Interval between checks of the key files.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Reads the configured keys; `None` if no key is configured.
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

/// Reloads the keys when their files change, until the future is dropped. If a file cannot be used,
/// logs a warning and keeps the current keys.
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
            Ok(Ok(())) => info!(kid = keyring.kid(), "signing keys reloaded"),
            Ok(Err(error)) => warn!(%error, "signing keys not reloaded"),
            Err(error) => warn!(%error, "signing keys not reloaded"),
        }
    }
}

/// Returns the contents of the key files; `None` for a file that cannot be read. Called before the
/// keys are loaded, so that a later change is noticed.
pub(crate) fn read_key_files(signing: &SigningConfig) -> Vec<Option<String>> {
    let files: Vec<&PathBuf> =
        [&signing.key_file].into_iter().chain(&signing.published_key_files).collect();
    files.into_iter().map(|it| fs::read_to_string(it).ok()).collect()
}

/// Reads a file with one or more keys.
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
        let mut watcher = tokio::task::JoinSet::new();
        watcher.spawn(watch_keys(signing, keyring.clone(), contents, interval));
        write("no key");
        tokio::time::sleep(4 * interval).await;
        assert_eq!(keyring.kid(), first);
        let next = new_key();
        write(next.reveal());
        while keyring.kid() == first {
            tokio::time::sleep(interval).await;
        }
        assert_eq!(keyring.kid(), SigningKey::read(next.reveal()).unwrap().kid());
    }
}
