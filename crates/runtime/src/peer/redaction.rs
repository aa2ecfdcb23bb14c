//! Removal of upstream hosts from text that callers can read: errors, status messages and cards.

use std::collections::VecDeque;
use std::ops::Range;

use latimer_client::Error as ClientError;
use latimer_protocol::card::AgentCard;
use latimer_protocol::{Error, ErrorKind};
use parking_lot::RwLock;
use url::Url;

/// Removes upstream hosts from text. Hosts can be added at any time. Of the hosts in cards, only the
/// most recent are kept, because an upstream agent may change its card at will.
#[derive(Debug, Default)]
pub(crate) struct Redactor(RwLock<Patterns>);

#[derive(Debug, Default)]
struct Patterns {
    /// Patterns of configured hosts.
    configured: Vec<HostPattern>,
    /// Patterns of hosts in cards, most recently seen last.
    discovered: VecDeque<HostPattern>,
}

/// Maximum number of patterns of hosts in cards.
const MAX_DISCOVERED_PATTERNS: usize = 256;

/// Replacement of a removed host.
const PLACEHOLDER: &str = "…";

impl Redactor {
    /// Adds the host of a configured URL, with and without its port. Ignores a URL without a host.
    pub(crate) fn add_url(&self, url: &str) {
        let configured = &mut self.0.write().configured;
        for it in host_patterns(url) {
            if !configured.contains(&it) {
                configured.push(it);
            }
        }
    }

    /// Adds the host of a URL in a card.
    pub(crate) fn add_discovered_url(&self, url: &str) {
        let Patterns { configured, discovered } = &mut *self.0.write();
        for it in host_patterns(url) {
            if configured.contains(&it) {
                continue;
            }
            if let Some(index) = discovered.iter().position(|other| *other == it) {
                discovered.remove(index);
            } else if discovered.len() == MAX_DISCOVERED_PATTERNS {
                discovered.pop_front();
            }
            discovered.push_back(it);
        }
    }

    /// Adds the hosts of all interfaces of a card.
    pub(crate) fn add_card(&self, card: &AgentCard) {
        for interface in &card.supported_interfaces {
            self.add_discovered_url(&interface.url);
        }
    }

    /// Returns the text with every host replaced.
    pub(crate) fn redact(&self, text: &str) -> String {
        let patterns = self.0.read();
        patterns.all().fold(text.to_owned(), |text, it| it.redact(&text))
    }

    /// Returns whether the text contains a host to remove.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let patterns = self.0.read();
        let text = text.to_ascii_lowercase();
        patterns.all().any(|it| it.matches_in(&text).next().is_some())
    }

    /// Converts an error of an upstream call into the error for the caller. Upstream authentication
    /// errors become internal errors, because the gateway's credentials were rejected and not the
    /// caller's.
    pub(crate) fn to_caller_error(&self, error: ClientError) -> Error {
        let agent_error = match error {
            ClientError::Agent(error) => error,
            ClientError::Forbidden { .. } => {
                let message = "the address of the upstream agent is not allowed";
                return Error::new(ErrorKind::Internal, message);
            }
            error => return error.into(),
        };
        let kind = match agent_error.kind() {
            ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => {
                let message = "the upstream agent rejected the credentials of this server";
                return Error::new(ErrorKind::Internal, message);
            }
            // The card declares the version and binding, so the agent contradicts its card.
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

impl Patterns {
    fn all(&self) -> impl Iterator<Item = &HostPattern> {
        self.configured.iter().chain(&self.discovered)
    }
}

/// Returns the patterns of the host of a URL. Empty for a URL without a host.
fn host_patterns(url: &str) -> Vec<HostPattern> {
    let Some((host, port)) = host_and_port(url) else { return Vec::new() };
    let with_port = port.map(|port| HostPattern::WholeWord(format!("{host}:{port}")));
    let host_only = match host.contains(['.', ':']) {
        true => HostPattern::Anywhere(host),
        // A name without a dot, such as `localhost`, may be an ordinary word outside of a URL.
        false => HostPattern::InUrl(format!("//{host}")),
    };
    with_port.into_iter().chain([host_only]).collect()
}

/// Pattern that matches a host, in lower case.
#[derive(Debug, PartialEq, Eq)]
enum HostPattern {
    /// Matches everywhere.
    Anywhere(String),
    /// Matches unless it is part of a longer name or number.
    WholeWord(String),
    /// Two slashes and a host. Matches the host only.
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

    /// Returns the ranges of the matches in a lower-case text.
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

/// Returns whether a host name or number ends before `after`. A final dot may be a full stop.
fn is_name_end(after: &str) -> bool {
    let after = after.strip_prefix('.').map_or(after, |it| it.trim_start_matches('.'));
    !after.starts_with(is_name_char)
}

/// Returns the host and port of a URL, which may lack a scheme.
fn host_and_port(url: &str) -> Option<(String, Option<u16>)> {
    let with_scheme = if url.contains("://") { url.to_owned() } else { format!("grpc://{url}") };
    let url = Url::parse(&with_scheme).ok()?;
    Some((url.host_str()?.to_ascii_lowercase(), url.port_or_known_default()))
}

#[cfg(test)]
mod tests {
    use latimer_protocol::card::AgentInterface;

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
    fn number_of_discovered_hosts_is_bounded() {
        let redactor = Redactor::default();
        redactor.add_url("http://configured.example");
        let mut card = AgentCard::default();
        for number in 0..10_000 {
            let url = format!("http://host-{number}.example");
            card.supported_interfaces = vec![AgentInterface { url, ..AgentInterface::default() }];
            redactor.add_discovered_url("http://current.example");
            redactor.add_card(&card);
        }
        assert_eq!(redactor.0.read().discovered.len(), MAX_DISCOVERED_PATTERNS);
        for host in ["configured.example", "current.example", "host-9999.example"] {
            assert_eq!(redactor.redact(host), "…", "{host}");
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
            let error = redactor.to_caller_error(Error::new(kind, "10.0.0.5:9000 failed").into());
            assert_eq!(error.kind(), want);
            assert!(!error.message().contains("10.0.0.5"), "{error}");
        }
    }
}
