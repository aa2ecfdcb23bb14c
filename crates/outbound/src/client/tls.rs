//! Whom to believe, and who to be.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::Protocol;
use super::failure::BoxError;

/// What the client shows of itself, in PEM.
pub(super) struct Identity {
    pub(super) certificates: Vec<u8>,
    pub(super) key: Vec<u8>,
}

/// A certificate or key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTls {
    /// What should be certificates of authorities is not.
    #[error("the root certificates cannot be read: PEM is expected")]
    Roots {
        /// Why.
        source: BoxError,
    },
    /// The client's own certificates or key are none, or do not belong together.
    #[error("the client's certificate and key cannot be used: PEM of both is expected")]
    Identity {
        /// Why.
        source: BoxError,
    },
    /// The cryptography of this build cannot do what it should.
    #[error("TLS cannot be set up")]
    Unsupported {
        /// Why.
        source: BoxError,
    },
}

pub(super) fn config(
    pems: &[Vec<u8>],
    identity: Option<&Identity>,
    protocol: Protocol,
) -> Result<ClientConfig, InvalidTls> {
    let unsupported = |error: rustls::Error| InvalidTls::Unsupported { source: error.into() };
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unsupported)?
        .with_root_certificates(roots(pems)?);
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (chain, key) = identity.read()?;
            let wrong = |error: rustls::Error| InvalidTls::Identity { source: error.into() };
            builder.with_client_auth_cert(chain, key).map_err(wrong)?
        }
    };
    config.alpn_protocols = match protocol {
        Protocol::Negotiated => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        Protocol::Http2 => vec![b"h2".to_vec()],
    };
    Ok(config)
}

/// Those of the operating system, and some more. A machine without any can still call over plain HTTP.
fn roots(pems: &[Vec<u8>]) -> Result<RootCertStore, InvalidTls> {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "some of the system's root certificates cannot be read");
    }
    let mut roots = RootCertStore::empty();
    let (_, unusable) = roots.add_parsable_certificates(found.certs);
    tracing::debug!(usable = roots.len(), unusable, "root certificates of the system");
    for pem in pems {
        let wrong = |source: BoxError| InvalidTls::Roots { source };
        for certificate in certificates(pem).map_err(wrong)? {
            roots.add(certificate).map_err(|error| wrong(error.into()))?;
        }
    }
    Ok(roots)
}

impl Identity {
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), InvalidTls> {
        let wrong = |source: BoxError| InvalidTls::Identity { source };
        let chain = certificates(&self.certificates).map_err(wrong)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| wrong(error.into()))?;
        Ok((chain, key))
    }
}

/// The certificates of a PEM file, of which there is at least one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, BoxError> {
    let found = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>()?;
    if found.is_empty() { Err("there is no certificate in it".into()) } else { Ok(found) }
}
