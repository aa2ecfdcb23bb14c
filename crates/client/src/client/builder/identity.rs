//! Options that identify the client: credentials and headers.

use http::HeaderMap;

use super::ClientBuilder;
use crate::credentials::{CredentialSet, Credentials};

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
}
