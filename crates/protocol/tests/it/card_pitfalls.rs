//! Pitfalls of agent cards, numbered as in the protocol reference.

use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, crypto};
use latimer_pb::v1;
use latimer_protocol::Version;
use latimer_protocol::card::{
    AcceptedForms, AgentCard, AgentCardSignature, CanonicalForm, CardFormat, KeySet,
    SecurityRequirement, SecurityScheme, SignatureError, SignatureRejection, SigningKey,
    TransitionHistory, VerifyPolicy, VerifyingKey, sign, validate, verify,
};
use serde_json::{Value, json};

const SUPERSET: CardFormat = CardFormat::Superset(TransitionHistory::Recorded);

/// Key of RFC 8037, appendix A.
const PRIVATE: &str = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
const PUBLIC: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

fn ed25519_jwk() -> Value {
    json!({"kty": "OKP", "crv": "Ed25519", "kid": "ed", "d": PRIVATE, "x": PUBLIC})
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

fn rsa_jwk() -> Value {
    let text = include_str!("../../fixtures/signatures/rsa-private.jwk.json");
    serde_json::from_str(text).unwrap()
}

fn signing_key() -> SigningKey {
    SigningKey::from_jwk(&ed25519_jwk()).unwrap()
}

fn keys() -> KeySet {
    KeySet::from([VerifyingKey::from_jwk(&ed25519_jwk()).unwrap()])
}

fn policy(forms: AcceptedForms) -> VerifyPolicy {
    VerifyPolicy { forms, ..VerifyPolicy::default() }
}

fn decode_json(base64url: &str) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(base64url).unwrap()).unwrap()
}

/// Returns whether a signature covers exactly these bytes, without using Latimer's verifier.
fn covers(signature: &AgentCardSignature, payload: &str) -> bool {
    let key = DecodingKey::from_ed_components(PUBLIC).unwrap();
    let input = format!("{}.{}", signature.protected, URL_SAFE_NO_PAD.encode(payload));
    crypto::verify(&signature.signature, input.as_bytes(), &key, Algorithm::EdDSA).unwrap()
}

/// Signs arbitrary bytes and attaches the signature, as other implementations may do.
fn sign_payload(card: &Value, payload: &str) -> Value {
    // PKCS#8 of an Ed25519 key: constant except for the key itself (RFC 8410 §7).
    let mut der = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    der.extend(URL_SAFE_NO_PAD.decode(PRIVATE).unwrap());
    let protected = URL_SAFE_NO_PAD.encode(r#"{"alg":"EdDSA","kid":"ed"}"#);
    let input = format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload));
    let key = EncodingKey::from_ed_der(&der);
    let signature = crypto::sign(input.as_bytes(), &key, Algorithm::EdDSA).unwrap();
    let mut signed = card.clone();
    signed["signatures"] = json!([{"protected": protected, "signature": signature}]);
    signed
}

