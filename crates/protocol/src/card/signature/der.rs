//! DER encoding of the private keys of JWKs, as the cryptography library requires.

use pkcs1::RsaPrivateKeyRef;
use pkcs8::ObjectIdentifier;
use pkcs8::PrivateKeyInfoRef;
use pkcs8::der::asn1::{AnyRef, OctetStringRef, UintRef};
use pkcs8::der::{self, Encode};
use pkcs8::spki::AlgorithmIdentifierRef;
use sec1::EcPrivateKey;

/// Length of a P-256 coordinate and of an Ed25519 key, in bytes.
pub(super) const KEY_BYTES: usize = 32;

const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const PRIME256V1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// Encodes a P-256 key as PKCS#8.
///
/// # Errors
/// Fails if the key is longer than DER allows.
pub(super) fn p256_key(private_key: &[u8], x: &[u8], y: &[u8]) -> der::Result<Vec<u8>> {
    // An uncompressed point starts with 4.
    let point = [&[4], x, y].concat();
    let key = EcPrivateKey { private_key, parameters: None, public_key: Some(&point) };
    pkcs8(EC_PUBLIC_KEY, Some((&PRIME256V1).into()), &key.to_der()?)
}

/// Encodes an Ed25519 key as PKCS#8.
///
/// # Errors
/// Fails if the key is longer than DER allows.
pub(super) fn ed25519_key(private_key: &[u8]) -> der::Result<Vec<u8>> {
    pkcs8(ED25519, None, &OctetStringRef::new(private_key)?.to_der()?)
}

/// Encodes an RSA key as PKCS#1. The numbers are n, e, d, p, q, dp, dq and qi, big-endian.
///
/// # Errors
/// Fails if a number is longer than DER allows.
pub(super) fn rsa_key(numbers: [&[u8]; 8]) -> der::Result<Vec<u8>> {
    let [n, e, d, p, q, dp, dq, qi] = numbers;
    RsaPrivateKeyRef {
        modulus: UintRef::new(n)?,
        public_exponent: UintRef::new(e)?,
        private_exponent: UintRef::new(d)?,
        prime1: UintRef::new(p)?,
        prime2: UintRef::new(q)?,
        exponent1: UintRef::new(dp)?,
        exponent2: UintRef::new(dq)?,
        coefficient: UintRef::new(qi)?,
        other_prime_infos: None,
    }
    .to_der()
}

fn pkcs8(
    oid: ObjectIdentifier,
    parameters: Option<AnyRef<'_>>,
    private_key: &[u8],
) -> der::Result<Vec<u8>> {
    let algorithm = AlgorithmIdentifierRef { oid, parameters };
    PrivateKeyInfoRef::new(algorithm, OctetStringRef::new(private_key)?).to_der()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_structure_of_their_standards() {
        let (d, x, y) = ([1; KEY_BYTES], [2; KEY_BYTES], [0xff; KEY_BYTES]);
        // RFC 5915 within RFC 5208.
        let prefix = b"\x30\x81\x87\x02\x01\x00\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\
            \x3d\x03\x01\x07\x04\x6d\x30\x6b\x02\x01\x01\x04\x20";
        let point_prefix = b"\xa1\x44\x03\x42\x00\x04";
        let want = [&prefix[..], &d, point_prefix, &x, &y].concat();
        assert_eq!(p256_key(&d, &x, &y), Ok(want));
        // RFC 8410.
        let prefix = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
        assert_eq!(ed25519_key(&d), Ok([&prefix[..], &d].concat()));
        // RFC 8017: minimal integers, with a zero byte before a high bit.
        let key = rsa_key([&[0x80], &[1, 0, 1], &[0, 0, 5], &[4], &[5], &[6], &[7], &[8]]);
        let want = b"\x30\x1e\x02\x01\x00\x02\x02\x00\x80\x02\x03\x01\x00\x01\x02\x01\x05\x02\x01\x04\x02\x01\
            \x05\x02\x01\x06\x02\x01\x07\x02\x01\x08";
        assert_eq!(key, Ok(want.to_vec()));
    }
}
