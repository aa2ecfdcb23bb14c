use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::card::jws::from_base64url;
use crate::card::{CardFormat, TransitionHistory};

/// Key of RFC 8037, appendix A.
fn ed25519_jwk() -> Value {
    json!({
        "kty": "OKP", "crv": "Ed25519", "kid": "ed",
        "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    })
}

/// Key of RFC 7515, appendix A.3.
fn p256_jwk() -> Value {
    json!({
        "kty": "EC", "crv": "P-256", "kid": "ec",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
    })
}

/// Key generated for these tests.
fn rsa_jwk() -> Value {
    let text = include_str!("../../../fixtures/signatures/rsa-private.jwk.json");
    serde_json::from_str(text).unwrap()
}

fn jwks() -> [Value; 3] {
    [p256_jwk(), ed25519_jwk(), rsa_jwk()]
}

fn fixtures() -> Vec<(String, Value)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/signatures");
    let mut fixtures: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .filter(|(name, _)| name.starts_with("python-") || name.starts_with("js-"))
        .map(|(name, path)| (name, serde_json::from_slice(&fs::read(path).unwrap()).unwrap()))
        .collect();
    fixtures.sort_by(|one, other| one.0.cmp(&other.0));
    fixtures
}

fn card() -> AgentCard {
    let mut card = AgentCard::from_json(&json!({
        "name": "signed", "description": "Größe ✓ 😀", "version": "1",
        "supportedInterfaces": [
            {"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        ],
        "capabilities": {"streaming": false},
        "securitySchemes": {"k": {"apiKeySecurityScheme": {"location": "header", "name": "X"}}},
        "securityRequirements": [{"schemes": {"k": {"list": []}}}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "", "tags": []}],
    }))
    .unwrap();
    card.signatures.clear();
    card
}

#[test]
fn cards_signed_by_other_sdks_verify() {
    let fixtures = fixtures();
    assert_eq!(fixtures.len(), 9);
    for (name, fixture) in fixtures {
        let keys = KeySet::from_jwks(&fixture["jwks"]).unwrap();
        let verified = verify(&fixture["card"], &keys, &VerifyPolicy::default());
        if name.contains("uncovered") {
            assert!(matches!(verified, Err(SignatureError::Rejected(_))), "{name}");
            continue;
        }
        let verified = verified.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(fixture["jwks"]["keys"][0]["kid"], json!(verified.kid), "{name}");
        assert_eq!(fixture["jwks"]["keys"][0]["alg"], json!(verified.algorithm.as_str()), "{name}");
        assert_eq!(fixture["card"]["name"], json!(verified.card.name), "{name}");
    }
}

#[test]
fn changing_any_read_member_invalidates_signature() {
    // The `uncovered` fixtures never verify.
    for (name, fixture) in fixtures().into_iter().filter(|(name, _)| !name.contains("uncovered")) {
        let keys = KeySet::from_jwks(&fixture["jwks"]).unwrap();
        for (pointer, value) in [
            ("/name", json!("another")),
            ("/version", json!("6.6.6")),
            ("/description", json!("Another")),
            ("/defaultInputModes/0", json!("text/html")),
            ("/skills/0/name", json!("Another")),
            ("/capabilities/streaming", json!(false)),
        ] {
            let mut card = fixture["card"].clone();
            *card.pointer_mut(pointer).unwrap() = value;
            let error = verify(&card, &keys, &VerifyPolicy::default()).unwrap_err();
            let kid = fixture["jwks"]["keys"][0]["kid"].as_str().unwrap();
            let want = SignatureError::Rejected(vec![SignatureRejection::Mismatch(kid.into())]);
            assert_eq!(error, want, "{name}{pointer}");
        }
    }
}

/// Result of adding a member after the card was signed.
#[derive(Clone, Copy)]
enum AddedMemberOutcome {
    /// No reader uses the member: the signature is valid, and the verified card omits it.
    Ignored,
    /// The member is empty: the signature over the form without empty members remains valid.
    Empty,
    /// A reader would use the member: the signature is invalid.
    Rejected,
}

#[test]
fn unsigned_members_are_absent_from_verified_card() {
    let key = SigningKey::from_jwk(&ed25519_jwk()).unwrap();
    let keys = KeySet::from([key.verifying_key().unwrap()]);
    let unsigned = card();
    let mut card = unsigned.clone();
    card.sign(&key).unwrap();
    let signed = card.to_json(CardFormat::V1_0);
    let mismatch = || SignatureRejection::Mismatch("ed".into());
    let interfaces = json!([{"url": "https://evil.example", "transport": "GRPC"}]);
    let provider = json!({"organization": "Evil", "url": "https://evil.example"});
    for (name, value, outcome) in [
        ("url", json!("https://evil.example"), AddedMemberOutcome::Ignored),
        ("additionalInterfaces", interfaces, AddedMemberOutcome::Ignored),
        ("security", json!([]), AddedMemberOutcome::Ignored),
        ("unknown", json!({"a": 1}), AddedMemberOutcome::Ignored),
        ("iconUrl", json!(""), AddedMemberOutcome::Empty),
        ("iconUrl", json!("https://evil.example"), AddedMemberOutcome::Rejected),
        ("documentationUrl", json!("https://evil.example"), AddedMemberOutcome::Rejected),
        ("provider", provider, AddedMemberOutcome::Rejected),
        ("supportsAuthenticatedExtendedCard", json!(true), AddedMemberOutcome::Rejected),
    ] {
        let mut changed = signed.clone();
        changed[name] = value;
        let result = verify(&changed, &keys, &VerifyPolicy::default());
        match outcome {
            AddedMemberOutcome::Ignored => assert_eq!(result.unwrap().card, unsigned, "{name}"),
            AddedMemberOutcome::Empty => {
                let want = AgentCard { icon_url: Some(String::new()), ..unsigned.clone() };
                assert_eq!(result.unwrap().card, want, "{name}");
            }
            AddedMemberOutcome::Rejected => {
                let want = SignatureError::Rejected(vec![mismatch(), mismatch()]);
                assert_eq!(result.unwrap_err(), want, "{name}");
            }
        }
    }
}

#[test]
fn signatures_verify_in_every_complete_card_format() {
    for jwk in jwks() {
        let key = SigningKey::from_jwk(&jwk).unwrap();
        let keys = KeySet::from([key.verifying_key().unwrap()]);
        let mut card = card();
        card.sign(&key).unwrap();
        assert_eq!(card.signatures.len(), 2, "one for the specification, one for the SDKs");
        for format in [CardFormat::V1_0, CardFormat::Superset(TransitionHistory::Recorded)] {
            let strict =
                VerifyPolicy { forms: AcceptedForms::Specification, ..VerifyPolicy::default() };
            for policy in [VerifyPolicy::default(), strict] {
                let verified = verify(&card.to_json(format), &keys, &policy).unwrap();
                assert_eq!(verified.algorithm, key.algorithm());
                assert_eq!(verified.card, AgentCard { signatures: vec![], ..card.clone() });
            }
        }
        let mut sdk = card.to_json(CardFormat::V1_0);
        sdk["signatures"].as_array_mut().unwrap().remove(0);
        assert!(verify(&sdk, &keys, &VerifyPolicy::default()).is_ok());
        let strict =
            VerifyPolicy { forms: AcceptedForms::Specification, ..VerifyPolicy::default() };
        assert!(verify(&sdk, &keys, &strict).is_err());
    }
}

#[test]
fn card_with_one_valid_signature_verifies() {
    let key = SigningKey::from_jwk(&ed25519_jwk()).unwrap();
    let old = SigningKey::from_jwk(&p256_jwk()).unwrap();
    let mut card = card();
    card.signatures.push(AgentCardSignature {
        protected: "!".into(),
        signature: "?".into(),
        header: Default::default(),
    });
    card.sign(&old).unwrap();
    card.sign(&key).unwrap();
    let keys = KeySet::from([key.verifying_key().unwrap()]);
    assert_eq!(
        verify(&card.to_json(CardFormat::V1_0), &keys, &VerifyPolicy::default()).unwrap().kid,
        "ed"
    );
    card.signatures.truncate(3);
    let error =
        verify(&card.to_json(CardFormat::V1_0), &keys, &VerifyPolicy::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no signature of the card is valid: the protected header is not base64url; \
         the key \"ec\" is unknown; the key \"ec\" is unknown"
    );
}

/// Signs the card with a custom protected header.
fn sign_with_header(card: &AgentCard, key: &SigningKey, header: &Value) -> Value {
    let payload = payload(card, CanonicalForm::Specification).unwrap();
    let protected = URL_SAFE_NO_PAD.encode(header.to_string());
    let signature = key.sign(signing_input(&protected, &payload).as_bytes()).unwrap();
    let mut json = card.to_json(CardFormat::V1_0);
    json["signatures"] = json!([{"protected": protected, "signature": signature}]);
    json
}

#[test]
fn invalid_protected_headers_are_rejected() {
    let key = SigningKey::from_jwk(&p256_jwk()).unwrap();
    let keys = KeySet::from([key.verifying_key().unwrap()]);
    for (header, want) in [
        (json!({"alg": "none", "kid": "ec"}), SignatureRejection::Algorithm("none".into())),
        (json!({"alg": "HS256", "kid": "ec"}), SignatureRejection::Algorithm("HS256".into())),
        (json!({"alg": "ES384", "kid": "ec"}), SignatureRejection::Algorithm("ES384".into())),
        (json!({"alg": "es256", "kid": "ec"}), SignatureRejection::Algorithm("es256".into())),
        (
            json!({"alg": "RS256", "kid": "ec"}),
            SignatureRejection::KeyMismatch { kid: "ec".into(), algorithm: JwsAlgorithm::Rs256 },
        ),
        (json!({"alg": "ES256", "kid": "other"}), SignatureRejection::UnknownKey("other".into())),
        (
            json!({"alg": "ES256", "kid": "ec", "crit": ["b64"], "b64": false}),
            SignatureRejection::Header("has an unsupported critical extension"),
        ),
        (json!({"alg": "ES256", "kid": ""}), SignatureRejection::Header("lacks a kid")),
        (
            json!({"alg": "ES256"}),
            SignatureRejection::Header("lacks alg or kid, or has members of the wrong type"),
        ),
        (json!(["ES256"]), SignatureRejection::Header("is not a JSON object")),
    ] {
        let result =
            verify(&sign_with_header(&card(), &key, &header), &keys, &VerifyPolicy::default());
        assert_eq!(result, Err(SignatureError::Rejected(vec![want])), "{header}");
    }
    let valid_card = sign_with_header(&card(), &key, &json!({"alg": "ES256", "kid": "ec"}));
    assert!(verify(&valid_card, &keys, &VerifyPolicy::default()).is_ok());
    let policy = VerifyPolicy { algorithms: vec![JwsAlgorithm::EdDsa], ..VerifyPolicy::default() };
    let result = verify(&valid_card, &keys, &policy);
    let want = vec![SignatureRejection::Algorithm("ES256".into())];
    assert_eq!(result, Err(SignatureError::Rejected(want)));
}

#[test]
fn unverifiable_cards_report_the_reason() {
    let keys = KeySet::default();
    let policy = VerifyPolicy::default();
    let unsigned = card().to_json(CardFormat::V1_0);
    assert_eq!(verify(&unsigned, &keys, &policy), Err(SignatureError::Unsigned));
    let mut unsafe_number = unsigned.clone();
    unsafe_number["signatures"] = json!([{"protected": "", "signature": ""}]);
    unsafe_number["capabilities"]["extensions"] =
        json!([{"uri": "urn:x", "params": {"n": 9_007_199_254_740_993_u64}}]);
    let want = SignatureError::UnsafeNumber("9007199254740993".into());
    assert_eq!(verify(&unsafe_number, &keys, &policy), Err(want.clone()));
    let mut card = AgentCard::from_json(&unsafe_number).unwrap();
    let key = SigningKey::from_jwk(&ed25519_jwk()).unwrap();
    assert_eq!(card.sign(&key), Err(want));
}

#[test]
fn keys_are_read_from_pem_and_hidden_in_debug() {
    for (pem, public, algorithm) in [
        (include_str!("../../../fixtures/signatures/es256.pem"), true, JwsAlgorithm::Es256),
        (include_str!("../../../fixtures/signatures/rs256.pem"), true, JwsAlgorithm::Rs256),
        (include_str!("../../../fixtures/signatures/eddsa.pem"), true, JwsAlgorithm::EdDsa),
        (include_str!("../../../fixtures/signatures/p384.pem"), false, JwsAlgorithm::Es256),
    ] {
        let key = VerifyingKey::from_pem(pem);
        assert_eq!(key.is_ok(), public, "{pem}");
        let Ok(key) = key else { continue };
        assert_eq!(key.algorithm(), algorithm);
        let reread = VerifyingKey::from_jwk(&key.clone().with_kid("k").to_jwk().unwrap()).unwrap();
        assert_eq!(reread.kid(), Some("k"));
        assert_eq!(SigningKey::from_pem("k", pem).unwrap_err(), InvalidKey::NotPrivate);
    }
    let key = SigningKey::from_jwk(&p256_jwk()).unwrap().with_jku("https://a.example/jwks");
    assert_eq!(format!("{key:?}"), r#"SigningKey { kid: "ec", algorithm: Es256, .. }"#);
    let mut card = card();
    card.sign(&key).unwrap();
    let header = card.signatures[0].protected_header().unwrap();
    assert_eq!(header.jku.as_deref(), Some("https://a.example/jwks"));
    assert_eq!(header.typ.as_deref(), Some("JOSE"));
}

#[test]
fn private_pem_signs_like_the_same_key_as_jwk() {
    let wrap = |der: &[u8]| {
        let body = base64::engine::general_purpose::STANDARD.encode(der);
        format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n")
    };
    let bytes = |jwk: &Value, name: &str| from_base64url(jwk[name].as_str().unwrap()).unwrap();
    let (ec, ed) = (p256_jwk(), ed25519_jwk());
    let ec_der = der::p256_key(&bytes(&ec, "d"), &bytes(&ec, "x"), &bytes(&ec, "y"));
    for (jwk, der) in [(&ec, ec_der), (&ed, der::ed25519_key(&bytes(&ed, "d")))] {
        let pem = wrap(&der.unwrap());
        let key = SigningKey::from_pem("k", &pem).unwrap();
        let public = SigningKey::from_jwk(jwk).unwrap().verifying_key().unwrap();
        let mut card = card();
        card.sign(&key).unwrap();
        let keys = KeySet::from([public.with_kid("k")]);
        assert!(verify(&card.to_json(CardFormat::V1_0), &keys, &VerifyPolicy::default()).is_ok());
        assert_eq!(VerifyingKey::from_pem(&pem).unwrap_err(), InvalidKey::NotPublic);
    }
}

#[test]
fn invalid_or_mismatched_keys_are_rejected() {
    let with_member = |mut jwk: Value, name: &str, value: Value| {
        jwk[name] = value;
        jwk
    };
    for (jwk, want) in [
        (json!({"kty": "oct", "k": "c2VjcmV0", "kid": "k"}), InvalidKey::Unsupported),
        (with_member(p256_jwk(), "crv", json!("P-384")), InvalidKey::Unsupported),
        (with_member(p256_jwk(), "alg", json!("RS256")), InvalidKey::Unsupported),
        (with_member(p256_jwk(), "use", json!("enc")), InvalidKey::Unsupported),
        (with_member(p256_jwk(), "x", json!("AAAA")), InvalidKey::Malformed),
        (with_member(ed25519_jwk(), "crv", json!("Ed448")), InvalidKey::Unsupported),
        (json!({"kty": "RSA"}), InvalidKey::Malformed),
        (json!("key"), InvalidKey::Malformed),
    ] {
        assert_eq!(VerifyingKey::from_jwk(&jwk).unwrap_err(), want, "{jwk}");
    }
    let other = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    for (jwk, want) in [
        (with_member(ed25519_jwk(), "x", json!(other)), InvalidKey::Malformed),
        (with_member(p256_jwk(), "d", json!(other)), InvalidKey::Malformed),
        (with_member(ed25519_jwk(), "kid", json!(null)), InvalidKey::MissingKid),
        (json!({"kty": "OKP", "crv": "Ed25519", "x": other}), InvalidKey::NotPrivate),
    ] {
        assert_eq!(SigningKey::from_jwk(&jwk).unwrap_err(), want, "{jwk}");
    }
    let sec1 = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n";
    assert_eq!(SigningKey::from_pem("k", sec1).unwrap_err(), InvalidKey::NotPkcs8);
    let set = json!({"keys": [p256_jwk(), {"kty": "oct", "k": "AAAA"}, 5]});
    assert!(!KeySet::from_jwks(&set).unwrap().is_empty());
    assert!(KeySet::from_jwks(&json!([])).is_err());
}
