//! What one request shows.

use std::sync::Arc;

use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use url::form_urlencoded::Serializer;

use super::oauth::{Token, Tokens};
use crate::error::Error;
use crate::transport::to_uri;

/// What one request shows of who makes it.
#[derive(Default)]
pub(crate) struct Shown {
    headers: HeaderMap,
    parameters: Vec<(String, String)>,
    cookies: Vec<String>,
    tokens: Vec<(Tokens, Arc<Token>)>,
}

impl Shown {
    pub(super) fn header(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.insert(name, value);
    }

    /// Several headers, of which some may have the same name.
    pub(super) fn headers(&mut self, headers: HeaderMap) {
        self.headers.extend(headers);
    }

    pub(super) fn parameter(&mut self, name: &str, value: &str) {
        self.parameters.push((name.to_owned(), value.to_owned()));
    }

    pub(super) fn cookie(&mut self, name: &str, value: &str) {
        self.cookies.push(format!("{name}={value}"));
    }

    pub(super) fn token(&mut self, tokens: &Tokens, token: Arc<Token>) {
        self.headers.insert(AUTHORIZATION, token.header.clone());
        self.tokens.push((tokens.clone(), token));
    }

    /// Whether there are tokens, so that others may be shown where these are refused.
    pub(crate) fn may_renew(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Takes back the tokens, which were refused.
    pub(crate) fn renew(&self) {
        self.tokens.iter().for_each(|(tokens, token)| tokens.refused(token));
    }

    /// An address with the parameters that are to be shown.
    pub(crate) fn in_query(&self, uri: Uri) -> Result<Uri, Error> {
        if self.parameters.is_empty() {
            return Ok(uri);
        }
        let shown = Serializer::new(String::new()).extend_pairs(&self.parameters).finish();
        let mark = if uri.query().is_some() { '&' } else { '?' };
        to_uri(&format!("{uri}{mark}{shown}"))
    }

    /// Adds the headers and cookies that are to be shown.
    pub(crate) fn in_headers(&self, headers: &mut HeaderMap) {
        headers.extend(self.headers.clone());
        if let Ok(mut cookies) = HeaderValue::try_from(self.cookies.join("; "))
            && !self.cookies.is_empty()
        {
            cookies.set_sensitive(true);
            headers.insert(COOKIE, cookies);
        }
    }

    /// Whether something is shown where gRPC has no place for it.
    pub(crate) fn has_parameters(&self) -> bool {
        !self.parameters.is_empty()
    }
}
