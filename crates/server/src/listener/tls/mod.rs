//! TLS: a certificate and its key in files, which are read again when they change.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::{Duration, SystemTime};

use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::auth::ClientCertificate;
use crate::error::Error;
use crate::sync::{read_unpoisoned, write_unpoisoned};

/// How often to look whether a file has changed.
const RELOAD_INTERVAL: Duration = Duration::from_secs(5);
/// What is spoken over TLS, the best first.
const ALPN_PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// A certificate and its key, both files in PEM, and whose certificates callers may show.
///
/// The files are read again when they change. When that fails, the last that could be read stay in
/// use, and the log says so.
///
/// ```no_run
/// # use latimer_server::{ClientCertificateMode, Server, Tls};
/// let tls = Tls::new("server.pem", "server.key")
///     .client_ca("callers.pem", ClientCertificateMode::Required);
/// let server = Server::echo().tls(tls);
/// # drop(server);
/// ```
#[derive(Clone, Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    client_ca: Option<(PathBuf, ClientCertificateMode)>,
    reload_interval: Duration,
}

/// Whether callers must show certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificateMode {
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
        Self { certificate, key, client_ca: None, reload_interval: RELOAD_INTERVAL }
    }

    /// Has callers show certificates that one of those in this file has signed.
    #[must_use]
    pub fn client_ca(mut self, file: impl Into<PathBuf>, mode: ClientCertificateMode) -> Self {
        self.client_ca = Some((file.into(), mode));
        self
    }

    /// Looks for changes of the files that often, which is every five seconds otherwise.
    #[must_use]
    pub fn reload_interval(mut self, interval: Duration) -> Self {
        self.reload_interval = interval;
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
    pub fn certificate_pem(&self) -> io::Result<Vec<u8>> {
        fs::read(&self.certificate)
    }

    fn load(&self) -> Result<ServerConfig, Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| setting_error("tls.certificate", &error))?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some((file, mode)) => {
                let invalid =
                    |error: &dyn std::error::Error| file_error("tls.client_ca", file, error);
                let mut roots = RootCertStore::empty();
                for certificate in read_certificates("tls.client_ca", file)? {
                    roots.add(certificate).map_err(|error| invalid(&error))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier = match mode {
                    ClientCertificateMode::Required => verifier,
                    ClientCertificateMode::Optional => verifier.allow_unauthenticated(),
                };
                builder
                    .with_client_cert_verifier(verifier.build().map_err(|error| invalid(&error))?)
            }
        };
        let chain = read_certificates("tls.certificate", &self.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| file_error("tls.key", &self.key, &error))?;
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|error| file_error("tls.certificate", &self.certificate, &error))?;
        config.alpn_protocols = ALPN_PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(config)
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        let client_ca = self.client_ca.as_ref().map(|(file, _)| file);
        [&self.certificate, &self.key].into_iter().chain(client_ca).map(PathBuf::as_path)
    }

    /// What changes when a file does.
    fn fingerprints(&self) -> Vec<Option<FileFingerprint>> {
        self.paths()
            .map(|file| fs::metadata(file).ok().map(|it| FileFingerprint::from_metadata(&it)))
            .collect()
    }
}

/// What of a file changes when its contents do.
#[derive(Debug, PartialEq, Eq)]
struct FileFingerprint {
    modified_at: Option<SystemTime>,
    len: u64,
    /// Another file of the same name has another number.
    inode: u64,
}

impl FileFingerprint {
    fn from_metadata(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let inode = 0;
        Self { modified_at: metadata.modified().ok(), len: metadata.len(), inode }
    }
}

/// TLS as it is now. Cheap to clone; clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct ReloadingTls(Arc<RwLock<Arc<ServerConfig>>>);

/// Files to read again when they change.
#[derive(Debug)]
pub(crate) struct TlsFiles {
    tls: Tls,
    /// From before they were read, so that no change is missed.
    fingerprints: Vec<Option<FileFingerprint>>,
}

impl ReloadingTls {
    /// Reads the files.
    pub(crate) fn new(tls: Tls) -> Result<(Self, TlsFiles), Error> {
        let fingerprints = tls.fingerprints();
        let config = Arc::new(tls.load()?);
        Ok((Self(Arc::new(RwLock::new(config))), TlsFiles { tls, fingerprints }))
    }

    /// Establishes TLS on a new connection, and reads the certificate that its peer presented.
    ///
    /// # Errors
    /// When the handshake fails, or the certificate cannot be read.
    pub(super) async fn accept(
        &self,
        stream: TcpStream,
    ) -> io::Result<(TlsStream<TcpStream>, Option<ClientCertificate>)> {
        let stream = self.acceptor().accept(stream).await?;
        let (_, session) = stream.get_ref();
        let certificate = session.peer_certificates().and_then(<[_]>::first);
        let certificate = certificate.map(|it| ClientCertificate::from_der(it)).transpose();
        let invalid = |error| io::Error::other(format!("the client certificate {error}"));
        Ok((stream, certificate.map_err(invalid)?))
    }

    fn acceptor(&self) -> TlsAcceptor {
        let config = read_unpoisoned(&self.0);
        TlsAcceptor::from(Arc::clone(&config))
    }

    /// Reads the files again when they change, until it is told to leave.
    pub(crate) async fn reload_on_change(self, files: TlsFiles, drain_token: CancellationToken) {
        let TlsFiles { tls, mut fingerprints } = files;
        while drain_token
            .run_until_cancelled(tokio::time::sleep(tls.reload_interval))
            .await
            .is_some()
        {
            let current = tls.fingerprints();
            if current == fingerprints {
                continue;
            }
            fingerprints = current;
            match tls.load() {
                Ok(config) => {
                    *write_unpoisoned(&self.0) = Arc::new(config);
                    info!("certificate files have changed and are in use");
                }
                Err(error) => {
                    warn!(%error, "certificate files have changed and cannot be used");
                }
            }
        }
    }
}

fn read_certificates(
    setting: &'static str,
    file: &Path,
) -> Result<Vec<CertificateDer<'static>>, Error> {
    let invalid = |error: &dyn std::error::Error| file_error(setting, file, error);
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| invalid(&error))?;
    let certificates: Vec<_> =
        certificates.collect::<Result<_, _>>().map_err(|error| invalid(&error))?;
    match certificates.is_empty() {
        true => Err(invalid(&io::Error::other("there is no certificate in it"))),
        false => Ok(certificates),
    }
}

fn setting_error(setting: &'static str, error: &dyn std::error::Error) -> Error {
    Error::setting(setting, error.to_string())
}

fn file_error(setting: &'static str, file: &Path, error: &dyn std::error::Error) -> Error {
    Error::setting(setting, format!("{}: {error}", file.display()))
}
