//! TLS: a certificate and its key in files, which are read again when they change.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::error::Error;

/// How often to look whether a file has changed.
const EVERY: Duration = Duration::from_secs(5);
/// What is spoken over TLS, the best first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// A certificate and its key, both files in PEM, and whose certificates callers may show.
///
/// The files are read again when they change. When that fails, the last that could be read stay in
/// use, and the log says so.
///
/// ```no_run
/// # use latimer_server::{ClientCertificates, Server, Tls};
/// let tls = Tls::new("server.pem", "server.key")
///     .client_ca("callers.pem", ClientCertificates::Required);
/// let server = Server::echo().tls(tls);
/// # drop(server);
/// ```
#[derive(Clone, Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    clients: Option<(PathBuf, ClientCertificates)>,
    every: Duration,
}

/// Whether callers must show certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// They must, or no connection comes about.
    #[default]
    Required,
    /// They may.
    Optional,
}

impl Tls {
    /// The files of a certificate, with those between it and its root, and of its key.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        let (certificate, key) = (certificate.into(), key.into());
        Self { certificate, key, clients: None, every: EVERY }
    }

    /// Has callers show certificates that one of those in this file has signed.
    #[must_use]
    pub fn client_ca(mut self, file: impl Into<PathBuf>, rule: ClientCertificates) -> Self {
        self.clients = Some((file.into(), rule));
        self
    }

    /// Looks for changes of the files that often, which is every five seconds otherwise.
    #[must_use]
    pub fn look_every(mut self, time: Duration) -> Self {
        self.every = time;
        self
    }

    /// Whether the files can be used.
    ///
    /// # Errors
    /// When one cannot be read, or they do not belong together.
    pub fn check(&self) -> Result<(), Error> {
        self.load().map(drop)
    }

    /// The certificates that it shows, in PEM.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn certificates(&self) -> io::Result<Vec<u8>> {
        fs::read(&self.certificate)
    }

    fn load(&self) -> Result<ServerConfig, Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| problem("tls.certificate", &error))?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some((file, rule)) => {
                let wrong =
                    |error: &dyn std::error::Error| problem_in("tls.client_ca", file, error);
                let mut roots = RootCertStore::empty();
                for certificate in certificates("tls.client_ca", file)? {
                    roots.add(certificate).map_err(|error| wrong(&error))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier = match rule {
                    ClientCertificates::Required => verifier,
                    ClientCertificates::Optional => verifier.allow_unauthenticated(),
                };
                builder.with_client_cert_verifier(verifier.build().map_err(|error| wrong(&error))?)
            }
        };
        let chain = certificates("tls.certificate", &self.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| problem_in("tls.key", &self.key, &error))?;
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|error| problem_in("tls.certificate", &self.certificate, &error))?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(config)
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        let clients = self.clients.as_ref().map(|(file, _)| file);
        [&self.certificate, &self.key].into_iter().chain(clients).map(PathBuf::as_path)
    }

    /// What changes when a file does.
    fn marks(&self) -> Vec<Option<Mark>> {
        self.files().map(|file| fs::metadata(file).ok().map(|it| Mark::of(&it))).collect()
    }
}

/// What of a file changes when its contents do.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    changed: Option<SystemTime>,
    length: u64,
    /// Another file of the same name has another number.
    number: u64,
}

impl Mark {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let number = 0;
        Self { changed: metadata.modified().ok(), length: metadata.len(), number }
    }
}

/// TLS as it is now. Cheap to clone; clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Secure(Arc<RwLock<Arc<ServerConfig>>>);

/// Files to read again when they change.
#[derive(Debug)]
pub(crate) struct Files {
    tls: Tls,
    /// From before they were read, so that no change is missed.
    seen: Vec<Option<Mark>>,
}

impl Secure {
    /// Reads the files.
    pub(crate) fn new(tls: Tls) -> Result<(Self, Files), Error> {
        let seen = tls.marks();
        let config = Arc::new(tls.load()?);
        Ok((Self(Arc::new(RwLock::new(config))), Files { tls, seen }))
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let config = self.0.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&config))
    }

    /// Reads the files again when they change, until it is told to leave.
    pub(crate) async fn follow(self, files: Files, leaving: CancellationToken) {
        let Files { tls, mut seen } = files;
        while leaving.run_until_cancelled(tokio::time::sleep(tls.every)).await.is_some() {
            let marks = tls.marks();
            if marks == seen {
                continue;
            }
            seen = marks;
            match tls.load() {
                Ok(config) => {
                    *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                    info!("certificate files have changed and are in use");
                }
                Err(error) => {
                    warn!(%error, "certificate files have changed and cannot be used");
                }
            }
        }
    }
}

fn certificates(setting: &'static str, file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let wrong = |error: &dyn std::error::Error| problem_in(setting, file, error);
    let found = CertificateDer::pem_file_iter(file).map_err(|error| wrong(&error))?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(|error| wrong(&error))?;
    match found.is_empty() {
        true => Err(wrong(&io::Error::other("there is no certificate in it"))),
        false => Ok(found),
    }
}

fn problem(setting: &'static str, error: &dyn std::error::Error) -> Error {
    Error::setting(setting, error.to_string())
}

fn problem_in(setting: &'static str, file: &Path, error: &dyn std::error::Error) -> Error {
    Error::setting(setting, format!("{}: {error}", file.display()))
}
