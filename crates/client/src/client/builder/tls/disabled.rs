//! A client without the feature `tls`: plain HTTP only, and no certificates.

use latimer_outbound::HttpClientBuilder;

use super::ClientBuilder;
use crate::error::Error;

/// TLS options of a client: none without the feature `tls`.
#[derive(Clone, Debug, Default)]
pub(super) struct TlsOptions {}

impl TlsOptions {
    pub(super) fn certificate_origin(&self, _: &ClientBuilder) -> Result<Option<String>, Error> {
        Ok(None)
    }

    pub(super) fn configure(
        &self,
        _: &ClientBuilder,
        http: HttpClientBuilder,
    ) -> Result<HttpClientBuilder, Error> {
        Ok(http)
    }
}
