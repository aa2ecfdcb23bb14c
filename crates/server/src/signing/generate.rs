//! Generation of signing keys.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rsa::{self, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use latimer_protocol::Secret;
use latimer_protocol::card::JwsAlgorithm;
use pem_rfc7468::LineEnding;

/// Generates a private key in PEM (PKCS#8). RSA takes noticeably longer than the other algorithms.
///
/// # Errors
/// Fails if the system cannot provide randomness.
pub fn generate_key(algorithm: JwsAlgorithm) -> Result<Secret, KeyGenerationError> {
    let key = match algorithm {
        JwsAlgorithm::Es256 => EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)
            .and_then(|it| pem(it.to_pkcs8v1()?.as_ref())),
        JwsAlgorithm::EdDsa => {
            Ed25519KeyPair::generate().and_then(|it| pem(it.to_pkcs8v1()?.as_ref()))
        }
        JwsAlgorithm::Rs256 => rsa::KeyPair::generate(KeySize::Rsa3072)
            .and_then(|it| pem(AsDer::<Pkcs8V1Der<'_>>::as_der(&it)?.as_ref())),
    };
    key.map(Secret::new).map_err(|Unspecified| KeyGenerationError)
}

/// A key could not be generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system provided no randomness to generate a key")]
pub struct KeyGenerationError;

fn pem(der: &[u8]) -> Result<String, Unspecified> {
    pem_rfc7468::encode_string("PRIVATE KEY", LineEnding::LF, der).map_err(|_| Unspecified)
}
