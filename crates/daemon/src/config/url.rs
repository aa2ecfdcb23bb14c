//! URLs.

use serde::Deserialize;

use super::diagnostic::Diagnostics;
use super::location::Location;
use super::resolve::Resolve;
use super::section::value;

/// An absolute URL with the scheme `http` or `https`, without a user name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct HttpUrl(String);

value! {
    HttpUrl: Text "URL";
    Vec<HttpUrl>: Other "list of URLs";
}

impl HttpUrl {
    /// Returns the URL as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Resolve for HttpUrl {
    fn resolve(&mut self, at: &Location<'_>, diagnostics: &mut Diagnostics) {
        let rest = self.0.strip_prefix("https://").or_else(|| self.0.strip_prefix("http://"));
        let Some(rest) = rest else {
            let message = format!("`{}` is not a URL", at.path());
            return diagnostics.error(at, message, "start it with https:// or http://");
        };
        if rest.split(['/', '?', '#']).next().is_some_and(|it| it.contains('@')) {
            let message = format!("`{}` contains a user name or a password", at.path());
            diagnostics.error(at, message, "remove it: URLs appear in logs and errors");
        }
    }
}
