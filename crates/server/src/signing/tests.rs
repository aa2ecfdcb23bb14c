//! Tests of key generation, rotation and delivery tokens.

use latimer_protocol::Secret;
use latimer_protocol::card::JwsAlgorithm;
use serde_json::Value;

use super::*;

fn new_key(algorithm: JwsAlgorithm) -> SigningKey {
    SigningKey::read(generate_key(algorithm).unwrap().reveal()).unwrap()
}

#[test]
fn generated_keys_match_algorithm_and_are_unique() {
    for algorithm in JwsAlgorithm::ALL {
        let [one, other] = [(); 2].map(|()| generate_key(algorithm).unwrap());
        let keys = [&one, &other].map(|it: &Secret| SigningKey::read(it.reveal()).unwrap());
        assert_eq!(keys[0].algorithm(), algorithm);
        assert_ne!(keys[0].kid(), keys[1].kid());
        let lines = one.reveal().lines().map(str::len);
        assert!(lines.max().is_some_and(|it| it <= 64), "{algorithm}");
    }
}

#[test]
fn jwks_lists_signing_key_first_without_duplicates() {
    let [key, former] = [(); 2].map(|()| new_key(JwsAlgorithm::Es256));
    let keys = |it: &[&SigningKey]| -> KeySet {
        it.iter().map(|it| it.verifying_key().unwrap()).collect()
    };
    let keyring = Keyring::new(key.clone()).unwrap();
    let keyring = keyring.publish(&keys(&[&key, &former])).unwrap();
    let keyring = keyring.publish(&keys(&[&former])).unwrap();
    let jwks: Value = serde_json::from_slice(&keyring.jwks()).unwrap();
    let kids: Vec<_> =
        jwks["keys"].as_array().unwrap().iter().map(|it| it["kid"].as_str().unwrap()).collect();
    assert_eq!(kids, [key.kid(), former.kid()]);
    assert_eq!(keyring.kid(), key.kid());
    assert!(!String::from_utf8_lossy(&keyring.jwks()).contains("\"d\""));
}

#[test]
fn delivery_token_verifies_with_published_keys() {
    use jsonwebtoken::{DecodingKey, Validation, decode, decode_header, jwk};
    let issued_at = SystemTime::now();
    for algorithm in JwsAlgorithm::ALL {
        let keyring = Keyring::new(new_key(algorithm)).unwrap();
        let delivery = DeliveryClaims {
            issuer: "https://agents.example",
            audience: "https://hooks.example",
            id: "delivery-1",
            issued_at,
            body: b"{}",
        };
        let token = keyring.delivery_token(&delivery).unwrap();
        let header = decode_header(&token).unwrap();
        assert_eq!(header.kid.as_deref(), Some(keyring.kid().as_str()));
        assert_eq!(header.typ.as_deref(), Some("JWT"));
        let set: jwk::JwkSet = serde_json::from_slice(&keyring.jwks()).unwrap();
        let key = DecodingKey::from_jwk(set.find(&keyring.kid()).unwrap()).unwrap();
        let mut validation = Validation::new(header.alg);
        validation.set_audience(&["https://hooks.example"]);
        validation.set_issuer(&["https://agents.example"]);
        let claims = decode::<Value>(&token, &key, &validation).unwrap().claims;
        let seconds = issued_at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        assert_eq!((&claims["iat"], &claims["exp"]), (&json!(seconds), &json!(seconds + 300)));
        assert_eq!(claims["jti"], "delivery-1");
        let empty_object = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        assert_eq!(claims["request_body_sha256"], empty_object);
        let mut forged = token.into_bytes();
        let middle = forged.len() / 2;
        forged[middle] = if forged[middle] == b'A' { b'B' } else { b'A' };
        let forged = String::from_utf8(forged).unwrap();
        assert!(decode::<Value>(&forged, &key, &validation).is_err(), "{algorithm}");
    }
}

#[test]
fn replaced_key_stays_published() {
    let [former, next] = [(); 2].map(|()| new_key(JwsAlgorithm::EdDsa));
    let keyring = Keyring::new(former.clone()).unwrap();
    let clone = keyring.clone();
    keyring.replace(&Keyring::new(next.clone()).unwrap()).unwrap();
    assert_eq!(clone.kid(), next.kid());
    let jwks: Value = serde_json::from_slice(&clone.jwks()).unwrap();
    let kids = [&jwks["keys"][0]["kid"], &jwks["keys"][1]["kid"]];
    assert_eq!(kids, [next.kid(), former.kid()]);
}
