//! Secrets in the database: unreadable without a key, which is in a file of its own.
//!
//! Whoever gets hold of a copy of the database has no secrets, as long as they do not have the key.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::rand;

/// How long a key is, in bytes.
const KEY: usize = 32;

/// Seals and unseals. The key is made when there is something to seal for the first time.
#[derive(Debug)]
pub(super) struct Seal {
    path: PathBuf,
    key: Mutex<Option<Arc<RandomizedNonceKey>>>,
}

impl Seal {
    /// For the database at `path`: the key is beside it.
    pub(super) fn beside(path: &Path) -> Self {
        let mut name = OsString::from(path);
        name.push(".key");
        Self { path: name.into(), key: Mutex::default() }
    }

    /// Makes a text unreadable. It is only to be read again as something about `about`.
    pub(super) fn seal(&self, mut text: Vec<u8>, about: &str) -> io::Result<Vec<u8>> {
        let key = self.key(Self::make)?;
        let nonce = key.seal_in_place_append_tag(Aad::from(about.as_bytes()), &mut text);
        let nonce = nonce.map_err(io::Error::other)?;
        Ok([&nonce.as_ref()[..], &text].concat())
    }

    /// Makes it readable again.
    pub(super) fn unseal(&self, sealed: &[u8], about: &str) -> io::Result<Vec<u8>> {
        let key = self.key(Self::read)?;
        let damaged = |_| io::Error::new(io::ErrorKind::InvalidData, "sealed with another key");
        let (nonce, text) = sealed.split_at_checked(NONCE_LEN).unwrap_or_default();
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(damaged)?;
        let mut text = text.to_vec();
        let about = Aad::from(about.as_bytes());
        let length = key.open_in_place(nonce, about, &mut text).map_err(damaged)?.len();
        text.truncate(length);
        Ok(text)
    }

    fn key(
        &self,
        get: impl FnOnce(&Self) -> io::Result<[u8; KEY]>,
    ) -> io::Result<Arc<RandomizedNonceKey>> {
        let mut key = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = &*key {
            return Ok(key.clone());
        }
        let bytes = get(self)?;
        let new = RandomizedNonceKey::new(&AES_256_GCM, &bytes).map_err(io::Error::other)?;
        Ok(key.insert(Arc::new(new)).clone())
    }

    fn read(&self) -> io::Result<[u8; KEY]> {
        let explain = |error: io::Error| {
            io::Error::new(error.kind(), format!("the key {}: {error}", self.path.display()))
        };
        let mut bytes = [0; KEY];
        let read = File::open(&self.path).and_then(|mut file| file.read_exact(&mut bytes));
        read.map_err(explain)?;
        Ok(bytes)
    }

    /// The key that is there, or a new one. It is on the disk before anything is sealed with it.
    fn make(&self) -> io::Result<[u8; KEY]> {
        match self.read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            read => return read,
        }
        let mut bytes = [0; KEY];
        rand::fill(&mut bytes).map_err(io::Error::other)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // Under another name first: a key is whole, or not there.
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        let mut file = options.open(&new)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        if let Some(folder) = self.path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_read_with_its_key_and_purpose_alone() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let seal = Seal::beside(&folder.path().join("tasks.db"));
        assert!(seal.unseal(&[0; 64], "a").is_err(), "there is no key, and none is made to read");
        assert!(!folder.path().join("tasks.db.key").exists());
        let sealed = seal.seal(b"hunter2".to_vec(), "a")?;
        assert!(!sealed.windows(7).any(|it| it == b"hunter2"));
        assert_ne!(sealed, seal.seal(b"hunter2".to_vec(), "a")?, "nothing shows by being alike");
        let again = Seal::beside(&folder.path().join("tasks.db"));
        assert_eq!(again.unseal(&sealed, "a")?, b"hunter2");
        assert!(again.unseal(&sealed, "b").is_err());
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert!(again.unseal(&damaged, "a").is_err());
            assert!(again.unseal(&sealed[..at], "a").is_err());
        }
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn the_key_is_its_owners_alone() -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir()?;
        Seal::beside(&folder.path().join("tasks.db")).seal(Vec::new(), "")?;
        let mode = fs::metadata(folder.path().join("tasks.db.key"))?.permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        Ok(())
    }
}
