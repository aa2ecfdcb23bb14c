//! Signatures over cards: JWS (RFC 7515) with the card itself as the payload that is left out.
//!
//! What is signed is the canonical form of the card, which [`canonical`] makes. Keys are given by
//! the caller: where a card says its key can be found is told, and never followed here.

mod canonical;
mod der;
mod header;
mod jwk;
mod key;
mod key_file;
mod python;
#[cfg(test)]
mod tests;
mod token;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

pub use canonical::CanonicalForm;
use canonical::{Candidate, candidates, payload};
pub use header::ProtectedHeader;
pub use key::{InvalidKey, KeySet, SigningKey, VerifyingKey};

use super::{AgentCard, AgentCardSignature, JwsAlgorithm};
use crate::json::InvalidField;

/// How many signatures of one card are looked at. More than that is not a rotation of keys but
/// an attack.
const MAX_SIGNATURES: usize = 16;

/// Signs a card in one canonical form. [`AgentCard::sign`] picks the forms and attaches the result.
///
/// # Errors
/// [`SignatureError::UnsafeNumber`] or [`SignatureError::NoCanonicalForm`] when there is nothing that
/// could be signed, and [`SignatureError::Signing`] when the key cannot sign.
pub fn sign(
    card: &AgentCard,
    key: &SigningKey,
    form: CanonicalForm,
) -> Result<AgentCardSignature, SignatureError> {
    let payload = payload(card, form)?;
    let header = json!(ProtectedHeader::for_key(key));
    let protected = URL_SAFE_NO_PAD.encode(header.to_string());
    let signature = key.sign(signing_input(&protected, &payload).as_bytes())?;
    Ok(AgentCardSignature { protected, signature, ..AgentCardSignature::default() })
}

/// Proves that a card was signed with one of `keys`. One valid signature is enough.
///
/// The card that was proven comes back in [`VerifiedCard::card`]: use that one, because `card` may have
/// members that no signature covers.
///
/// ```
/// # use latimer_protocol::card::{AgentCard, CardFormat, KeySet, SigningKey, VerifyPolicy, verify};
/// # use serde_json::json;
/// # let jwk = json!({"kty": "OKP", "crv": "Ed25519", "kid": "k1",
/// #     "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
/// #     "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
/// let key = SigningKey::from_jwk(&jwk)?;
/// let mut card = AgentCard::placeholder("https://agent.example/a2a");
/// card.sign(&key)?;
///
/// let keys = KeySet::from([key.verifying_key()?]);
/// let verified = verify(&card.to_json(CardFormat::V1_0), &keys, &VerifyPolicy::default())?;
/// assert_eq!(verified.kid, "k1");
///
/// card.description = "Something else".into();
/// assert!(verify(&card.to_json(CardFormat::V1_0), &keys, &VerifyPolicy::default()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`SignatureError::Unsigned`], or [`SignatureError::Rejected`] with the reason for each signature.
/// [`SignatureError::InvalidCard`] when it is not a card, and [`SignatureError::UnsafeNumber`] or
/// [`SignatureError::NoCanonicalForm`] when there is nothing that could have been signed.
pub fn verify(
    card: &Value,
    keys: &KeySet,
    policy: &VerifyPolicy,
) -> Result<VerifiedCard, SignatureError> {
    let signatures = signatures(card);
    if signatures.is_empty() {
        return Err(SignatureError::Unsigned);
    }
    let candidates = candidates(card, policy.forms)?;
    let mut rejections = Vec::new();
    for signature in signatures.into_iter().take(MAX_SIGNATURES) {
        match check(&signature, &candidates, keys, policy) {
            Ok(verified) => return Ok(verified),
            Err(rejection) => rejections.push(rejection),
        }
    }
    Err(SignatureError::Rejected(rejections))
}

impl AgentCard {
    /// Signs the card and attaches the signature.
    ///
    /// It covers the form that the specification defines. Where that has empty members, a second
    /// signature covers the form without them, which is the one that the SDKs for Python and
    /// JavaScript compute. A card that changes afterwards has to be signed anew.
    ///
    /// # Errors
    /// When the card has no canonical form, or the key cannot sign.
    pub fn sign(&mut self, key: &SigningKey) -> Result<(), SignatureError> {
        let mut signatures = vec![sign(self, key, CanonicalForm::Specification)?];
        if payload(self, CanonicalForm::Specification)? != payload(self, CanonicalForm::Stripped)? {
            signatures.push(sign(self, key, CanonicalForm::Stripped)?);
        }
        self.signatures.extend(signatures);
        Ok(())
    }
}

