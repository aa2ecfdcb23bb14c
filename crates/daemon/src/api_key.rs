//! One key for all callers.

use async_trait::async_trait;
use http::header::AUTHORIZATION;
use latimer_protocol::card::{AgentCard, SecurityRequirement, SecurityScheme};
use latimer_protocol::{Caller, Error, ErrorKind, Secret};
use latimer_server::{Authenticate, Credentials, OPERATOR};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Lets in whoever shows the key as a bearer token. All of them are one caller.
#[derive(Debug)]
pub(crate) struct ApiKey {
    digest: [u8; 32],
    caller: Caller,
}

/// The name of the scheme in cards.
const SCHEME: &str = "apiKey";

impl ApiKey {
    pub(crate) fn new(key: &Secret) -> Self {
        Self {
            digest: digest(key.reveal()),
            caller: Caller::new("api-key").with_scopes([OPERATOR]),
        }
    }

    /// Has a card say that the key is needed.
    pub(crate) fn declare(card: &mut AgentCard) {
        card.security_schemes.insert(SCHEME.to_owned(), SecurityScheme::bearer());
        card.security_requirements = vec![SecurityRequirement::scheme(SCHEME)];
    }
}

#[async_trait]
impl Authenticate for ApiKey {
    async fn authenticate(&self, shown: Credentials<'_>) -> Result<Caller, Error> {
        let header = shown.headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
        let token = header.and_then(bearer).ok_or(ErrorKind::Unauthenticated)?;
        // Digests are of one length, so that not even the length of the key can be measured.
        match digest(token).ct_eq(&self.digest).into() {
            true => Ok(self.caller.clone()),
            false => Err(ErrorKind::Unauthenticated.into()),
        }
    }
}

/// The token behind `Bearer`, in any case.
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::*;

    #[tokio::test]
    async fn only_the_key_lets_in() {
        let key = ApiKey::new(&Secret::new("open sesame"));
        for (header, want) in [
            (Some("Bearer open sesame"), true),
            (Some("bearer open sesame"), true),
            (Some("Bearer open sesam"), false),
            (Some("Bearer "), false),
            (Some("Basic open sesame"), false),
            (Some("open sesame"), false),
            (None, false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(AUTHORIZATION, HeaderValue::from_static(header));
            }
            let let_in = key.authenticate(Credentials::new(&headers)).await;
            assert_eq!(let_in.is_ok(), want, "{header:?}");
        }
    }
}
