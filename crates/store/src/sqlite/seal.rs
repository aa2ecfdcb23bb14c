//! Encryption of secrets in the database with a key from a separate file.
//!
//! A copy of the database without the key file does not reveal secrets.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::rand;
use parking_lot::Mutex;

/// Length of the key in bytes.
const KEY_BYTES: usize = 32;

/// Encrypts and decrypts secrets with AES-256-GCM. The key is created when the first secret is
/// sealed.
#[derive(Debug)]
pub(super) struct Seal {
    path: PathBuf,
    key: Mutex<Option<Arc<RandomizedNonceKey>>>,
}

impl Seal {
    /// Creates the seal of the database at `path`. The key file has the same path with `.key`
    /// appended.
    pub(super) fn for_database(path: &Path) -> Self {
        Self { path: key_path(path), key: Mutex::default() }
    }

    /// Encrypts `plaintext`. Decryption requires the same associated data. Blocks on disk I/O until
    /// the key is loaded.
    pub(super) fn seal(
        &self,
        mut plaintext: Vec<u8>,
        associated_data: &str,
    ) -> io::Result<Vec<u8>> {
        let key = self.key(Self::read_or_create_key)?;
        let nonce =
            key.seal_in_place_append_tag(Aad::from(associated_data.as_bytes()), &mut plaintext);
        let nonce = nonce.map_err(io::Error::other)?;
        Ok([&nonce.as_ref()[..], &plaintext].concat())
    }

    /// Decrypts a secret. Fails if the key or the associated data is another one, or the data is
    /// corrupt.
    pub(super) fn unseal(&self, sealed: &[u8], associated_data: &str) -> io::Result<Vec<u8>> {
        let key = self.key(Self::read_key_file)?;
        let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "sealed with another key");
        let (nonce, ciphertext) = sealed.split_at_checked(NONCE_LEN).unwrap_or_default();
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(invalid)?;
        let mut plaintext = ciphertext.to_vec();
        let aad = Aad::from(associated_data.as_bytes());
        let length = key.open_in_place(nonce, aad, &mut plaintext).map_err(invalid)?.len();
        plaintext.truncate(length);
        Ok(plaintext)
    }

    fn key(
        &self,
        get: impl FnOnce(&Self) -> io::Result<[u8; KEY_BYTES]>,
    ) -> io::Result<Arc<RandomizedNonceKey>> {
        let mut key = self.key.lock();
        if let Some(key) = &*key {
            return Ok(key.clone());
        }
        let bytes = get(self)?;
        let new = RandomizedNonceKey::new(&AES_256_GCM, &bytes).map_err(io::Error::other)?;
        Ok(key.insert(Arc::new(new)).clone())
    }

    fn read_key_file(&self) -> io::Result<[u8; KEY_BYTES]> {
        let with_path = |error: io::Error| {
            io::Error::new(
                error.kind(),
                format!("cannot read the key file {}: {error}", self.path.display()),
            )
        };
        let mut bytes = [0; KEY_BYTES];
        let read = File::open(&self.path).and_then(|mut file| file.read_exact(&mut bytes));
        read.map_err(with_path)?;
        Ok(bytes)
    }

    /// Reads the key, or creates and syncs a new one before anything is encrypted with it.
    fn read_or_create_key(&self) -> io::Result<[u8; KEY_BYTES]> {
        match self.read_key_file() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            read => return read,
        }
        let mut bytes = [0; KEY_BYTES];
        rand::fill(&mut bytes).map_err(io::Error::other)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // Renamed when complete, so that a crash leaves no partial key.
        let mut temp_path = self.path.clone().into_os_string();
        temp_path.push(".new");
        let mut file = options.open(&temp_path)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&temp_path, &self.path)?;
        if let Some(directory) = self.path.parent() {
            File::open(directory)?.sync_all()?;
        }
        Ok(bytes)
    }
}

/// Returns the path of the key file of a database.
pub(super) fn key_path(database: &Path) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(".key");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unseal_requires_same_key_and_associated_data() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let seal = Seal::for_database(&directory.path().join("tasks.db"));
        assert!(seal.unseal(&[0; 64], "a").is_err(), "unsealing does not create a key");
        assert!(!directory.path().join("tasks.db.key").exists());
        let sealed = seal.seal(b"hunter2".to_vec(), "a")?;
        assert!(!sealed.windows(7).any(|it| it == b"hunter2"));
        assert_ne!(
            sealed,
            seal.seal(b"hunter2".to_vec(), "a")?,
            "equal secrets have different ciphertexts"
        );
        let reopened = Seal::for_database(&directory.path().join("tasks.db"));
        assert_eq!(reopened.unseal(&sealed, "a")?, b"hunter2");
        assert!(reopened.unseal(&sealed, "b").is_err());
        for index in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[index] ^= 1;
            assert!(reopened.unseal(&damaged, "a").is_err());
            assert!(reopened.unseal(&sealed[..index], "a").is_err());
        }
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn key_file_is_readable_only_by_owner() -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir()?;
        Seal::for_database(&directory.path().join("tasks.db")).seal(Vec::new(), "")?;
        let mode = fs::metadata(directory.path().join("tasks.db.key"))?.permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        Ok(())
    }
}
