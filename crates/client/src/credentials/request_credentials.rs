//! What one request shows.

use std::sync::Arc;

use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use url::form_urlencoded::Serializer;

use super::oauth::{Token, TokenSource};
use crate::error::Error;
use crate::transport::to_uri;

/// What one request shows of who makes it.
#[derive(Default)]
pub(crate) struct RequestCredentials {
    headers: HeaderMap,
    query_parameters: Vec<(String, String)>,
    cookies: Vec<String>,
    tokens: Vec<(TokenSource, Arc<Token>)>,
}

impl RequestCredentials {
    pub(super) fn insert_header(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.insert(name, value);
    }

    /// Several headers, of which some may have the same name.
    pub(crate) fn extend_headers(&mut self, headers: HeaderMap) {
        self.headers.extend(headers);
    }

    pub(super) fn add_query_parameter(&mut self, name: &str, value: &str) {
        self.query_parameters.push((name.to_owned(), value.to_owned()));
    }

    pub(super) fn add_cookie(&mut self, name: &str, value: &str) {
        self.cookies.push(format!("{name}={value}"));
    }

    pub(super) fn insert_token(&mut self, tokens: &TokenSource, token: Arc<Token>) {
        self.headers.insert(AUTHORIZATION, token.header.clone());
        self.tokens.push((tokens.clone(), token));
    }

    /// Whether there are tokens, so that others may be shown where these are refused.
    pub(crate) fn has_tokens(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Takes back the tokens, which were refused.
    pub(crate) fn invalidate_tokens(&self) {
        self.tokens.iter().for_each(|(tokens, token)| tokens.invalidate(token));
    }

    /// An address with the parameters that are to be shown.
    pub(crate) fn apply_to_query(&self, uri: Uri) -> Result<Uri, Error> {
        if self.query_parameters.is_empty() {
            return Ok(uri);
        }
        let query = Serializer::new(String::new()).extend_pairs(&self.query_parameters).finish();
        let separator = if uri.query().is_some() { '&' } else { '?' };
        to_uri(&format!("{uri}{separator}{query}"))
    }

    /// Adds the headers and cookies that are to be shown.
    pub(crate) fn apply_to_headers(&self, headers: &mut HeaderMap) {
        headers.extend(self.headers.clone());
        if let Ok(mut cookies) = HeaderValue::try_from(self.cookies.join("; "))
            && !self.cookies.is_empty()
        {
            cookies.set_sensitive(true);
            headers.insert(COOKIE, cookies);
        }
    }

    /// Whether something is shown where gRPC has no place for it.
    pub(crate) fn has_query_parameters(&self) -> bool {
        !self.query_parameters.is_empty()
    }
}
