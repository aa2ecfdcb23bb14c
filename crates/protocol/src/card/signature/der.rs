//! DER encoding of the private keys of JWKs, as the cryptography library requires.

/// Length of a P-256 coordinate and of an Ed25519 key, in bytes.
pub(super) const KEY_BYTES: usize = 32;

/// Encodes a P-256 key as PKCS#8.
pub(super) fn p256_key(private: &[u8], x: &[u8], y: &[u8]) -> Vec<u8> {
    const EC_PUBLIC_KEY: &[u8] = &[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
    const PRIME256V1: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
    // The bit string starts with the number of unused bits, the uncompressed point with 4.
    let point = tagged(0x03, &[&[0x00, 0x04], x, y]);
    let key = sequence(&[&integer(&[1]), &octets(private), &tagged(0xa1, &[&point])]);
    sequence(&[&integer(&[0]), &sequence(&[EC_PUBLIC_KEY, PRIME256V1]), &octets(&key)])
}

/// Encodes an Ed25519 key as PKCS#8.
pub(super) fn ed25519_key(private: &[u8]) -> Vec<u8> {
    const ED25519: &[u8] = &[0x06, 0x03, 0x2b, 0x65, 0x70];
    sequence(&[&integer(&[0]), &sequence(&[ED25519]), &octets(&octets(private))])
}

/// Encodes an RSA key as PKCS#1. The numbers are in the order of RFC 8017: n, e, d, p, q, dp, dq,
/// qi.
pub(super) fn rsa_key(numbers: &[Vec<u8>]) -> Vec<u8> {
    let mut body = integer(&[0]);
    numbers.iter().for_each(|number| body.extend(integer(number)));
    sequence(&[&body])
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tagged(0x30, parts)
}

fn octets(bytes: &[u8]) -> Vec<u8> {
    tagged(0x04, &[bytes])
}

/// Encodes a non-negative integer from big-endian bytes.
fn integer(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|it| **it == 0).count();
    let significant = &bytes[zeros.min(bytes.len().saturating_sub(1))..];
    // The highest bit is the sign bit.
    let pad: &[u8] = if significant.first().is_none_or(|it| *it >= 0x80) { &[0] } else { &[] };
    tagged(0x02, &[pad, significant])
}

fn tagged(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|it| it.len()).sum();
    let mut out = vec![tag];
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => out.push(short),
        _ => {
            let bytes = length.to_be_bytes();
            let zeros = bytes.iter().take_while(|it| **it == 0).count();
            let significant = &bytes[zeros..];
            // A `usize` has at most eight bytes.
            out.push(0x80 | u8::try_from(significant.len()).unwrap_or(8));
            out.extend_from_slice(significant);
        }
    }
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_lengths_use_minimal_der() {
        for (bytes, want) in [
            (&[][..], &[0x02, 0x01, 0x00][..]),
            (&[0], &[0x02, 0x01, 0x00]),
            (&[0, 0, 5], &[0x02, 0x01, 0x05]),
            (&[0x80], &[0x02, 0x02, 0x00, 0x80]),
            (&[0x01, 0x00, 0x01], &[0x02, 0x03, 0x01, 0x00, 0x01]),
        ] {
            assert_eq!(integer(bytes), want, "{bytes:?}");
        }
        assert_eq!(octets(&[7; 127])[..2], [0x04, 0x7f]);
        assert_eq!(octets(&[7; 128])[..3], [0x04, 0x81, 0x80]);
        assert_eq!(octets(&[7; 300])[..4], [0x04, 0x82, 0x01, 0x2c]);
    }
}
