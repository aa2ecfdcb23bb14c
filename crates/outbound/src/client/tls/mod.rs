//! TLS: trusted root certificates and the client's certificate.

mod stream;

use std::io;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

pub(super) use stream::Stream;

use super::error::BoxError;
use super::{HttpClientBuilder, Protocol};
use crate::host::Host;
use crate::target::{Scheme, Target};

/// TLS settings of a client, as PEM.
#[derive(Default)]
pub(super) struct TlsSettings {
    /// Root certificates in addition to those of the operating system.
    root_pems: Vec<Vec<u8>>,
    identity: Option<Identity>,
}

/// Client certificate for servers of one origin, as PEM.
struct Identity {
    /// URL within the origin.
    url: String,
    certificates: Vec<u8>,
    key: Vec<u8>,
}

impl HttpClientBuilder {
    /// Adds trusted root certificates, as PEM, to those of the operating system.
    #[must_use]
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.root_pems.push(pem.into());
        self
    }

    /// Sets the client certificate for servers at the origin of `url` that request one: a
    /// certificate chain and the private key of its first certificate, both as PEM. Other origins
    /// never receive it.
    #[must_use]
    pub fn identity(
        mut self,
        url: impl Into<String>,
        certificates: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        let (url, certificates, key) = (url.into(), certificates.into(), key.into());
        self.tls.identity = Some(Identity { url, certificates, key });
        self
    }
}

/// Error of an unusable certificate or key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTls {
    /// The root certificates are not valid PEM.
    #[error("invalid root certificates: expected PEM")]
    Roots {
        /// Underlying error.
        source: BoxError,
    },
    /// The URL of the client certificate is invalid, the certificate chain or key is not valid PEM,
    /// or the key does not match the certificate.
    #[error(
        "invalid client certificate: expected the URL of a server, and a certificate chain and its \
         key as PEM"
    )]
    Identity {
        /// Underlying error.
        source: BoxError,
    },
    /// The cryptography provider does not support the required protocol versions.
    #[error("TLS cannot be configured")]
    Unsupported {
        /// Underlying error.
        source: BoxError,
    },
}

/// TLS connectors: one without client certificate, and one with it for a single origin.
pub(super) struct Tls {
    anonymous: TlsConnector,
    with_identity: Option<(Target, TlsConnector)>,
}

impl Tls {
    pub(super) fn new(settings: &TlsSettings) -> Result<Self, InvalidTls> {
        let roots = Arc::new(load_roots(&settings.root_pems)?);
        let builder = || {
            let unsupported =
                |error: rustls::Error| InvalidTls::Unsupported { source: error.into() };
            let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
            let builder = builder.with_safe_default_protocol_versions().map_err(unsupported)?;
            Ok::<_, InvalidTls>(builder.with_root_certificates(Arc::clone(&roots)))
        };
        let anonymous = Arc::new(builder()?.with_no_client_auth()).into();
        let Some(identity) = &settings.identity else {
            return Ok(Self { anonymous, with_identity: None });
        };
        let (origin, chain, key) = identity.load()?;
        let invalid = |error: rustls::Error| InvalidTls::Identity { source: error.into() };
        let with_identity = builder()?.with_client_auth_cert(chain, key).map_err(invalid)?;
        Ok(Self { anonymous, with_identity: Some((origin, Arc::new(with_identity).into())) })
    }

    /// Returns a copy that negotiates the given versions of HTTP.
    pub(super) fn with_protocol(&self, protocol: Protocol) -> Self {
        let with_alpn = |connector: &TlsConnector| {
            let mut config = ClientConfig::clone(connector.config());
            config.alpn_protocols = match protocol {
                Protocol::Negotiated => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
                Protocol::Http2 => vec![b"h2".to_vec()],
            };
            TlsConnector::from(Arc::new(config))
        };
        let with_identity = self.with_identity.as_ref();
        Self {
            anonymous: with_alpn(&self.anonymous),
            with_identity: with_identity.map(|(origin, it)| (origin.clone(), with_alpn(it))),
        }
    }

    /// Establishes TLS on a new connection if the target's scheme is HTTPS.
    pub(super) async fn connect(&self, target: &Target, stream: TcpStream) -> io::Result<Stream> {
        match target.scheme() {
            Scheme::Http => Ok(Stream::Plain(stream)),
            Scheme::Https => {
                let name = server_name(target.host())?;
                let stream = self.connector(target).connect(name, stream).await?;
                Ok(Stream::Tls(Box::new(stream)))
            }
        }
    }

    /// Returns the connector for a target.
    fn connector(&self, target: &Target) -> &TlsConnector {
        match &self.with_identity {
            Some((origin, connector)) if origin.same_origin(target) => connector,
            Some(_) | None => &self.anonymous,
        }
    }
}

fn server_name(host: &Host) -> io::Result<ServerName<'static>> {
    match host {
        Host::Address(address) => Ok(ServerName::from(*address)),
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(io::Error::other),
    }
}

/// Loads the root certificates of the operating system and the additional ones. The result may be
/// empty, which still allows plain HTTP.
fn load_roots(root_pems: &[Vec<u8>]) -> Result<RootCertStore, InvalidTls> {
    let native = rustls_native_certs::load_native_certs();
    for error in &native.errors {
        tracing::warn!(%error, "system root certificate unreadable");
    }
    let mut roots = RootCertStore::empty();
    let (_, unusable) = roots.add_parsable_certificates(native.certs);
    tracing::debug!(usable = roots.len(), unusable, "system root certificates loaded");
    for pem in root_pems {
        let invalid = |source: BoxError| InvalidTls::Roots { source };
        for certificate in certificates(pem).map_err(invalid)? {
            roots.add(certificate).map_err(|error| invalid(error.into()))?;
        }
    }
    Ok(roots)
}

impl Identity {
    fn load(&self) -> Result<LoadedIdentity, InvalidTls> {
        let invalid = |source: BoxError| InvalidTls::Identity { source };
        let origin = Target::parse(&self.url).map_err(|error| invalid(error.into()))?;
        let chain = certificates(&self.certificates).map_err(invalid)?;
        let key =
            PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| invalid(error.into()))?;
        Ok((origin, chain, key))
    }
}

/// Origin, certificate chain and key of a client certificate.
type LoadedIdentity = (Target, Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// Parses the certificates of a PEM file. Fails if there is none.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, BoxError> {
    let parsed = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>()?;
    if parsed.is_empty() { Err("the PEM contains no certificate".into()) } else { Ok(parsed) }
}
