//! OAuth 2.0 without the feature `oauth`: no tokens are requested.

use std::convert::Infallible;
use std::sync::Arc;

use http::HeaderValue;
use latimer_outbound::HttpClient;
use latimer_protocol::card::SecurityScheme;

use super::Credentials;
use crate::error::Error;

/// The registration with an authorization server; none exists without the feature `oauth`.
#[derive(Clone, Debug)]
pub struct OAuthClient(Infallible);

impl OAuthClient {
    pub(crate) fn trusted_servers(&self) -> &[String] {
        match self.0 {}
    }

    pub(super) async fn request_tokens(
        self,
        _: &HttpClient,
        _: &SecurityScheme,
        _: &[String],
        _: Option<&str>,
    ) -> Result<Credentials, &'static str> {
        match self.0 {}
    }
}

/// A source of tokens; none exists without the feature `oauth`.
#[derive(Clone, Debug)]
pub struct TokenSource(Infallible);

impl TokenSource {
    pub(super) async fn token(&self) -> Result<Arc<Token>, Error> {
        match self.0 {}
    }

    pub(super) fn invalidate(&self, _: &Token) {
        match self.0 {}
    }
}

pub(super) struct Token(Infallible);

impl Token {
    pub(super) fn header(&self) -> &HeaderValue {
        match self.0 {}
    }
}
