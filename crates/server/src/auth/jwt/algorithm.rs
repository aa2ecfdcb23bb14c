//! Signature algorithms of tokens.

use std::fmt;
use std::str::FromStr;

use jsonwebtoken::Algorithm;

/// Asymmetric signature algorithm of a token. Symmetric algorithms are excluded because a verifier
/// could forge tokens; unsigned tokens are excluded too. Displayed and parsed by its JOSE name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JwtAlgorithm(Algorithm);

/// All algorithms by name.
const ALL: [(&str, Algorithm); 9] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];

impl JwtAlgorithm {
    /// Algorithms that are accepted by default.
    pub const DEFAULT: [Self; 5] = [
        Self(Algorithm::RS256),
        Self(Algorithm::PS256),
        Self(Algorithm::ES256),
        Self(Algorithm::ES384),
        Self(Algorithm::EdDSA),
    ];

    pub(super) fn matches(self, algorithm: Algorithm) -> bool {
        self.0 == algorithm
    }
}

impl FromStr for JwtAlgorithm {
    type Err = super::InvalidJwt;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let entry = ALL.iter().find(|(name, _)| *name == text);
        entry.map(|(_, it)| Self(*it)).ok_or_else(|| {
            let names = ALL.map(|(name, _)| name).join(", ");
            let problem = format!("{text:?} is not one of {names}");
            super::InvalidJwt { setting: "algorithms", problem }
        })
    }
}

impl fmt::Display for JwtAlgorithm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ALL.iter().find(|(_, it)| *it == self.0).map_or("", |(name, _)| name);
        out.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symmetric_and_unsigned_algorithms_are_rejected() {
        for name in ["HS256", "HS384", "HS512", "none", "None", "", "rs256"] {
            assert!(name.parse::<JwtAlgorithm>().is_err(), "{name}");
        }
        for (name, _) in ALL {
            assert_eq!(name.parse::<JwtAlgorithm>().unwrap().to_string(), name);
        }
    }
}
