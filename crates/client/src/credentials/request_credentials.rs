//! The credentials of one request.

use std::sync::Arc;

use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use url::form_urlencoded::Serializer;

use super::oauth::{Token, TokenSource};
use crate::error::Error;
use crate::transport::to_uri;

/// Headers, query parameters, cookies and tokens to add to one request.
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

    /// Adds headers, in place of those with the same name. A name may occur several times in
    /// `headers`.
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
        self.headers.insert(AUTHORIZATION, token.header().clone());
        self.tokens.push((tokens.clone(), token));
    }

    /// Returns whether there are tokens, which can be renewed if they are rejected.
    pub(crate) fn has_tokens(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Invalidates the tokens, which were rejected.
    pub(crate) fn invalidate_tokens(&self) {
        self.tokens.iter().for_each(|(tokens, token)| tokens.invalidate(token));
    }

    /// Adds the query parameters to a URI.
    pub(crate) fn apply_to_query(&self, uri: Uri) -> Result<Uri, Error> {
        if self.query_parameters.is_empty() {
            return Ok(uri);
        }
        let query = Serializer::new(String::new()).extend_pairs(&self.query_parameters).finish();
        let separator = if uri.query().is_some() { '&' } else { '?' };
        to_uri(&format!("{uri}{separator}{query}"))
    }

    /// Adds headers and cookies.
    pub(crate) fn apply_to_headers(&self, headers: &mut HeaderMap) {
        headers.extend(self.headers.clone());
        if let Ok(mut cookies) = HeaderValue::try_from(self.cookies.join("; "))
            && !self.cookies.is_empty()
        {
            cookies.set_sensitive(true);
            headers.insert(COOKIE, cookies);
        }
    }

    /// Returns whether there are query parameters, which gRPC cannot send.
    #[cfg(feature = "grpc")]
    pub(crate) fn has_query_parameters(&self) -> bool {
        !self.query_parameters.is_empty()
    }
}
