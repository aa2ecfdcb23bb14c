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
pub(crate) const EVERY: Duration = Duration::from_secs(5);

/// The keys that a configuration names, if it does.
pub(crate) fn keyring(config: &Config) -> Result<Option<Keyring>, StartError> {
    config.signing.as_ref().map(load).transpose()
}

fn load(signing: &SigningConfig) -> Result<Keyring, StartError> {
    let mut keyring = read(&signing.key, |text| Keyring::new(SigningKey::read(text)?))?;
    for path in &signing.publish {
        keyring = read(path, |text| keyring.publish(&KeySet::read(text)?))?;
    }
    Ok(keyring)
}

/// Signs with the next key as soon as its file is there in place of the former one. A file that
/// cannot be used changes nothing.
pub(crate) async fn follow(
    signing: SigningConfig,
    keyring: Keyring,
    mut seen: Vec<Option<String>>,
    every: Duration,
) {
    loop {
        tokio::time::sleep(every).await;
        let now = texts(&signing);
        if now == seen {
            continue;
        }
        seen = now;
        let replaced = load(&signing).map(|next| keyring.replace(&next));
        match replaced {
            Ok(Ok(())) => info!(kid = keyring.kid(), "signing keys were read again"),
            Ok(Err(error)) => warn!(%error, "signing keys stay as they were"),
            Err(error) => warn!(%error, "signing keys stay as they were"),
        }
    }
}

/// What the files say. They are short. From before they are used, so that no change is missed.
pub(crate) fn texts(signing: &SigningConfig) -> Vec<Option<String>> {
    let files: Vec<&PathBuf> = [&signing.key].into_iter().chain(&signing.publish).collect();
    files.into_iter().map(|it| fs::read_to_string(it).ok()).collect()
}

/// Reads a file that has a key, or several.
pub(crate) fn read<T>(
    path: &Path,
    take: impl FnOnce(&str) -> Result<T, InvalidKey>,
) -> Result<T, StartError> {
    let text = fs::read_to_string(path)
        .map_err(|source| StartError::KeyFile { path: path.to_owned(), source })?;
    take(&text).map_err(|source| StartError::Key { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use latimer_protocol::card::JwsAlgorithm;
    use latimer_server::generate_key;

    use super::*;

    #[tokio::test]
    async fn a_key_that_is_replaced_signs_from_then_on_and_a_broken_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("signing.pem");
        let write = |text: &str| {
            let new = folder.path().join("new");
            fs::write(&new, text).unwrap();
            fs::rename(new, &key).unwrap();
        };
        let new = || generate_key(JwsAlgorithm::EdDsa).unwrap();
        write(new().reveal());
        let signing = SigningConfig { key: key.clone(), publish: Vec::new() };
        let seen = texts(&signing);
        let keyring = load(&signing).unwrap();
        let first = keyring.kid();
        let every = Duration::from_millis(5);
        let following = tokio::spawn(follow(signing, keyring.clone(), seen, every));
        write("no key");
        tokio::time::sleep(4 * every).await;
        assert_eq!(keyring.kid(), first);
        let next = new();
        write(next.reveal());
        while keyring.kid() == first {
            tokio::time::sleep(every).await;
        }
        assert_eq!(keyring.kid(), SigningKey::read(next.reveal()).unwrap().kid());
        following.abort();
    }
}
