//! The algorithms that prove a card.

use std::fmt;
use std::str::FromStr;

use jsonwebtoken::Algorithm;

/// An algorithm that proves who signed. A key is for exactly one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JwsAlgorithm {
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
    /// RSA PKCS#1 v1.5 with SHA-256, of 2048 bits or more.
    Rs256,
}

impl JwsAlgorithm {
    /// Every algorithm.
    pub const ALL: [Self; 3] = [Self::Es256, Self::EdDsa, Self::Rs256];

    /// Its name in headers and keys.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
        }
    }

    pub(super) const fn to_jsonwebtoken(self) -> Algorithm {
        match self {
            Self::Es256 => Algorithm::ES256,
            Self::EdDsa => Algorithm::EdDSA,
            Self::Rs256 => Algorithm::RS256,
        }
    }
}

/// A name that is not one of [`JwsAlgorithm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not ES256, EdDSA or RS256")]
pub struct UnknownAlgorithm;

impl FromStr for JwsAlgorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        Self::ALL.into_iter().find(|it| it.as_str() == name).ok_or(UnknownAlgorithm)
    }
}

impl fmt::Display for JwsAlgorithm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}
