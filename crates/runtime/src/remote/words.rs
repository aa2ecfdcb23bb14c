//! What callers may read of what went wrong, or of a card: never where the agent behind is.

use std::ops::Range;
use std::sync::{PoisonError, RwLock};

use latimer_client::Error as ClientError;
use latimer_protocol::card::AgentCard;
use latimer_protocol::{Error, ErrorKind};
use url::Url;

/// The addresses that nobody is told.
#[derive(Debug, Default)]
pub(crate) struct Words(RwLock<Vec<Hidden>>);

/// What stands in place of an address.
const HIDDEN: &str = "…";

impl Words {
    /// Hides an address from now on: its host, and its host with its port.
    pub(crate) fn hide(&self, url: &str) {
        let Some((host, port)) = place(url) else { return };
        let mut hidden = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let with_port = port.map(|port| Hidden::Whole(format!("{host}:{port}")));
        let alone = match host.contains(['.', ':']) {
            true => Hidden::Anywhere(host),
            // A plain word like `localhost` may be meant for what it says.
            false => Hidden::InUrl(format!("//{host}")),
        };
        for it in with_port.into_iter().chain([alone]) {
            if !hidden.contains(&it) {
                hidden.push(it);
            }
        }
    }

    /// Hides every address that a card has for calls.
    pub(crate) fn hide_all(&self, card: &AgentCard) {
        for interface in &card.supported_interfaces {
            self.hide(&interface.url);
        }
    }

    /// A text without the addresses.
    pub(crate) fn clean(&self, text: &str) -> String {
        let hidden = self.0.read().unwrap_or_else(PoisonError::into_inner);
        hidden.iter().fold(text.to_owned(), |text, it| it.clean(&text))
    }

    /// Whether a text has an address that nobody is told.
    pub(super) fn leaks(&self, text: &str) -> bool {
        let hidden = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let text = text.to_ascii_lowercase();
        hidden.iter().any(|it| it.places(&text).next().is_some())
    }

    /// What a caller learns of a failure.
    pub(crate) fn error(&self, error: ClientError) -> Error {
        let said = match error {
            ClientError::Agent(said) => said,
            ClientError::Forbidden { .. } => {
                let message = "the agent behind this one is at an address that may not be called";
                return Error::new(ErrorKind::Internal, message);
            }
            error => return error.into(),
        };
        let kind = match said.kind() {
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
        let error = Error::new(kind, self.clean(said.message()));
        match said.retry_after_seconds() {
            Some(seconds) => error.with_retry_after(std::time::Duration::from_secs(seconds)),
            None => error,
        }
    }
}

/// One spelling of an address, in lower case.
#[derive(Debug, PartialEq, Eq)]
enum Hidden {
    /// Hidden wherever it stands.
    Anywhere(String),
    /// Hidden where it is not a part of a longer name or number.
    Whole(String),
    /// Two slashes and a host, hidden like that but for the slashes.
    InUrl(String),
}

impl Hidden {
    fn clean(&self, text: &str) -> String {
        let lower = text.to_ascii_lowercase();
        let (mut cleaned, mut done) = (String::with_capacity(text.len()), 0);
        for place in self.places(&lower) {
            cleaned.push_str(&text[done..place.start]);
            cleaned.push_str(HIDDEN);
            done = place.end;
        }
        cleaned.push_str(&text[done..]);
        cleaned
    }

    /// Where it stands in a text of lower case.
    fn places(&self, text: &str) -> impl Iterator<Item = Range<usize>> {
        let (Self::Anywhere(own) | Self::Whole(own) | Self::InUrl(own)) = self;
        let found = text.match_indices(own.as_str()).map(|(at, _)| at..at + own.len());
        found.filter_map(move |it| {
            let (before, behind) = (&text[..it.start], &text[it.end..]);
            match self {
                Self::Anywhere(_) => Some(it),
                Self::Whole(_) => (!before.ends_with(in_name) && ends_name(behind)).then_some(it),
                Self::InUrl(_) => ends_name(behind).then(|| it.start + "//".len()..it.end),
            }
        })
    }
}

fn in_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '-' | '.')
}

/// Whether the name of a host, or a number, is over before this. A dot may end the sentence, too.
fn ends_name(behind: &str) -> bool {
    let behind = behind.strip_prefix('.').map_or(behind, |it| it.trim_start_matches('.'));
    !behind.starts_with(in_name)
}

/// The host and the port of an address, which may have no scheme.
fn place(url: &str) -> Option<(String, Option<u16>)> {
    let with_scheme = if url.contains("://") { url.to_owned() } else { format!("grpc://{url}") };
    let url = Url::parse(&with_scheme).ok()?;
    Some((url.host_str()?.to_ascii_lowercase(), url.port_or_known_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_hidden_however_it_is_written() {
        let words = Words::default();
        for url in [
            "http://10.0.0.5:9000/a2a",
            "inner.example:443",
            "http://localhost:81",
            "http://Backend/a2a",
        ] {
            words.hide(url);
        }
        for (said, want) in [
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
            assert_eq!(words.clean(said), want);
            assert_eq!(words.leaks(said), said != want, "{said}");
        }
    }

    #[test]
    fn who_is_refused_there_is_us() {
        let words = Words::default();
        words.hide("http://10.0.0.5:9000");
        for (kind, want) in [
            (ErrorKind::Unauthenticated, ErrorKind::Internal),
            (ErrorKind::PermissionDenied, ErrorKind::Internal),
            (ErrorKind::MethodNotFound, ErrorKind::InvalidAgentResponse),
            (ErrorKind::InvalidParams, ErrorKind::InvalidParams),
            (ErrorKind::RateLimited, ErrorKind::RateLimited),
        ] {
            let error = words.error(Error::new(kind, "10.0.0.5:9000 says no").into());
            assert_eq!(error.kind(), want);
            assert!(!error.message().contains("10.0.0.5"), "{error}");
        }
    }
}
