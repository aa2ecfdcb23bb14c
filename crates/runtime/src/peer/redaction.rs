//! What callers may read of what went wrong, or of a card: never where the agent behind is.

use std::ops::Range;
use std::sync::{PoisonError, RwLock};

use latimer_client::Error as ClientError;
use latimer_protocol::card::AgentCard;
use latimer_protocol::{Error, ErrorKind};
use url::Url;

/// The addresses that nobody is told.
#[derive(Debug, Default)]
pub(crate) struct Redactor(RwLock<Vec<HostPattern>>);

/// What stands in place of an address.
const PLACEHOLDER: &str = "…";

impl Redactor {
    /// Hides an address from now on: its host, and its host with its port.
    pub(crate) fn add_url(&self, url: &str) {
        let Some((host, port)) = host_and_port(url) else { return };
        let mut patterns = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let with_port = port.map(|port| HostPattern::WholeWord(format!("{host}:{port}")));
        let host_only = match host.contains(['.', ':']) {
            true => HostPattern::Anywhere(host),
            // A plain word like `localhost` may be meant for what it says.
            false => HostPattern::InUrl(format!("//{host}")),
        };
        for it in with_port.into_iter().chain([host_only]) {
            if !patterns.contains(&it) {
                patterns.push(it);
            }
        }
    }

    /// Hides every address that a card has for calls.
    pub(crate) fn add_card(&self, card: &AgentCard) {
        for interface in &card.supported_interfaces {
            self.add_url(&interface.url);
        }
    }

    /// A text without the addresses.
    pub(crate) fn redact(&self, text: &str) -> String {
        let patterns = self.0.read().unwrap_or_else(PoisonError::into_inner);
        patterns.iter().fold(text.to_owned(), |text, it| it.redact(&text))
    }

    /// Whether a text has an address that nobody is told.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let patterns = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let text = text.to_ascii_lowercase();
        patterns.iter().any(|it| it.matches_in(&text).next().is_some())
    }

    /// What a caller learns of a failure.
    pub(crate) fn to_caller_error(&self, error: ClientError) -> Error {
        let agent_error = match error {
            ClientError::Agent(error) => error,
            ClientError::Forbidden { .. } => {
                let message = "the agent behind this one is at an address that may not be called";
                return Error::new(ErrorKind::Internal, message);
            }
            error => return error.into(),
        };
        let kind = match agent_error.kind() {
            // Not the caller is refused there, but we are.
            ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => {
                let message = "the agent behind this one does not let it in";
                return Error::new(ErrorKind::Internal, message);
            }
            // We speak what it does not.
            ErrorKind::MethodNotFound | ErrorKind::VersionNotSupported | ErrorKind::Parse => {
                ErrorKind::InvalidAgentResponse
            }
            kind => kind,
        };
        let error = Error::new(kind, self.redact(agent_error.message()));
        match agent_error.retry_after_seconds() {
            Some(seconds) => error.with_retry_after(std::time::Duration::from_secs(seconds)),
            None => error,
        }
    }
}

/// One spelling of an address, in lower case.
#[derive(Debug, PartialEq, Eq)]
enum HostPattern {
    /// Hidden wherever it stands.
    Anywhere(String),
    /// Hidden where it is not a part of a longer name or number.
    WholeWord(String),
    /// Two slashes and a host, hidden like that but for the slashes.
    InUrl(String),
}

impl HostPattern {
    fn redact(&self, text: &str) -> String {
        let lower = text.to_ascii_lowercase();
        let (mut redacted, mut copied) = (String::with_capacity(text.len()), 0);
        for range in self.matches_in(&lower) {
            redacted.push_str(&text[copied..range.start]);
            redacted.push_str(PLACEHOLDER);
            copied = range.end;
        }
        redacted.push_str(&text[copied..]);
        redacted
    }

    /// Where it stands in a text of lower case.
    fn matches_in(&self, text: &str) -> impl Iterator<Item = Range<usize>> {
        let (Self::Anywhere(pattern) | Self::WholeWord(pattern) | Self::InUrl(pattern)) = self;
        let ranges =
            text.match_indices(pattern.as_str()).map(|(start, _)| start..start + pattern.len());
        ranges.filter_map(move |it| {
            let (before, after) = (&text[..it.start], &text[it.end..]);
            match self {
                Self::Anywhere(_) => Some(it),
                Self::WholeWord(_) => {
                    (!before.ends_with(is_name_char) && is_name_end(after)).then_some(it)
                }
                Self::InUrl(_) => is_name_end(after).then(|| it.start + "//".len()..it.end),
            }
        })
    }
}

fn is_name_char(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '-' | '.')
}

/// Whether the name of a host, or a number, is over before this. A dot may end the sentence, too.
fn is_name_end(after: &str) -> bool {
    let after = after.strip_prefix('.').map_or(after, |it| it.trim_start_matches('.'));
    !after.starts_with(is_name_char)
}

/// The host and the port of an address, which may have no scheme.
fn host_and_port(url: &str) -> Option<(String, Option<u16>)> {
    let with_scheme = if url.contains("://") { url.to_owned() } else { format!("grpc://{url}") };
    let url = Url::parse(&with_scheme).ok()?;
    Some((url.host_str()?.to_ascii_lowercase(), url.port_or_known_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redactor_removes_hosts_in_every_spelling() {
        let redactor = Redactor::default();
        for url in [
            "http://10.0.0.5:9000/a2a",
            "inner.example:443",
            "http://localhost:81",
            "http://Backend/a2a",
        ] {
            redactor.add_url(url);
        }
        for (text, want) in [
            ("http://10.0.0.5:9000/x is down", "http://…/x is down"),
            ("ask 10.0.0.5", "ask …"),
            ("grpc inner.example:443", "grpc …"),
            ("https://inner.example/docs", "https://…/docs"),
            ("localhost:81 refused", "… refused"),
            ("not localhost", "not localhost"),
            ("at http://BACKEND/x, or backend:80", "at http://…/x, or …"),
            ("https://Inner.Example:443/docs", "https://…/docs"),
            ("see //backend.", "see //…."),
            ("the backend is down", "the backend is down"),
            (
                "http://backends/ and http://backend.example/",
                "http://backends/ and http://backend.example/",
            ),
            ("frontback-backend:80 and backend:8080", "frontback-backend:80 and backend:8080"),
            ("http://backend:8080/", "http://…:8080/"),
        ] {
            assert_eq!(redactor.redact(text), want);
            assert_eq!(redactor.matches(text), text != want, "{text}");
        }
    }

    #[test]
    fn upstream_errors_map_to_caller_errors() {
        let redactor = Redactor::default();
        redactor.add_url("http://10.0.0.5:9000");
        for (kind, want) in [
            (ErrorKind::Unauthenticated, ErrorKind::Internal),
            (ErrorKind::PermissionDenied, ErrorKind::Internal),
            (ErrorKind::MethodNotFound, ErrorKind::InvalidAgentResponse),
            (ErrorKind::InvalidParams, ErrorKind::InvalidParams),
            (ErrorKind::RateLimited, ErrorKind::RateLimited),
        ] {
            let error = redactor.to_caller_error(Error::new(kind, "10.0.0.5:9000 says no").into());
            assert_eq!(error.kind(), want);
            assert!(!error.message().contains("10.0.0.5"), "{error}");
        }
    }
}
