//! Signatures over cards: JWS (RFC 7515) with detached payload.
//!
//! The payload is a canonical form of the card, see [`CanonicalForm`]. The caller supplies the
//! keys: the URL of a key set in a signature is reported and never fetched here.
//!
//! | module | content |
//! | --- | --- |
//! | `canonical` | canonical forms, the bytes that a signature covers |
//! | `der` | DER encoding of private keys |
//! | `header` | protected header of a signature |
//! | `jwk` | JSON Web Keys |
//! | `key` | signing keys, verifying keys and key sets |
//! | `key_file` | keys from PEM or JWK files |
//! | `python` | JSON as written by Python's `json.dumps` |
//! | `token` | signed JSON Web Tokens |

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

/// Maximum number of signatures that are checked per card. Key rotation needs few; the limit bounds
/// the cost of a malicious card.
const MAX_SIGNATURES: usize = 16;

/// Signs a card in one canonical form. [`AgentCard::sign`] selects the forms and attaches the
/// signatures.
///
/// # Errors
/// Returns [`SignatureError::UnsafeNumber`] or [`SignatureError::NoCanonicalForm`] if the card has
/// no canonical form, and [`SignatureError::Signing`] if the key cannot sign.
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

/// Verifies that a card was signed with one of `keys`. One valid signature is sufficient.
///
/// The caller should use [`VerifiedCard::card`] instead of `card`, which may contain members that
/// the signature does not cover.
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
/// Returns [`SignatureError::Unsigned`] without signatures, and [`SignatureError::Rejected`] with a
/// reason per signature if none is valid. Returns [`SignatureError::InvalidCard`] if the value is
/// not a card, and [`SignatureError::UnsafeNumber`] or [`SignatureError::NoCanonicalForm`] if it
/// has no canonical form.
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
    /// The signature covers the canonical form of the specification. If that form contains empty
    /// members, a second signature covers the form without them, which the Python and JavaScript
    /// SDKs compute. A later change of the card invalidates its signatures.
    ///
    /// # Errors
    /// Returns [`SignatureError`] if the card has no canonical form or the key cannot sign.
    pub fn sign(&mut self, key: &SigningKey) -> Result<(), SignatureError> {
        let mut signatures = vec![sign(self, key, CanonicalForm::Specification)?];
        if payload(self, CanonicalForm::Specification)? != payload(self, CanonicalForm::Stripped)? {
            signatures.push(sign(self, key, CanonicalForm::Stripped)?);
        }
        self.signatures.extend(signatures);
        Ok(())
    }
}

/// Requirements for accepting a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyPolicy {
    /// Accepted algorithms; [`JwsAlgorithm::ALL`] by default. `none` and HMAC cannot be added.
    pub algorithms: Vec<JwsAlgorithm>,
    /// Accepted canonical forms; all forms in use by default.
    pub forms: AcceptedForms,
}

impl Default for VerifyPolicy {
    fn default() -> Self {
        Self { algorithms: JwsAlgorithm::ALL.to_vec(), forms: AcceptedForms::default() }
    }
}

/// Canonical forms that a signature may cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcceptedForms {
    /// The form of the specification and the forms that the SDKs sign.
    #[default]
    Any,
    /// Only the form of the specification.
    Specification,
}

/// Result of a successful verification.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedCard {
    /// The card, limited to members that the signature covers, plus empty members: some signatures
    /// do not cover empty values, but a caller may need them, for example a security requirement
    /// without scopes. Values are normalized as in an unsigned card.
    pub card: AgentCard,
    /// Id of the key, from the signature.
    pub kid: String,
    /// Algorithm of the signature.
    pub algorithm: JwsAlgorithm,
}

/// Reason why a card could not be verified or signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The card has no signature.
    #[error("the card is not signed")]
    Unsigned,
    /// No signature is valid. Contains a reason for each.
    #[error("no signature of the card is valid: {}", join(.0))]
    Rejected(Vec<SignatureRejection>),
    /// The value is not an agent card.
    #[error("the card is invalid: {0}")]
    InvalidCard(#[from] InvalidField),
    /// An integer exceeds the exact range of a double and thus has no canonical form.
    #[error("the card contains the integer {0}, which has no canonical form: write it as a string")]
    UnsafeNumber(String),
    /// The canonical form cannot be computed for another reason.
    #[error("the card has no canonical form: {0}")]
    NoCanonicalForm(String),
    /// The key cannot create a signature.
    #[error("signing failed: {0}")]
    Signing(String),
}

/// Reason why one signature was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureRejection {
    /// The protected header is invalid.
    #[error("the protected header {0}")]
    Header(&'static str),
    /// The algorithm is not accepted.
    #[error("the algorithm {0:?} is not accepted")]
    Algorithm(String),
    /// The key set has no key with this id.
    #[error("the key {0:?} is unknown")]
    UnknownKey(String),
    /// The key belongs to a different algorithm.
    #[error("the key {kid:?} does not support {algorithm}")]
    KeyMismatch {
        /// Id of the key, from the signature.
        kid: String,
        /// Algorithm, from the signature.
        algorithm: JwsAlgorithm,
    },
    /// The signature does not match the card and the key.
    #[error("the signature does not match the card and the key {0:?}")]
    Mismatch(String),
}

fn join(rejections: &[SignatureRejection]) -> String {
    rejections.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn signing_input(protected: &str, payload: &[u8]) -> String {
    format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload))
}

/// Returns the well-formed entries of `signatures`.
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
