//! Removal of upstream hosts from text that callers can read: errors, status messages and cards.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::time::Duration;

use latimer_client::Error as ClientError;
use latimer_protocol::card::AgentCard;
use latimer_protocol::{Error, ErrorKind};
use parking_lot::RwLock;
use url::Url;
use uuid::Uuid;

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

    /// Converts an error of an upstream call into the error for the caller. Only the message of a
    /// protocol error passes, without addresses. Every other error has a message of this server, and
    /// `reference` to find the cause in the log.
    ///
    /// Upstream authentication errors become internal errors, because the gateway's credentials were
    /// rejected and not the caller's. The message of an internal error may contain any detail of the
    /// upstream agent, so it is replaced.
    pub(crate) fn to_caller_error(&self, error: ClientError, reference: &str) -> Error {
        let agent_error = match error {
            ClientError::Agent(error) => error,
            ClientError::Forbidden { .. } => {
                let message = "the address of the upstream agent is not allowed";
                return with_reference(Error::new(ErrorKind::Internal, message), reference);
            }
            error => return with_reference(error.into(), reference),
        };
        let kind = match agent_error.kind() {
            ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => {
                let message = "the upstream agent rejected the credentials of this server";
                return with_reference(Error::new(ErrorKind::Internal, message), reference);
            }
            ErrorKind::Internal => {
                let message = "the upstream agent reported an internal error";
                return with_reference(Error::new(ErrorKind::Internal, message), reference);
            }
            // The card declares the version and binding, so the agent contradicts its card.
            ErrorKind::MethodNotFound | ErrorKind::VersionNotSupported | ErrorKind::Parse => {
                ErrorKind::InvalidAgentResponse
            }
            kind => kind,
        };
        let message = redact_addresses(&self.redact(agent_error.message()));
        with_retry_after_of(&agent_error, Error::new(kind, message))
    }
}

/// Creates a reference, which connects an error for a caller with the log message about its cause.
pub(crate) fn new_reference() -> String {
    let id = Uuid::now_v7().simple().to_string();
    // The first half is mostly the time.
    id.split_at(REFERENCE_START).1.to_owned()
}

/// Index of the random digits that a reference takes from a UUID.
const REFERENCE_START: usize = 20;

fn with_reference(error: Error, reference: &str) -> Error {
    let message = format!("{} (reference {reference})", error.message());
    with_retry_after_of(&error, Error::new(error.kind(), message))
}

fn with_retry_after_of(original: &Error, error: Error) -> Error {
    match original.retry_after_seconds() {
        Some(seconds) => error.with_retry_after(Duration::from_secs(seconds)),
        None => error,
    }
}

/// Replaces the authorities of URLs, IP addresses, and host names with a port. Unlike a
/// [`Redactor`], it also finds addresses that no card names, such as that of a database.
fn redact_addresses(text: &str) -> String {
    let is_delimiter = |it: char| it.is_whitespace() || "\"'`<>(){},;=|".contains(it);
    let mut redacted = String::with_capacity(text.len());
    for token in text.split_inclusive(is_delimiter) {
        let word = token.trim_end_matches(is_delimiter).trim_end_matches(['.', ':', '!', '?']);
        let rest = &token[word.len()..];
        match word.split_once("://") {
            Some((scheme, address)) => {
                let path = address.find(['/', '?', '#']).map_or("", |at| &address[at..]);
                redacted.extend([scheme, "://", PLACEHOLDER, path]);
            }
            None if is_address(word) => redacted.push_str(PLACEHOLDER),
            None => redacted.push_str(word),
        }
        redacted.push_str(rest);
    }
    redacted
}

/// Returns whether a word is an IP address, with or without a port, or a host name with a port.
fn is_address(word: &str) -> bool {
    let is_host = |host: &str| {
        let is_name = host.contains('.') || host.eq_ignore_ascii_case("localhost");
        is_name && host.contains(char::is_alphabetic) && host.chars().all(is_name_char)
    };
    word.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
        || word.parse::<SocketAddr>().is_ok()
        || word
            .rsplit_once(':')
            .is_some_and(|(host, port)| port.parse::<u16>().is_ok() && is_host(host))
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
            let upstream_error = Error::new(kind, "10.0.0.5:9000 failed");
            let error = redactor.to_caller_error(upstream_error.into(), "r1");
            assert_eq!(error.kind(), want);
            assert!(!error.message().contains("10.0.0.5"), "{error}");
        }
    }

    #[test]
    fn only_protocol_errors_keep_their_message() {
        let redactor = Redactor::default();
        let detail = "cannot open /srv/db.sqlite on 10.9.8.7";
        let limit = Duration::from_secs(1);
        for (error, want) in [
            (
                Error::new(ErrorKind::InvalidParams, detail).into(),
                "cannot open /srv/db.sqlite on …",
            ),
            (
                Error::new(ErrorKind::Internal, detail).into(),
                "the upstream agent reported an internal error (reference r1)",
            ),
            (
                Error::new(ErrorKind::Unauthenticated, detail).into(),
                "the upstream agent rejected the credentials of this server (reference r1)",
            ),
            (
                ClientError::Timeout { origin: detail.into(), limit },
                "the agent did not respond in time (reference r1)",
            ),
            (ClientError::InvalidSetup(detail.into()), "internal error (reference r1)"),
        ] {
            assert_eq!(redactor.to_caller_error(error, "r1").message(), want);
        }
        let busy = Error::new(ErrorKind::Unavailable, "busy").with_retry_after(limit);
        let error = redactor.to_caller_error(busy.into(), "r1");
        assert_eq!(error.retry_after_seconds(), Some(1));
        assert_ne!(new_reference(), new_reference());
    }

    #[test]
    fn unknown_addresses_are_removed_from_messages() {
        for (text, want) in [
            ("connect to 10.0.0.7:5432 failed", "connect to … failed"),
            ("host 10.0.0.7.", "host …."),
            ("(fd00::7), [fd00::7]:80: refused", "(…), …: refused"),
            ("GET http://user:pw@db.internal/x?y: 500", "GET http://…/x?y: 500"),
            ("see https://db.internal.", "see https://…."),
            ("addr=db.internal:5432", "addr=…"),
            ("localhost:81 refused", "… refused"),
            (
                "the field parts[0].text at 12:30, std::io",
                "the field parts[0].text at 12:30, std::io",
            ),
            ("docs.example has no port", "docs.example has no port"),
        ] {
            assert_eq!(redact_addresses(text), want);
        }
    }
}
