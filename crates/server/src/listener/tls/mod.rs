//! TLS with a certificate and key from files, which are reloaded when they change.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::auth::ClientCertificate;
use crate::error::Error;

/// Default interval between checks of the files for changes.
const RELOAD_INTERVAL: Duration = Duration::from_secs(5);
/// Protocols offered by ALPN, in order of preference.
const ALPN_PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Files of the server's TLS certificate, its private key and, for client certificates, the trusted
/// CA. All are PEM.
///
/// The server reads the files when it starts and reloads them when they change. If a reload fails,
/// the server logs a warning and keeps the previous certificates. A reload affects only new
/// connections.
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

/// Whether clients must present a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificateMode {
    /// The handshake fails without a valid certificate.
    #[default]
    Required,
    /// A certificate may be missing, but an invalid one fails the handshake.
    Optional,
}

impl Tls {
    /// Sets the files of the certificate and its private key. The certificate file also contains
    /// the intermediate certificates. Reads nothing; [`Tls::check`] does.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        let (certificate, key) = (certificate.into(), key.into());
        Self { certificate, key, client_ca: None, reload_interval: RELOAD_INTERVAL }
    }

    /// Requests client certificates, issued by a CA in this file.
    #[must_use]
    pub fn client_ca(mut self, file: impl Into<PathBuf>, mode: ClientCertificateMode) -> Self {
        self.client_ca = Some((file.into(), mode));
        self
    }

    /// Sets the interval between checks of the files for changes. The default is five seconds.
    #[must_use]
    pub fn reload_interval(mut self, interval: Duration) -> Self {
        self.reload_interval = interval;
        self
    }

    /// Reads the files and checks that a server can use them.
    ///
    /// # Errors
    /// Fails if a file cannot be read or contains no valid PEM, or if the key does not match the
    /// certificate.
    pub fn check(&self) -> Result<(), Error> {
        self.load().map(drop)
    }

    /// Reads the certificate file: the server's certificate and the intermediate ones, as PEM.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
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

    /// Returns the fingerprint of each file, or `None` for a file that cannot be read.
    fn fingerprints(&self) -> Vec<Option<FileFingerprint>> {
        self.paths()
            .map(|file| fs::metadata(file).ok().map(|it| FileFingerprint::from_metadata(&it)))
            .collect()
    }
}

/// Metadata of a file that changes with its contents.
#[derive(Debug, PartialEq, Eq)]
struct FileFingerprint {
    modified_at: Option<SystemTime>,
    len: u64,
    /// Differs if another file was moved to the same path.
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

/// The current TLS configuration. Cheap to clone; a reload affects all clones.
#[derive(Clone, Debug)]
pub(crate) struct ReloadingTls(Arc<RwLock<Arc<ServerConfig>>>);

/// Files to reload when they change.
#[derive(Debug)]
pub(crate) struct TlsFiles {
    tls: Tls,
    /// Taken before the files were read, so that no change is missed.
    fingerprints: Vec<Option<FileFingerprint>>,
}

impl ReloadingTls {
    /// Loads the files.
    ///
    /// # Errors
    /// Fails as [`Tls::check`] does.
    pub(crate) fn new(tls: Tls) -> Result<(Self, TlsFiles), Error> {
        let fingerprints = tls.fingerprints();
        let config = Arc::new(tls.load()?);
        Ok((Self(Arc::new(RwLock::new(config))), TlsFiles { tls, fingerprints }))
    }

    /// Performs the handshake on a new connection. Returns the client's certificate, if it
    /// presented one.
    ///
    /// # Errors
    /// Fails if the handshake fails or the client certificate cannot be parsed.
    pub(super) async fn accept<S>(
        &self,
        stream: S,
    ) -> io::Result<(TlsStream<S>, Option<ClientCertificate>)>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let stream = self.acceptor().accept(stream).await?;
        let (_, session) = stream.get_ref();
        let certificate = session.peer_certificates().and_then(<[_]>::first);
        let certificate = certificate.map(|it| ClientCertificate::from_der(it)).transpose();
        let invalid = |error| io::Error::other(format!("the client certificate {error}"));
        Ok((stream, certificate.map_err(invalid)?))
    }

    fn acceptor(&self) -> TlsAcceptor {
        let config = self.0.read();
        TlsAcceptor::from(Arc::clone(&config))
    }

    /// Reloads the files when they change, until `drain_token` is canceled.
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
                    *self.0.write() = Arc::new(config);
                    info!("certificate files reloaded");
                }
                Err(error) => {
                    warn!(%error, "certificate reload failed; previous certificates stay in use");
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
        true => Err(invalid(&io::Error::other("the file contains no certificate"))),
        false => Ok(certificates),
    }
}

fn setting_error(setting: &'static str, error: &dyn std::error::Error) -> Error {
    Error::setting(setting, error.to_string())
}

fn file_error(setting: &'static str, file: &Path, error: &dyn std::error::Error) -> Error {
    Error::setting(setting, format!("{}: {error}", file.display()))
}
