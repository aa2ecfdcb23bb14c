//! Cards signed by Latimer and verified by the Python SDK, and the reverse.

use std::io::Write;
use std::process::{Command, Stdio};

use latimer_protocol::card::{
    AgentCard, CardFormat, JwsAlgorithm, KeySet, SignatureError, SigningKey, TransitionHistory,
    VerifyPolicy, VerifyingKey, verify,
};
use serde_json::{Value, json};

use super::change::ModelChange;
use super::{peers_dir, python, samples};

/// Number of cards per algorithm.
const CARDS_PER_ALGORITHM: usize = 10;

/// Key in the formats of both sides.
#[derive(Debug)]
struct KeyPair {
    algorithm: JwsAlgorithm,
    private: String,
    public: String,
}

/// Generates one key per algorithm with the library that the SDK uses.
fn keys() -> Vec<KeyPair> {
    const GENERATE_KEYS_SCRIPT: &str = "
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
    let generated =
        run(Command::new(python("1.x")).args(["-c", GENERATE_KEYS_SCRIPT]), &Value::Null);
    let key = |algorithm: JwsAlgorithm| {
        let pair = &generated[algorithm.to_string()];
        let pem = |index: usize| pair[index].as_str().expect("PEM string").to_owned();
        KeyPair { algorithm, private: pem(0), public: pem(1) }
    };
    JwsAlgorithm::ALL.into_iter().map(key).collect()
}

/// Runs a script of the SDK on one JSON value.
fn run_sdk_script(name: &str, input: &Value) -> Value {
    run(Command::new(python("1.x")).arg(peers_dir().join("python").join(name)), input)
}

fn run(command: &mut Command, input: &Value) -> Value {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("python starts");
    let mut stdin = process.stdin.take().expect("piped");
    stdin.write_all(input.to_string().as_bytes()).expect("python reads its input");
    drop(stdin);
    let output = process.wait_with_output().expect("python exits");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {errors}");
    serde_json::from_slice(&output.stdout).expect("python writes JSON")
}

/// Returns cards without signatures.
fn cards() -> Vec<AgentCard> {
    let cards = samples::cards().into_iter().take(CARDS_PER_ALGORITHM);
    cards.map(|card| AgentCard { signatures: Vec::new(), ..card }).collect()
}

/// Changes one character of the card.
fn tampered(card: &Value) -> Value {
    let mut card = card.clone();
    let description = card["description"].as_str().unwrap_or_default();
    card["description"] = format!("{description}!").into();
    card
}

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn cards_signed_by_latimer_verify_in_python() {
    for key in keys() {
        let signing = SigningKey::from_pem("k", &key.private).unwrap();
        assert_eq!(signing.algorithm(), key.algorithm);
        let mut signed = Vec::new();
        for mut card in cards() {
            card.sign(&signing).unwrap();
            signed.push(card.to_json(CardFormat::V1_0));
            signed.push(card.to_json(CardFormat::Superset(TransitionHistory::Recorded)));
        }
        for (cards, want) in
            [(signed.clone(), true), (signed.iter().map(tampered).collect(), false)]
        {
            let to_request = |card| json!({ "card": card, "keys": { "k": key.public } });
            let results = run_sdk_script("verify_card.py", &cards.iter().map(to_request).collect());
            for (card, result) in cards.iter().zip(expect_list(results, cards.len())) {
                assert_eq!(result["verified"], want, "{} {result} {card}", key.algorithm);
            }
        }
    }
}

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn cards_signed_by_python_verify_in_latimer() {
    for key in keys() {
        let keys = KeySet::from([VerifyingKey::from_pem(&key.public).unwrap().with_kid("k")]);
        let alg = key.algorithm.to_string();
        let to_request = |mut card: AgentCard| {
            // The SDK publishes it for 0.3 as well, which restricts the locations.
            ModelChange::KeyLocations.card(&mut card);
            let card = card.to_json(CardFormat::V1_0);
            json!({ "card": card, "key": key.private, "alg": alg, "kid": "k" })
        };
        let signed = run_sdk_script("sign_card.py", &cards().into_iter().map(to_request).collect());
        for signed in expect_list(signed, CARDS_PER_ALGORITHM) {
            let verified = verify(&signed, &keys, &VerifyPolicy::default());
            let verified = verified.unwrap_or_else(|error| panic!("{alg}: {error} in {signed}"));
            assert_eq!((verified.kid.as_str(), verified.algorithm), ("k", key.algorithm));
            let rejected = verify(&tampered(&signed), &keys, &VerifyPolicy::default());
            assert!(matches!(rejected, Err(SignatureError::Rejected(_))), "{alg}: {rejected:?}");
        }
    }
}

fn expect_list(value: Value, length: usize) -> Vec<Value> {
    let Value::Array(items) = value else { panic!("{value} is not a list") };
    assert_eq!(items.len(), length);
    items
}