/// What is accepted as proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyPolicy {
    /// The algorithms that count. All of [`JwsAlgorithm::ALL`] by default; no other can be added,
    /// so `none` and HMAC never count.
    pub algorithms: Vec<JwsAlgorithm>,
    /// The canonical forms that count. All that are in use by default.
    pub forms: AcceptedForms,
}

impl Default for VerifyPolicy {
    fn default() -> Self {
        Self { algorithms: JwsAlgorithm::ALL.to_vec(), forms: AcceptedForms::default() }
    }
}

/// Which canonical forms of a card a signature may cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcceptedForms {
    /// The form of the specification, and those that the SDKs sign instead.
    #[default]
    Any,
    /// The form of the specification alone.
    Specification,
}

/// A proof that held.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedCard {
    /// The card, without members that the signature does not cover, save for what is empty: some
    /// signatures cover nothing empty, and what a caller needs may be, such as a security requirement
    /// without scopes. Read as it is meant, like any card without signatures.
    pub card: AgentCard,
    /// The key, as the signature names it.
    pub kid: String,
    /// The algorithm.
    pub algorithm: JwsAlgorithm,
}

/// Why a card is not proven, or cannot be signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// There is no signature.
    #[error("the card is not signed")]
    Unsigned,
    /// There are signatures, and none of them counts. One reason for each.
    #[error("no signature of the card holds: {}", join(.0))]
    Rejected(Vec<SignatureRejection>),
    /// It is not a card.
    #[error("the card cannot be read: {0}")]
    InvalidCard(#[from] InvalidField),
    /// A number has no canonical form: an integer that a double cannot hold.
    #[error("the card holds the integer {0}, which has no canonical form; write it as a string")]
    UnsafeNumber(String),
    /// The canonical form cannot be computed for another reason.
    #[error("the card has no canonical form: {0}")]
    NoCanonicalForm(String),
    /// The key cannot sign.
    #[error("signing failed: {0}")]
    Signing(String),
}

/// Why one signature does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureRejection {
    /// The protected header is not what a card's signature needs.
    #[error("its protected header {0}")]
    Header(&'static str),
    /// The algorithm is not accepted.
    #[error("the algorithm {0:?} is not accepted")]
    Algorithm(String),
    /// None of the keys has this name.
    #[error("the key {0:?} is not known")]
    UnknownKey(String),
    /// The key is for another algorithm.
    #[error("the key {kid:?} is not one for {algorithm}")]
    KeyMismatch {
        /// The key, as the signature names it.
        kid: String,
        /// The algorithm, as the signature names it.
        algorithm: JwsAlgorithm,
    },
    /// The card, or the signature, is not what was made with that key.
    #[error("it does not match the card and the key {0:?}")]
    Mismatch(String),
}

fn join(rejections: &[SignatureRejection]) -> String {
    rejections.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn signing_input(protected: &str, payload: &[u8]) -> String {
    format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload))
}

/// The signatures that have the form of one.
fn signatures(card: &Value) -> Vec<AgentCardSignature> {
    let items = card.get("signatures").and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|it| crate::json::from_value(it).ok()).collect()
}

fn check(
    signature: &AgentCardSignature,
    candidates: &[Candidate],
    keys: &KeySet,
    policy: &VerifyPolicy,
) -> Result<VerifiedCard, SignatureRejection> {
    let header = ProtectedHeader::read(&signature.protected)?;
    let algorithm: JwsAlgorithm =
        header.alg.parse().map_err(|_| SignatureRejection::Algorithm(header.alg.clone()))?;
    if !policy.algorithms.contains(&algorithm) {
        return Err(SignatureRejection::Algorithm(header.alg));
    }
    let kid = header.kid;
    let matching = keys.matching_kid(&kid);
    if matching.is_empty() {
        return Err(SignatureRejection::UnknownKey(kid));
    }
    let usable: Vec<_> = matching.into_iter().filter(|it| it.algorithm() == algorithm).collect();
    if usable.is_empty() {
        return Err(SignatureRejection::KeyMismatch { kid, algorithm });
    }
    for candidate in candidates {
        let input = signing_input(&signature.protected, &candidate.payload);
        let is_valid = usable.iter().any(|key| key.verify(input.as_bytes(), &signature.signature));
        if is_valid && let Ok(card) = candidate.card() {
            return Ok(VerifiedCard { card, kid, algorithm });
        }
    }
    Err(SignatureRejection::Mismatch(kid))
}
