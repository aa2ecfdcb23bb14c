//! Authentication by API key.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use base16ct::HexDisplay;
use latimer_protocol::card::SecurityScheme;
use latimer_protocol::{Caller, Secret};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{
    AuthError, Authenticate, BEARER_CHALLENGE, OPERATOR_SCOPE, PresentedCredentials,
    SecurityDeclaration, extract,
};

/// Principal of callers with the operator key.
const OPERATOR_PRINCIPAL: &str = "api-key";
/// Names of the security schemes in cards.
const BEARER_SCHEME: &str = "apiKey";
const HEADER_SCHEME: &str = "apiKeyHeader";

/// Authenticates callers by API key, sent as a bearer token or in the header `X-API-Key`. Stores only
/// digests of the keys. All clients that send the same key are the same caller.
///
/// ```
/// # use latimer_server::{ApiKeys, KeyDigest};
/// # use latimer_protocol::Secret;
/// let digest = KeyDigest::from_key(&Secret::new("correct horse battery staple"));
/// let keys = ApiKeys::default().with_key("ci", digest, ["deploy"]);
/// # drop(keys);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ApiKeys(Vec<ApiKeyEntry>);

#[derive(Clone, Debug)]
struct ApiKeyEntry {
    digest: KeyDigest,
    caller: Caller,
}

impl ApiKeys {
    /// Adds a key with the principal `api-key` and the scope [`OPERATOR_SCOPE`].
    #[must_use]
    pub fn with_operator_key(mut self, key: &Secret) -> Self {
        let caller = Caller::new(OPERATOR_PRINCIPAL).with_scopes([OPERATOR_SCOPE]);
        self.0.push(ApiKeyEntry { digest: KeyDigest::from_key(key), caller });
        self
    }

    /// Adds a key with the principal `key:NAME` and these scopes.
    #[must_use]
    pub fn with_key<S: Into<String>>(
        mut self,
        name: &str,
        digest: KeyDigest,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        let caller = Caller::new(format!("key:{name}")).with_scopes(scopes);
        self.0.push(ApiKeyEntry { digest, caller });
        self
    }

    /// Returns whether there are no keys; every request is then rejected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the caller of a key. Compares every digest in constant time, so that the duration
    /// reveals nothing about the stored keys.
    fn find_caller(&self, key: &str) -> Option<&Caller> {
        let digest = KeyDigest::hash(key);
        let mut caller = None;
        for entry in &self.0 {
            if digest.0.ct_eq(&entry.digest.0).into() {
                caller = Some(&entry.caller);
            }
        }
        caller
    }
}

#[async_trait]
impl Authenticate for ApiKeys {
    async fn authenticate(&self, presented: PresentedCredentials<'_>) -> Result<Caller, AuthError> {
        let key = extract::api_key(presented.headers)?.ok_or(AuthError::Missing)?;
        self.find_caller(key).cloned().ok_or_else(|| AuthError::invalid("the API key is unknown"))
    }

    fn challenge(&self) -> &str {
        BEARER_CHALLENGE
    }

    fn security(&self) -> SecurityDeclaration {
        SecurityDeclaration::default()
            .with_alternative(BEARER_SCHEME, SecurityScheme::bearer())
            .with_alternative(HEADER_SCHEME, SecurityScheme::api_key("X-API-Key"))
    }
}

/// SHA-256 digest of an API key: verifies a presented key without storing it. Displayed and parsed as
/// 64 hexadecimal digits.
///
/// ```
/// # use latimer_server::KeyDigest;
/// # use latimer_protocol::Secret;
/// let digest = KeyDigest::from_key(&Secret::new("sesame"));
/// assert_eq!(digest.to_string().parse::<KeyDigest>()?, digest);
/// # Ok::<(), latimer_server::InvalidDigest>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    /// Computes the digest of a key.
    #[must_use]
    pub fn from_key(key: &Secret) -> Self {
        Self::hash(key.reveal())
    }

    fn hash(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }
}

impl fmt::Display for KeyDigest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&HexDisplay(&self.0), out)
    }
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("KeyDigest")
    }
}

/// A string is not a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a SHA-256 digest: expected 64 hexadecimal digits")]
pub struct InvalidDigest;

impl FromStr for KeyDigest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let mut digest = [0; 32];
        match base16ct::mixed::decode(text, &mut digest) {
            Ok(bytes) if bytes.len() == 32 => Ok(Self(digest)),
            _ => Err(InvalidDigest),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    #[tokio::test]
    async fn each_key_maps_to_its_own_caller() {
        let digest = |key: &str| KeyDigest::from_key(&Secret::new(key));
        let keys = ApiKeys::default()
            .with_operator_key(&Secret::new("open sesame"))
            .with_key("ci", digest("one"), ["read"])
            .with_key("ops", digest("two"), ["read", "write"]);
        for (name, value, want) in [
            ("authorization", "Bearer open sesame", Some(("api-key", OPERATOR_SCOPE))),
            ("authorization", "Bearer one", Some(("key:ci", "read"))),
            ("x-api-key", "two", Some(("key:ops", "read write"))),
            ("x-api-key", "three", None),
            ("authorization", "Bearer open sesam", None),
            ("other", "one", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            let caller = keys.authenticate(PresentedCredentials::new(&headers)).await.ok();
            let caller = caller.as_ref().map(|it| (&**it.id(), it.scopes().join(" ")));
            assert_eq!(caller, want.map(|(id, scopes)| (id, scopes.to_owned())), "{value}");
        }
    }

    #[test]
    fn digest_parses_only_64_hex_digits() {
        let digest = KeyDigest::from_key(&Secret::new("abc"));
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.to_uppercase().parse(), Ok(digest));
        assert_eq!(format!("{digest:?}"), "KeyDigest");
        let short = &text[1..];
        let sign = format!("+{short}");
        for text in ["", "abc", short, &sign, &"é".repeat(32), &"x".repeat(64)] {
            assert_eq!(text.parse::<KeyDigest>(), Err(InvalidDigest), "{text}");
        }
    }
}
