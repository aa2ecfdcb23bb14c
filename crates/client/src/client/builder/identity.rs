//! Options that identify the client: credentials and certificates.

use std::fmt;

use http::HeaderMap;

use super::ClientBuilder;
use crate::credentials::{CredentialSet, Credentials};

/// Client certificate and the origin that receives it.
#[derive(Clone)]
pub(super) struct ClientCertificate {
    /// URL of that origin, if it is not the URL that the client is created with.
    pub(super) url: Option<String>,
    pub(super) chain: Vec<u8>,
    pub(super) key: Vec<u8>,
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ClientCertificate")
    }
}

impl ClientBuilder {
    /// Adds credentials for the origin of the URL that the client is created with.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials.push((None, credentials));
        self
    }

    /// Adds credentials for the origin of `url`, such as an agent whose card is at another origin.
    pub fn credentials_for(mut self, url: impl Into<String>, credentials: Credentials) -> Self {
        self.credentials.push((Some(url.into()), credentials));
        self
    }

    /// Sets the credentials to select from, as the card requires. They are sent to the origin of
    /// the URL that the client is created with.
    pub fn credential_set(mut self, credential_set: CredentialSet) -> Self {
        self.credential_set = Some((None, credential_set));
        self
    }

    /// Sets the credentials to select from, for the origin of `url`, such as an agent whose card is
    /// at another origin.
    pub fn credential_set_for(
        mut self,
        url: impl Into<String>,
        credential_set: CredentialSet,
    ) -> Self {
        self.credential_set = Some((Some(url.into()), credential_set));
        self
    }

    /// Sets headers of each request. Like credentials, they are sent only to the origin of the URL
    /// that the client is created with.
    pub fn headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// Adds certificates, in PEM, that servers may be verified by, in addition to those of the
    /// operating system.
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates.push(pem.into());
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
        self.client_certificate = Some(ClientCertificate { url: None, chain, key });
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
        self.client_certificate = Some(ClientCertificate { url: Some(url.into()), chain, key });
        self
    }
}
