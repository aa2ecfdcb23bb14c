//! TLS options of a client: trusted certificates and the client certificate.

use std::fmt;

use latimer_outbound::HttpClientBuilder;

use super::ClientBuilder;
use super::checks::no_origin_error;
use crate::error::Error;

/// Certificates for the connections of a client.
#[derive(Clone, Debug, Default)]
pub(super) struct TlsOptions {
    root_certificates: Vec<Vec<u8>>,
    client_certificate: Option<ClientCertificate>,
}

/// Client certificate and the origin that receives it.
#[derive(Clone)]
struct ClientCertificate {
    /// URL of that origin, if it is not the URL that the client is created with.
    url: Option<String>,
    chain: Vec<u8>,
    key: Vec<u8>,
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ClientCertificate")
    }
}

impl ClientBuilder {
    /// Adds trusted root certificates, in PEM, to those of the operating system.
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.root_certificates.push(pem.into());
        self
    }

    /// Sets the client certificate for the origin of the URL that the client is created with: a
    /// chain of certificates and the key of the first, both in PEM.
    pub fn client_certificate(
        mut self,
        chain: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        let (chain, key) = (chain.into(), key.into());
        self.tls.client_certificate = Some(ClientCertificate { url: None, chain, key });
        self
    }

    /// Sets the client certificate for the origin of `url`, such as an agent whose card is at
    /// another origin.
    pub fn client_certificate_for(
        mut self,
        url: impl Into<String>,
        chain: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        let (chain, key) = (chain.into(), key.into());
        self.tls.client_certificate = Some(ClientCertificate { url: Some(url.into()), chain, key });
        self
    }
}

impl TlsOptions {
    /// Returns the origin that receives the client certificate.
    pub(super) fn certificate_origin(
        &self,
        client: &ClientBuilder,
    ) -> Result<Option<String>, Error> {
        let Some(certificate) = &self.client_certificate else { return Ok(None) };
        match client.resolve_origin(certificate.url.as_deref())? {
            Some(origin) => Ok(Some(origin)),
            None => Err(no_origin_error("a client certificate", "client_certificate_for")),
        }
    }

    /// Adds the certificates to an HTTP client.
    pub(super) fn configure(
        &self,
        client: &ClientBuilder,
        mut http: HttpClientBuilder,
    ) -> Result<HttpClientBuilder, Error> {
        for pem in &self.root_certificates {
            http = http.root_certificates(pem.clone());
        }
        if let Some(ClientCertificate { chain, key, .. }) = &self.client_certificate
            && let Some(origin) = self.certificate_origin(client)?
        {
            http = http.identity(origin, chain.clone(), key.clone());
        }
        Ok(http)
    }
}
