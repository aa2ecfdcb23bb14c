//! Stand-in for TLS without the feature `tls`: connections use plain HTTP.

use std::convert::Infallible;
use std::io;

use tokio_util::sync::CancellationToken;

use crate::auth::ClientCertificate;
use crate::error::Error;

/// TLS files of a listener. Uninhabited, because TLS requires the feature `tls`.
#[derive(Clone, Debug)]
pub(crate) struct Tls(Infallible);

/// TLS of a listener. Uninhabited, because TLS requires the feature `tls`.
#[derive(Clone, Debug)]
pub(crate) struct ReloadingTls(Infallible);

/// Loaded TLS files. Uninhabited, because TLS requires the feature `tls`.
#[derive(Debug)]
pub(crate) struct TlsFiles(Infallible);

impl ReloadingTls {
    pub(crate) fn new(tls: Tls) -> Result<(Self, TlsFiles), Error> {
        match tls.0 {}
    }

    pub(super) async fn accept<S>(&self, _: S) -> io::Result<(S, Option<ClientCertificate>)> {
        match self.0 {}
    }

    pub(crate) async fn reload_on_change(self, files: TlsFiles, _: CancellationToken) {
        match files.0 {}
    }
}
