//! Agent cards, their signatures, and the keys of those.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bolero::check;
use latimer_protocol::card::{
    AgentCard, Form, KeySet, Policy, SigningKey, TransitionHistory, VerifyingKey, validate, verify,
};
use serde_json::Value;

use crate::corpus::{CARDS, HEADERS, KEYS, Recipe, bake, jwks};

#[test]
fn cards() {
    let sets = jwks();
    let keys = sets.iter().filter_map(|it| it["keys"].as_array()).flatten();
    let keys: KeySet = keys.map(|it| VerifyingKey::from_jwk(it).expect("a key")).collect();
    let verify = |card: &Value| verify(card, &keys, &Policy::default());
    let recorded = CARDS.iter().filter_map(|it| serde_json::from_slice(it).ok());
    assert!(recorded.filter(|it| verify(it).is_ok()).count() >= 8, "the signatures are tried");
    check!().with_type::<(Recipe, Recipe)>().for_each(|(card, header)| {
        let bytes = bake(&CARDS, card);
        if let Ok(mut value) = serde_json::from_slice(&bytes) {
            drop(validate(&value));
            drop(verify(&value));
            if let Some(protected) = value.pointer_mut("/signatures/0/protected") {
                *protected = URL_SAFE_NO_PAD.encode(bake(&HEADERS, header)).into();
                drop(verify(&value));
            }
        }
        let Ok(card) = AgentCard::read(&bytes) else { return };
        let kept = TransitionHistory::Kept;
        for form in [Form::V1_0, Form::Superset(kept), Form::V0_3(kept), Form::V0_1(kept)] {
            let written = card.to_json(form).to_string();
            let again = AgentCard::read(written.as_bytes());
            assert!(again.is_ok(), "{form:?} {written}: {again:?}");
        }
    });
}

#[test]
fn keys() {
    check!().with_type::<Recipe>().for_each(|recipe| {
        let bytes = bake(&KEYS, recipe);
        let text = String::from_utf8_lossy(&bytes);
        let json: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        drop(KeySet::from_jwks(&json));
        for key in [VerifyingKey::from_pem(&text), VerifyingKey::from_jwk(&json)] {
            let Ok(key) = key else { continue };
            let jwk = key.to_jwk().expect("a key that was taken can be published");
            let again = VerifyingKey::from_jwk(&jwk).expect("what is published can be taken");
            assert_eq!(again.algorithm(), key.algorithm());
        }
        for key in [SigningKey::from_pem("k", &text), SigningKey::from_jwk(&json)] {
            let Ok(key) = key else { continue };
            let mut card = AgentCard::placeholder("https://agent.example");
            card.sign(&key).expect("a key that was taken signs");
            let keys = KeySet::from([key.verifying_key().expect("it has a public half")]);
            let proof = verify(&card.to_json(Form::V1_0), &keys, &Policy::default());
            assert!(proof.is_ok(), "{text}: {proof:?}");
        }
    });
}
