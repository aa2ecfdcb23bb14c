//! Redaction of secrets in configured URLs.

use std::borrow::Cow;

/// Replacement for a secret in output.
pub(crate) const REDACTED: &str = "(hidden)";

/// Redacts the user information and the query of a URL in a string. Redacts too much rather than
/// too little: everything between the scheme and the last `@`, and everything after the first `?`.
pub(crate) fn redact_url(text: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = text.split_once("://") else { return text.into() };
    let (user, rest) = match rest.rsplit_once('@') {
        Some((_, rest)) => (format!("{REDACTED}@"), rest),
        None => (String::new(), rest),
    };
    match rest.split_once('?') {
        Some((path, _)) => format!("{scheme}://{user}{path}?{REDACTED}").into(),
        None => format!("{scheme}://{user}{rest}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::redact_url;

    #[test]
    fn urls_are_redacted() {
        for (text, want) in [
            ("https://a.example/b", "https://a.example/b"),
            ("https://me:secret@a.example/b", "https://(hidden)@a.example/b"),
            ("https://secret@a.example:1", "https://(hidden)@a.example:1"),
            ("https://a.example/b?key=secret#c", "https://a.example/b?(hidden)"),
            ("https://me:secret@a.example?secret", "https://(hidden)@a.example?(hidden)"),
            ("postgresql://me:se/cr?et@a.example/b", "postgresql://(hidden)@a.example/b"),
            ("--to=http://me:secret@a.example", "--to=http://(hidden)@a.example"),
            ("@scope/name?", "@scope/name?"),
        ] {
            assert_eq!(redact_url(text), want);
        }
    }
}
