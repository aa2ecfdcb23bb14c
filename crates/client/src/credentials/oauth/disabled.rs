//! Stub without the feature `oauth`: the client requests no tokens.

use std::convert::Infallible;
use std::sync::Arc;

use http::HeaderValue;
use latimer_outbound::HttpClient;
use latimer_protocol::card::SecurityScheme;

use super::Credentials;
use crate::error::Error;

/// Registration with an authorization server. Cannot be created without the feature `oauth`.
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

/// Source of access tokens. Cannot be created without the feature `oauth`.
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
