//! Stub without the feature `tls`: plain HTTP only.

use std::io;

use tokio::net::TcpStream;

use super::Protocol;
use crate::target::{Scheme, Target};

/// Connection without TLS.
pub(super) type Stream = TcpStream;

/// TLS settings of a client: none without the feature `tls`.
#[derive(Default)]
pub(super) struct TlsSettings {}

/// Error of an unusable certificate or key. Never created without the feature `tls`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTls {}

/// TLS connector that rejects HTTPS.
pub(super) struct Tls;

impl Tls {
    pub(super) fn new(_: &TlsSettings) -> Result<Self, InvalidTls> {
        Ok(Self)
    }

    pub(super) fn with_protocol(&self, _: Protocol) -> Self {
        Self
    }

    /// Returns a new connection unchanged.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if the target's scheme is HTTPS.
    pub(super) async fn connect(&self, target: &Target, stream: TcpStream) -> io::Result<Stream> {
        match target.scheme() {
            Scheme::Http => Ok(stream),
            Scheme::Https => {
                let message = "HTTPS needs the feature `tls` of latimer-outbound";
                Err(io::Error::new(io::ErrorKind::Unsupported, message))
            }
        }
    }
}
