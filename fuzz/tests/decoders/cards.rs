//! Fuzz targets for agent cards, signatures and keys.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bolero::check;
use latimer_protocol::card::{
    AgentCard, CardFormat, KeySet, SigningKey, TransitionHistory, VerifyPolicy, VerifyingKey,
    validate, verify,
};
use serde_json::Value;

use crate::corpus::{CARDS, HEADERS, KEYS, Mutation, jwks, mutate};

#[test]
fn mutated_cards_decode_without_panic() {
    let sets = jwks();
    let keys = sets.iter().filter_map(|it| it["keys"].as_array()).flatten();
    let keys: KeySet = keys.map(|it| VerifyingKey::from_jwk(it).expect("valid key")).collect();
    let verify = |card: &Value| verify(card, &keys, &VerifyPolicy::default());
    let recorded = CARDS.iter().filter_map(|it| serde_json::from_slice(it).ok());
    assert!(
        recorded.filter(|it| verify(it).is_ok()).count() >= 8,
        "the fixtures contain valid signatures"
    );
    check!().with_type::<(Mutation, Mutation)>().for_each(|(card, header)| {
        let bytes = mutate(&CARDS, card);
        if let Ok(mut value) = serde_json::from_slice(&bytes) {
            drop(validate(&value));
            drop(verify(&value));
            if let Some(protected) = value.pointer_mut("/signatures/0/protected") {
                *protected = URL_SAFE_NO_PAD.encode(mutate(&HEADERS, header)).into();
                drop(verify(&value));
            }
        }
        let Ok(card) = AgentCard::read(&bytes) else { return };
        let history = TransitionHistory::Recorded;
        for format in [
            CardFormat::V1_0,
            CardFormat::Superset(history),
            CardFormat::V0_3(history),
            CardFormat::V0_1(history),
        ] {
            let written = card.to_json(format).to_string();
            let reread = AgentCard::read(written.as_bytes());
            assert!(reread.is_ok(), "{format:?} {written}: {reread:?}");
        }
    });
}

#[test]
fn mutated_keys_decode_without_panic() {
    check!().with_type::<Mutation>().for_each(|mutation| {
        let bytes = mutate(&KEYS, mutation);
        let text = String::from_utf8_lossy(&bytes);
        let json: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        drop(KeySet::from_jwks(&json));
        for key in [VerifyingKey::from_pem(&text), VerifyingKey::from_jwk(&json)] {
            let Ok(key) = key else { continue };
            let jwk = key.to_jwk().expect("key is encodable");
            let reread = VerifyingKey::from_jwk(&jwk).expect("encoded key is valid");
            assert_eq!(reread.algorithm(), key.algorithm());
        }
        for key in [SigningKey::from_pem("k", &text), SigningKey::from_jwk(&json)] {
            let Ok(key) = key else { continue };
            let mut card = AgentCard::placeholder("https://agent.example");
            card.sign(&key).expect("key can sign");
            let keys = KeySet::from([key.verifying_key().expect("key has a public key")]);
            let proof = verify(&card.to_json(CardFormat::V1_0), &keys, &VerifyPolicy::default());
            assert!(proof.is_ok(), "{text}: {proof:?}");
        }
    });
}
