//! Signatures: cards signed here are proven by the SDK for Python, and the reverse.

use std::io::Write;
use std::process::{Command, Stdio};

use latimer_protocol::card::{
    AgentCard, Form, JwsAlgorithm, KeySet, Policy, SignatureError, SigningKey, TransitionHistory,
    VerifyingKey, verify,
};
use serde_json::{Value, json};

use super::change::Change;
use super::{peers, python, samples};

/// How many cards for each algorithm.
const COUNT: usize = 10;

/// A key as each side takes it.
#[derive(Debug)]
struct Key {
    algorithm: JwsAlgorithm,
    private: String,
    public: String,
}

/// One new key for each algorithm, made by the library that the SDK uses.
fn keys() -> Vec<Key> {
    const MAKE: &str = "
import json, sys
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
kinds = {
    'ES256': ec.generate_private_key(ec.SECP256R1()),
    'EdDSA': ed25519.Ed25519PrivateKey.generate(),
    'RS256': rsa.generate_private_key(65537, 2048),
}
for name, key in kinds.items():
    private = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    public = key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
    kinds[name] = [private.decode(), public.decode()]
json.dump(kinds, sys.stdout)
";
    let made = run(Command::new(python("1.x")).args(["-c", MAKE]), &Value::Null);
    let key = |algorithm: JwsAlgorithm| {
        let pair = &made[algorithm.to_string()];
        let pem = |place: usize| pair[place].as_str().expect("a PEM").to_owned();
        Key { algorithm, private: pem(0), public: pem(1) }
    };
    JwsAlgorithm::ALL.into_iter().map(key).collect()
}

/// Runs a script of the SDK on one JSON value.
fn script(name: &str, input: &Value) -> Value {
    run(Command::new(python("1.x")).arg(peers().join("python").join(name)), input)
}

fn run(command: &mut Command, input: &Value) -> Value {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("python");
    let mut stdin = process.stdin.take().expect("piped");
    stdin.write_all(input.to_string().as_bytes()).expect("python reads");
    drop(stdin);
    let output = process.wait_with_output().expect("python ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {errors}");
    serde_json::from_slice(&output.stdout).expect("python answers in JSON")
}

/// Cards without signatures.
fn cards() -> Vec<AgentCard> {
    let cards = samples::cards().into_iter().take(COUNT);
    cards.map(|card| AgentCard { signatures: Vec::new(), ..card }).collect()
}

/// The same card with one letter changed.
fn tampered(card: &Value) -> Value {
    let mut card = card.clone();
    let description = card["description"].as_str().unwrap_or_default();
    card["description"] = format!("{description}!").into();
    card
}

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn cards_signed_here_verify_in_python() {
    for key in keys() {
        let signing = SigningKey::from_pem("k", &key.private).unwrap();
        assert_eq!(signing.algorithm(), key.algorithm);
        let mut signed = Vec::new();
        for mut card in cards() {
            card.sign(&signing).unwrap();
            signed.push(card.to_json(Form::V1_0));
            signed.push(card.to_json(Form::Superset(TransitionHistory::Kept)));
        }
        for (cards, want) in
            [(signed.clone(), true), (signed.iter().map(tampered).collect(), false)]
        {
            let ask = |card| json!({ "card": card, "keys": { "k": key.public } });
            let answers = script("verify_card.py", &cards.iter().map(ask).collect());
            for (card, answer) in cards.iter().zip(list(answers, cards.len())) {
                assert_eq!(answer["verified"], want, "{} {answer} {card}", key.algorithm);
            }
        }
    }
}

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn cards_signed_in_python_verify_here() {
    for key in keys() {
        let keys = KeySet::from([VerifyingKey::from_pem(&key.public).unwrap().with_kid("k")]);
        let alg = key.algorithm.to_string();
        let ask = |mut card: AgentCard| {
            // The SDK publishes it for 0.3 too, where the places are listed.
            Change::KeyPlaces.card(&mut card);
            let card = card.to_json(Form::V1_0);
            json!({ "card": card, "key": key.private, "alg": alg, "kid": "k" })
        };
        let signed = script("sign_card.py", &cards().into_iter().map(ask).collect());
        for signed in list(signed, COUNT) {
            let verified = verify(&signed, &keys, &Policy::default());
            let verified = verified.unwrap_or_else(|error| panic!("{alg}: {error} in {signed}"));
            assert_eq!((verified.kid.as_str(), verified.algorithm), ("k", key.algorithm));
            let refused = verify(&tampered(&signed), &keys, &Policy::default());
            assert!(matches!(refused, Err(SignatureError::Refused(_))), "{alg}: {refused:?}");
        }
    }
}

fn list(value: Value, length: usize) -> Vec<Value> {
    let Value::Array(items) = value else { panic!("{value} is no list") };
    assert_eq!(items.len(), length);
    items
}
