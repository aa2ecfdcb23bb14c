//! What callers may read of what went wrong, or of a card: never where the agent behind is.

use std::sync::{PoisonError, RwLock};

use latimer_client::Error as ClientError;
use latimer_protocol::card::AgentCard;
use latimer_protocol::{Error, ErrorKind};
use url::Url;

/// The addresses that nobody is told.
#[derive(Debug, Default)]
pub(crate) struct Words(RwLock<Vec<String>>);

/// What stands in place of an address.
const HIDDEN: &str = "…";

impl Words {
    /// Hides an address from now on: its host, and its host with its port.
    pub(crate) fn hide(&self, url: &str) {
        let Some((host, port)) = place(url) else { return };
        let mut hidden = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let with_port = port.map(|port| format!("{host}:{port}"));
        // A plain word like `localhost` may be meant for what it says.
        let alone = host.contains(['.', ':']).then_some(host);
        for text in with_port.into_iter().chain(alone) {
            if !hidden.contains(&text) {
                hidden.push(text);
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
        hidden.iter().fold(text.to_owned(), |text, it| text.replace(it.as_str(), HIDDEN))
    }

    /// Whether a text has an address that nobody is told.
    pub(super) fn leaks(&self, text: &str) -> bool {
        let hidden = self.0.read().unwrap_or_else(PoisonError::into_inner);
        hidden.iter().any(|it| text.contains(it.as_str()))
    }

    /// What a caller learns of a failure.
    pub(crate) fn error(&self, error: ClientError) -> Error {
        let ClientError::Agent(said) = error else { return error.into() };
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
        match said.retry_seconds() {
            Some(seconds) => error.retry_after(std::time::Duration::from_secs(seconds)),
            None => error,
        }
    }
}

/// The host and the port of an address, which may have no scheme.
fn place(url: &str) -> Option<(String, Option<u16>)> {
    let with_scheme = if url.contains("://") { url.to_owned() } else { format!("grpc://{url}") };
    let url = Url::parse(&with_scheme).ok()?;
    Some((url.host_str()?.to_owned(), url.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_hidden_however_it_is_written() {
        let words = Words::default();
        for url in ["http://10.0.0.5:9000/a2a", "inner.example:443", "http://localhost:81"] {
            words.hide(url);
        }
        for (said, want) in [
            ("http://10.0.0.5:9000/x is down", "http://…/x is down"),
            ("ask 10.0.0.5", "ask …"),
            ("grpc inner.example:443", "grpc …"),
            ("https://inner.example/docs", "https://…/docs"),
            ("localhost:81 refused", "… refused"),
            ("not localhost", "not localhost"),
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