/// Returns a card with empty members, non-ASCII characters and an unknown member.
fn published() -> Value {
    json!({
        "name": "Größe", "description": "", "version": "1", "vendor": "v",
        "supportedInterfaces": [
            {"url": "https://h", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": false, "extensions": []},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [],
    })
}

/// Canonical form of [`published`] according to §8.4.1, and the forms that SDKs compute.
const SPECIFICATION: &str = r#"{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"","name":"Größe","skills":[],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"version":"1"}"#;
const STRIPPED: &str = r#"{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"name":"Größe","supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"version":"1"}"#;

/// Returns a 0.3 card whose members mostly have default values.
fn published_v0_3() -> Value {
    json!({
        "name": "n", "description": "d", "version": "1", "protocolVersion": "0.3.0",
        "url": "https://h", "preferredTransport": "JSONRPC", "capabilities": {},
        "securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "X"}},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
    })
}

/// Returns a card that combines 1.0 and 0.3 and uses all members that differ.
fn superset() -> Value {
    serde_json::from_str(include_str!("../../fixtures/cards/superset.json")).unwrap()
}

/// Sets the value at `pointer`, which need not exist.
fn with_value_at(card: &Value, pointer: &str, value: Value) -> Value {
    let mut card = card.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    card.pointer_mut(parent).unwrap()[name] = value;
    card
}

#[test]
fn pitfall_37_sign_covers_specification_and_stripped_forms() {
    let mut card = AgentCard::from_json(&published()).unwrap();
    card.sign(&signing_key()).unwrap();
    assert_eq!(card.signatures.len(), 2);
    for (canonical, attached, payload) in [
        (CanonicalForm::Specification, &card.signatures[0], SPECIFICATION),
        (CanonicalForm::Stripped, &card.signatures[1], STRIPPED),
    ] {
        assert!(covers(attached, payload), "{canonical:?}");
        assert!(covers(&sign(&card, &signing_key(), canonical).unwrap(), payload), "{canonical:?}");
    }
    // Without empty members both forms are identical.
    let mut card = AgentCard::from_json(&superset()).unwrap();
    card.security_requirements.clear();
    card.sign(&signing_key()).unwrap();
    assert_eq!(card.signatures.len(), 1);
}

#[test]
fn pitfall_37_only_known_canonical_forms_verify() {
    let (any, strict) = (AcceptedForms::Any, AcceptedForms::Specification);
    for (what, card, payload, accepted) in [
        ("specification form", published(), SPECIFICATION, &[strict, any][..]),
        ("stripped form", published(), STRIPPED, &[any]),
        (
            "stripped form, by Python",
            published(),
            r#"{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"name":"Gr\u00f6\u00dfe","supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"version":"1"}"#,
            &[any],
        ),
        (
            "published JSON, stripped",
            published(),
            r#"{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"name":"Größe","supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"vendor":"v","version":"1"}"#,
            &[any],
        ),
        (
            "published JSON, stripped, by Python",
            published(),
            r#"{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"name":"Gr\u00f6\u00dfe","supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"vendor":"v","version":"1"}"#,
            &[any],
        ),
        (
            "published JSON",
            published(),
            r#"{"capabilities":{"extensions":[],"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"","name":"Größe","skills":[],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"vendor":"v","version":"1"}"#,
            &[any],
        ),
        (
            "published 0.3 JSON without defaults",
            published_v0_3(),
            r#"{"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"d","name":"n","securitySchemes":{"k":{"in":"header","name":"X"}},"url":"https://h","version":"1"}"#,
            &[any],
        ),
        (
            "specification form, by Python",
            published(),
            r#"{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"","name":"Gr\u00f6\u00dfe","skills":[],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"version":"1"}"#,
            &[],
        ),
        ("some members of the card", published(), r#"{"name":"Größe","version":"1"}"#, &[]),
    ] {
        let signed = sign_payload(&card, payload);
        for forms in [strict, any] {
            let verified = verify(&signed, &keys(), &policy(forms));
            assert_eq!(verified.is_ok(), accepted.contains(&forms), "{what}, {forms:?}");
        }
    }
}

#[test]
fn pitfall_37_v0_3_members_of_superset_card_are_unsigned() {
    let unsigned = AgentCard::from_json(&superset()).unwrap();
    let signature = sign(&unsigned, &signing_key(), CanonicalForm::Specification).unwrap();
    let card = AgentCard { signatures: vec![signature], ..unsigned.clone() };
    let published = card.to_json(SUPERSET);
    let strict = policy(AcceptedForms::Specification);
    assert_eq!(verify(&published, &keys(), &strict).unwrap().card, unsigned);
    for pointer in [
        "/url",
        "/preferredTransport",
        "/protocolVersion",
        "/additionalInterfaces/0/url",
        "/security",
        "/supportsAuthenticatedExtendedCard",
        "/capabilities/stateTransitionHistory",
        "/securitySchemes/k/type",
        "/securitySchemes/k/in",
        "/securitySchemes/k/name",
    ] {
        assert!(published.pointer(pointer).is_some(), "{pointer}");
        for value in [json!("https://evil"), json!(null)] {
            let changed = with_value_at(&published, pointer, value);
            let verified = verify(&changed, &keys(), &strict);
            assert_eq!(verified.map(|it| it.card), Ok(unsigned.clone()), "{pointer}");
        }
    }
    for (pointer, value) in [
        ("/name", json!("evil")),
        ("/supportedInterfaces/3/url", json!("https://evil")),
        ("/capabilities/extendedAgentCard", json!(false)),
        ("/securitySchemes/k/apiKeySecurityScheme/location", json!("query")),
        ("/securityRequirements", json!([])),
    ] {
        assert!(published.pointer(pointer).is_some(), "{pointer}");
        let want = SignatureError::Rejected(vec![SignatureRejection::Mismatch("ed".into())]);
        let verified = verify(&with_value_at(&published, pointer, value), &keys(), &strict);
        assert_eq!(verified, Err(want), "{pointer}");
    }
}

/// The stripped form is identical with and without empty members.
#[test]
fn pitfall_37_stripped_signature_ignores_nested_empty_values() {
    let card = with_value_at(&superset(), "/securitySchemes/m", json!({"mtlsSecurityScheme": {}}));
    let card = AgentCard::from_json(&card).unwrap();
    for (canonical, changed, value, is_valid) in [
        (CanonicalForm::Specification, "/securityRequirements", json!([]), false),
        (CanonicalForm::Specification, "/securitySchemes/m", json!(null), false),
        (CanonicalForm::Stripped, "/securityRequirements", json!([]), true),
        (CanonicalForm::Stripped, "/securityRequirements/0/schemes/z", json!({}), true),
        (CanonicalForm::Stripped, "/securityRequirements/0/schemes/k/list", json!(["a"]), false),
        (CanonicalForm::Stripped, "/securitySchemes/m", json!(null), true),
        (CanonicalForm::Stripped, "/securitySchemes/k", json!(null), false),
    ] {
        let signature = sign(&card, &signing_key(), canonical).unwrap();
        let signed = AgentCard { signatures: vec![signature], ..card.clone() };
        let changed_card = with_value_at(&signed.to_json(CardFormat::V1_0), changed, value);
        let verified = verify(&changed_card, &keys(), &VerifyPolicy::default());
        assert_eq!(verified.is_ok(), is_valid, "{canonical:?}, {changed}");
        // The verified card contains the published empty members, which the signature does not
        // cover.
        let Ok(verified) = verified else { continue };
        let published = AgentCard::from_json(&changed_card).unwrap();
        let want = AgentCard { signatures: vec![], ..published };
        assert_eq!(verified.card, want, "{canonical:?}, {changed}");
    }
    // Without empty members, the stripped form is the form of the specification.
    let mut card = card;
    card.sign(&signing_key()).unwrap();
    card.security_requirements.clear();
    card.security_schemes.remove("m");
    let strict = policy(AcceptedForms::Specification);
    let verified = verify(&card.to_json(CardFormat::V1_0), &keys(), &strict).unwrap();
    assert_eq!(verified.card, AgentCard { signatures: vec![], ..card });
}

#[test]
fn pitfall_37_verified_card_keeps_unscoped_requirements() {
    let card =
        with_value_at(&published(), "/securitySchemes", json!({"m": {"mtlsSecurityScheme": {}}}));
    let card = with_value_at(&card, "/securityRequirements", json!([{"schemes": {"m": {}}}]));
    let v0_3_scheme = json!({"type": "mutualTLS"});
    let v0_3_card = with_value_at(&published_v0_3(), "/securitySchemes/m", v0_3_scheme);
    let v0_3_card = with_value_at(&v0_3_card, "/security", json!([{"k": [], "m": []}]));
    let vendor = STRIPPED.replace(r#""version""#, r#""vendor":"v","version""#);
    // As computed by Python 0.3.26.
    let python = r#"{"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"d","name":"n","securitySchemes":{"k":{"in":"header","name":"X"}},"url":"https://h","version":"1"}"#;
    for (what, card, payload, schemes) in [
        ("stripped form", &card, STRIPPED, &["m"][..]),
        ("published JSON", &card, &vendor, &["m"]),
        ("published 0.3 JSON without defaults", &v0_3_card, python, &["k", "m"]),
    ] {
        let verified = verify(&sign_payload(card, payload), &keys(), &VerifyPolicy::default());
        let verified_card = verified.unwrap_or_else(|error| panic!("{what}: {error}")).card;
        assert!(verified_card.security_schemes.keys().eq(schemes), "{what}");
        assert_eq!(
            json!(verified_card.security_schemes["m"]),
            json!({"mtlsSecurityScheme": {}}),
            "{what}"
        );
        let none = SecurityRequirement::default();
        let want = schemes.iter().fold(none, |all, it| all.with_scopes::<&str>(*it, []));
        assert_eq!(verified_card.security_requirements, [want], "{what}");
    }
}

/// If the published JSON is signed, empty members must not hide members that the signature covers.
#[test]
fn pitfall_37_empty_members_do_not_hide_signed_members() {
    let card = with_value_at(&published_v0_3(), "/security", json!([{"k": ["a"]}]));
    let payload = r#"{"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"d","name":"n","preferredTransport":"JSONRPC","protocolVersion":"0.3.0","security":[{"k":["a"]}],"securitySchemes":{"k":{"in":"header","name":"X","type":"apiKey"}},"url":"https://h","version":"1"}"#;
    let signed = sign_payload(&card, payload);
    let want = verify(&signed, &keys(), &VerifyPolicy::default()).unwrap().card;
    assert_eq!(
        want.security_requirements,
        [SecurityRequirement::default().with_scopes("k", ["a"])]
    );
    assert!(want.security_schemes.contains_key("k"));
    for (pointer, value) in [
        ("/securityRequirements", json!([])),
        ("/securityRequirements", json!([{"schemes": {}}])),
        ("/securitySchemes/k/mtlsSecurityScheme", json!({})),
        ("/security_schemes", json!({})),
        ("/supportedInterfaces", json!([])),
        ("/protocol_version", json!("")),
    ] {
        let verified = verify(
            &with_value_at(&signed, pointer, value.clone()),
            &keys(),
            &VerifyPolicy::default(),
        );
        assert_eq!(verified.unwrap().card, want, "{pointer}: {value}");
    }
}

#[test]
fn pitfall_37_v0_3_card_with_unsigned_version_stays_v0_3() {
    let payload = r#"{"capabilities":{"stateTransitionHistory":true},"description":"d","name":"n","url":"https://h","version":"1"}"#;
    let with_version = json!({
        "name": "n", "description": "d", "version": "1", "protocolVersion": "0.3.0",
        "url": "https://h", "preferredTransport": "JSONRPC",
        "capabilities": {"stateTransitionHistory": true},
        "defaultInputModes": [], "defaultOutputModes": [], "skills": [],
    });
    let mut without_version = with_version.clone();
    without_version.as_object_mut().unwrap().retain(|name, _| name != "protocolVersion");
    for card in [with_version, without_version] {
        let verified =
            verify(&sign_payload(&card, payload), &keys(), &VerifyPolicy::default()).unwrap();
        let interface = &verified.card.supported_interfaces[0];
        assert_eq!(interface.version(), Some(Version::V0_3), "{card}");
        assert_eq!(interface.protocol_binding.as_str(), "JSONRPC", "{card}");
    }
    // A version other than the default is part of the signed form, in either spelling.
    for name in ["protocolVersion", "protocol_version"] {
        let card = json!({"name": "n", "url": "https://h", name: "0.2.5"});
        let payload = format!(r#"{{"name":"n","{name}":"0.2.5","url":"https://h"}}"#);
        let verified =
            verify(&sign_payload(&card, &payload), &keys(), &VerifyPolicy::default()).unwrap();
        assert_eq!(verified.card.supported_interfaces[0].protocol_version, "0.2", "{name}");
    }
}

/// Members that would be normalized remain unchanged in a signed card.
#[test]
fn pitfall_37_signed_card_verifies_after_round_trip() {
    let skills = json!([{"id": "only", "inputModes": ["text"]}, {"name": "Only"}, {"tags": ["t"]}]);
    let card = with_value_at(&published(), "/skills", skills);
    let card = with_value_at(&card, "/defaultInputModes", json!(["text"]));
    let card = with_value_at(
        &card,
        "/supportedInterfaces",
        json!([{"url": "u", "protocolBinding": "GRPC"}]),
    );
    let specification = r#"{"capabilities":{"streaming":false},"defaultInputModes":["text"],"defaultOutputModes":["text/plain"],"description":"","name":"Größe","skills":[{"description":"","id":"only","inputModes":["text"],"name":"","tags":[]},{"description":"","id":"","name":"Only","tags":[]},{"description":"","id":"","name":"","tags":["t"]}],"supportedInterfaces":[{"protocolBinding":"GRPC","protocolVersion":"","url":"u"}],"version":"1"}"#;
    let stripped = r#"{"capabilities":{"streaming":false},"defaultInputModes":["text"],"defaultOutputModes":["text/plain"],"name":"Größe","skills":[{"id":"only","inputModes":["text"]},{"name":"Only"},{"tags":["t"]}],"supportedInterfaces":[{"protocolBinding":"GRPC","url":"u"}],"version":"1"}"#;
    for payload in [specification, stripped] {
        let signed = sign_payload(&card, payload);
        let read = AgentCard::from_json(&signed).unwrap();
        let protobuf = AgentCard::try_from(v1::AgentCard::from(&read)).unwrap();
        assert_eq!(protobuf, read);
        assert_eq!(read.default_input_modes, ["text"]);
        // An interface without a version can still be called.
        assert_eq!(read.supported_interfaces[0].version(), Some(Version::V1_0));
        for (what, json) in [
            ("as published", signed),
            ("read", read.to_json(CardFormat::V1_0)),
            ("read, superset", read.to_json(SUPERSET)),
            ("through protobuf", protobuf.to_json(CardFormat::V1_0)),
        ] {
            let verified = verify(&json, &keys(), &VerifyPolicy::default());
            let verified_card = verified.unwrap_or_else(|error| panic!("{what}: {error}")).card;
            // The verified card has no signatures and is normalized.
            assert_eq!(verified_card.default_input_modes, ["text/plain"], "{what}");
            assert_eq!(verified_card.skills[0].name, "only", "{what}");
            assert_eq!(verified_card.supported_interfaces[0].protocol_version, "1.0", "{what}");
        }
    }
    let signed_json = with_value_at(&published(), "/defaultInputModes", json!(["text"]));
    let mut signed_card: AgentCard = serde_json::from_value(signed_json).unwrap();
    signed_card.sign(&signing_key()).unwrap();
    let read = AgentCard::from_json(&signed_card.to_json(SUPERSET)).unwrap();
    assert_eq!(read, signed_card);
    assert_eq!(AgentCard::try_from(v1::AgentCard::from(&read)), Ok(signed_card));
    // Older cards change in the conversion anyway, and unsigned cards have no signature to protect.
    for card in [
        with_value_at(
            &published_v0_3(),
            "/signatures",
            json!([{"protected": "a", "signature": "b"}]),
        ),
        published(),
    ] {
        let card = with_value_at(&card, "/defaultInputModes", json!(["text"]));
        assert_eq!(AgentCard::from_json(&card).unwrap().default_input_modes, ["text/plain"]);
    }
}

#[test]
fn pitfall_37_protected_header_has_type_algorithm_and_key() {
    for (jwk, alg, kid) in [
        (ed25519_jwk(), "EdDSA", "ed"),
        (p256_jwk(), "ES256", "ec"),
        (rsa_jwk(), "RS256", rsa_jwk()["kid"].as_str().unwrap()),
    ] {
        let mut card = AgentCard::from_json(&published()).unwrap();
        card.sign(&SigningKey::from_jwk(&jwk).unwrap()).unwrap();
        assert_eq!(card.signatures.len(), 2, "{alg}");
        for signature in &card.signatures {
            let want = json!({"alg": alg, "kid": kid, "typ": "JOSE"});
            assert_eq!(decode_json(&signature.protected), want, "{alg}");
        }
    }
}

#[test]
fn pitfall_38_superset_card_schemes_have_both_forms() {
    let flow = json!({"clientCredentials": {"tokenUrl": "https://h/token", "scopes": {"a": "b"}}});
    for (v1_0, v0_3) in [
        (
            json!({"apiKeySecurityScheme": {"location": "cookie", "name": "X"}}),
            json!({"type": "apiKey", "in": "cookie", "name": "X"}),
        ),
        (
            json!({"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}}),
            json!({"type": "http", "scheme": "Bearer", "bearerFormat": "JWT"}),
        ),
        (
            json!({"oauth2SecurityScheme": {"flows": flow}}),
            json!({"type": "oauth2", "flows": flow}),
        ),
        (
            json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://h/oidc"}}),
            json!({"type": "openIdConnect", "openIdConnectUrl": "https://h/oidc"}),
        ),
        (
            json!({"mtlsSecurityScheme": {"description": "d"}}),
            json!({"type": "mutualTLS", "description": "d"}),
        ),
    ] {
        let mut both = v1_0.clone();
        both.as_object_mut().unwrap().extend(v0_3.as_object().unwrap().clone());
        let want: SecurityScheme = serde_json::from_value(v1_0.clone()).unwrap();
        for wire in [&v1_0, &v0_3, &both] {
            let card = with_value_at(&superset(), "/securitySchemes/k", wire.clone());
            let read = AgentCard::from_json(&card).unwrap();
            assert_eq!(read.security_schemes.get("k"), Some(&want), "{wire}");
            assert_eq!(read.to_json(CardFormat::V1_0)["securitySchemes"]["k"], v1_0, "{wire}");
            assert_eq!(read.to_json(SUPERSET)["securitySchemes"]["k"], both, "{wire}");
        }
    }
}

#[test]
fn pitfall_38_unknown_members_are_dropped_everywhere() {
    let plain = AgentCard::from_json(&superset()).unwrap();
    for pointer in [
        "",
        "/supportedInterfaces/0",
        "/additionalInterfaces/0",
        "/capabilities",
        "/skills/0",
        "/securitySchemes/k",
        "/securitySchemes/k/apiKeySecurityScheme",
        "/securityRequirements/0",
        "/securityRequirements/0/schemes/k",
    ] {
        for unknown in [json!("v"), json!(1), json!({"a": [null]}), json!([]), json!(null)] {
            let card = with_value_at(&superset(), &format!("{pointer}/x-vendor"), unknown);
            let read = AgentCard::read(card.to_string().as_bytes()).unwrap();
            assert_eq!(read, plain, "{pointer}");
            assert!(!read.to_json(SUPERSET).to_string().contains("x-vendor"), "{pointer}");
        }
    }
}

#[test]
fn pitfall_39_requirements_in_any_shape_are_written_as_v1_0() {
    let flat = json!([{"g": ["a", "b"], "k": []}, {"k": []}]);
    let nested = json!([
        {"schemes": {"g": {"list": ["a", "b"]}, "k": {"list": []}}},
        {"schemes": {"k": {}}},
    ]);
    let other = json!([{"other": []}]);
    let written =
        json!([{"schemes": {"g": {"list": ["a", "b"]}, "k": {}}}, {"schemes": {"k": {}}}]);
    for (what, requirements) in [
        ("0.3", json!({"security": flat})),
        ("the example of the specification", json!({"security": nested})),
        ("0.3 shape with the 1.0 member name", json!({"securityRequirements": flat})),
        ("1.0", json!({"securityRequirements": nested})),
        ("1.0 in snake case", json!({"security_requirements": nested})),
        ("both, alike", json!({"security": flat, "securityRequirements": nested})),
        ("both, and 1.0 counts", json!({"security": other, "securityRequirements": nested})),
    ] {
        // The requirements of the card and of a skill.
        for pointer in ["", "/skills/0"] {
            let mut card = superset();
            let members = card.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
            members.remove("security");
            members.remove("securityRequirements");
            members.extend(requirements.as_object().unwrap().clone());
            let read = AgentCard::from_json(&card).unwrap();
            for (format, v1_0, v0_3) in [
                (CardFormat::V1_0, Some(&written), None),
                (SUPERSET, Some(&written), Some(&flat)),
                (CardFormat::V0_3(TransitionHistory::Recorded), None, Some(&flat)),
            ] {
                let card = read.to_json(format);
                let members = card.pointer(pointer).unwrap();
                let actual = (members.get("securityRequirements"), members.get("security"));
                assert_eq!(actual, (v1_0, v0_3), "{what}, {pointer:?}, {format:?}");
            }
        }
    }
}

/// Four times as many interfaces must not take more than about four times as long.
#[test]
fn card_with_many_interfaces_is_processed_in_linear_time() {
    const INTERFACE_COUNT: usize = 20_000;
    for (what, operation) in [
        ("read", (|card, _| drop(AgentCard::from_json(card))) as fn(&Value, &AgentCard)),
        ("validated", |card, _| drop(validate(card))),
        ("written", |_, read| drop(read.to_json(CardFormat::V0_3(TransitionHistory::Recorded)))),
        ("written and validated", |_, read| drop(validate(&read.to_json(SUPERSET)))),
    ] {
        let min_time = |count: usize| {
            let interface =
                |index| json!({"url": format!("https://h/{index}"), "transport": "GRPC"});
            let list = (0..count).map(interface).collect();
            let card = with_value_at(&published_v0_3(), "/additionalInterfaces", list);
            let read = AgentCard::from_json(&card).unwrap();
            assert_eq!(read.supported_interfaces.len(), count + 1, "{what}");
            let run = || {
                let start = Instant::now();
                operation(&card, &read);
                start.elapsed()
            };
            (0..3).map(|_| run()).min().unwrap()
        };
        let (few, many) = (min_time(INTERFACE_COUNT / 4), min_time(INTERFACE_COUNT));
        assert!(many < few * 10, "{what}: {few:?} for a quarter, {many:?} for all");
    }
}
