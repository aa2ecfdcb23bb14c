//! The traps of the protocol that concern agent cards, by their numbers in the protocol's reference.

use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, crypto};
use latimer_pb::v1;
use latimer_protocol::Version;
use latimer_protocol::card::{
    AgentCard, AgentCardSignature, Canonical, CanonicalForms, Form, KeySet, Policy, Refusal,
    SecurityRequirement, SecurityScheme, SignatureError, SigningKey, TransitionHistory,
    VerifyingKey, sign, validate, verify,
};
use serde_json::{Value, json};

const SUPERSET: Form = Form::Superset(TransitionHistory::Kept);

/// The key of RFC 8037, appendix A.
const PRIVATE: &str = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
const PUBLIC: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

fn ed25519_jwk() -> Value {
    json!({"kty": "OKP", "crv": "Ed25519", "kid": "ed", "d": PRIVATE, "x": PUBLIC})
}

/// The key of RFC 7515, appendix A.3.
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

fn policy(forms: CanonicalForms) -> Policy {
    Policy { forms, ..Policy::default() }
}

fn decoded(base64url: &str) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(base64url).unwrap()).unwrap()
}

/// Whether a signature by our key covers exactly these bytes, without asking our own verifier.
fn covers(signature: &AgentCardSignature, payload: &str) -> bool {
    let key = DecodingKey::from_ed_components(PUBLIC).unwrap();
    let input = format!("{}.{}", signature.protected, URL_SAFE_NO_PAD.encode(payload));
    crypto::verify(&signature.signature, input.as_bytes(), &key, Algorithm::EdDSA).unwrap()
}

/// The card with a signature over these bytes, as somebody else might have made it.
fn signed_over(card: &Value, payload: &str) -> Value {
    // PKCS#8 of an Ed25519 key: all of it is fixed but the key (RFC 8410 §7).
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

/// A card with empty members, with letters outside ASCII, and with a member of nobody's schema.
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

/// The canonical form of [`published`] by §8.4.1, and what the SDKs make of it.
const SPECIFICATION: &str = r#"{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"","name":"Größe","skills":[],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"version":"1"}"#;
const STRIPPED: &str = r#"{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"name":"Größe","supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"version":"1"}"#;

/// A card of 0.3 whose members mostly have their default.
fn published_0_3() -> Value {
    json!({
        "name": "n", "description": "d", "version": "1", "protocolVersion": "0.3.0",
        "url": "https://h", "preferredTransport": "JSONRPC", "capabilities": {},
        "securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "X"}},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
    })
}

/// A card of both versions that says everything the two say in different words.
fn superset() -> Value {
    serde_json::from_str(include_str!("../../fixtures/cards/superset.json")).unwrap()
}

/// `card` with another value at `pointer`, there or not.
fn with(card: &Value, pointer: &str, value: Value) -> Value {
    let mut card = card.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    card.pointer_mut(parent).unwrap()[name] = value;
    card
}

#[test]
fn trap_37_we_sign_the_form_of_the_specification_and_the_one_without_empty_members() {
    let mut card = AgentCard::from_json(&published()).unwrap();
    card.sign(&signing_key()).unwrap();
    assert_eq!(card.signatures.len(), 2);
    for (canonical, attached, payload) in [
        (Canonical::Specification, &card.signatures[0], SPECIFICATION),
        (Canonical::Stripped, &card.signatures[1], STRIPPED),
    ] {
        assert!(covers(attached, payload), "{canonical:?}");
        assert!(covers(&sign(&card, &signing_key(), canonical).unwrap(), payload), "{canonical:?}");
    }
    // Where nothing is empty the two are one.
    let mut card = AgentCard::from_json(&superset()).unwrap();
    card.security_requirements.clear();
    card.sign(&signing_key()).unwrap();
    assert_eq!(card.signatures.len(), 1);
}

#[test]
fn trap_37_every_form_that_somebody_signs_is_verified_and_no_other() {
    let (any, strict) = (CanonicalForms::Any, CanonicalForms::Specification);
    for (what, card, payload, accepted) in [
        ("members, as the specification has them", published(), SPECIFICATION, &[strict, any][..]),
        ("members, without empty ones", published(), STRIPPED, &[any]),
        (
            "members, without empty ones, by Python",
            published(),
            r#"{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"name":"Gr\u00f6\u00dfe","supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"version":"1"}"#,
            &[any],
        ),
        (
            "text, without empty members",
            published(),
            r#"{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"name":"Größe","supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"vendor":"v","version":"1"}"#,
            &[any],
        ),
        (
            "text, without empty members, by Python",
            published(),
            r#"{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"name":"Gr\u00f6\u00dfe","supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"vendor":"v","version":"1"}"#,
            &[any],
        ),
        (
            "text, as published",
            published(),
            r#"{"capabilities":{"extensions":[],"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"","name":"Größe","skills":[],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"vendor":"v","version":"1"}"#,
            &[any],
        ),
        (
            "text of 0.3, without defaults",
            published_0_3(),
            r#"{"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"d","name":"n","securitySchemes":{"k":{"in":"header","name":"X"}},"url":"https://h","version":"1"}"#,
            &[any],
        ),
        (
            "members, as the specification has them, by Python",
            published(),
            r#"{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"","name":"Gr\u00f6\u00dfe","skills":[],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://h"}],"version":"1"}"#,
            &[],
        ),
        ("a part of the card", published(), r#"{"name":"Größe","version":"1"}"#, &[]),
    ] {
        let signed = signed_over(&card, payload);
        for forms in [strict, any] {
            let verified = verify(&signed, &keys(), &policy(forms));
            assert_eq!(verified.is_ok(), accepted.contains(&forms), "{what}, {forms:?}");
        }
    }
}

#[test]
fn trap_37_members_of_0_3_in_a_superset_card_are_not_signed() {
    let unsigned = AgentCard::from_json(&superset()).unwrap();
    let signature = sign(&unsigned, &signing_key(), Canonical::Specification).unwrap();
    let card = AgentCard { signatures: vec![signature], ..unsigned.clone() };
    let published = card.to_json(SUPERSET);
    let strict = policy(CanonicalForms::Specification);
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
            let changed = with(&published, pointer, value);
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
        let want = SignatureError::Refused(vec![Refusal::Mismatch("ed".into())]);
        let verified = verify(&with(&published, pointer, value), &keys(), &strict);
        assert_eq!(verified, Err(want), "{pointer}");
    }
}

/// To the stripped form a card with such members and one without them are the same.
#[test]
fn trap_37_a_stripped_signature_does_not_cover_what_is_empty_all_the_way_down() {
    let card = with(&superset(), "/securitySchemes/m", json!({"mtlsSecurityScheme": {}}));
    let card = AgentCard::from_json(&card).unwrap();
    for (canonical, changed, value, holds) in [
        (Canonical::Specification, "/securityRequirements", json!([]), false),
        (Canonical::Specification, "/securitySchemes/m", json!(null), false),
        (Canonical::Stripped, "/securityRequirements", json!([]), true),
        (Canonical::Stripped, "/securityRequirements/0/schemes/z", json!({}), true),
        (Canonical::Stripped, "/securityRequirements/0/schemes/k/list", json!(["a"]), false),
        (Canonical::Stripped, "/securitySchemes/m", json!(null), true),
        (Canonical::Stripped, "/securitySchemes/k", json!(null), false),
    ] {
        let signature = sign(&card, &signing_key(), canonical).unwrap();
        let signed = AgentCard { signatures: vec![signature], ..card.clone() };
        let changed_card = with(&signed.to_json(Form::V1_0), changed, value);
        let verified = verify(&changed_card, &keys(), &Policy::default());
        assert_eq!(verified.is_ok(), holds, "{canonical:?}, {changed}");
        // What comes back says what was published: what is empty can be told from nothing else.
        let Ok(verified) = verified else { continue };
        let published = AgentCard::from_json(&changed_card).unwrap();
        let want = AgentCard { signatures: vec![], ..published };
        assert_eq!(verified.card, want, "{canonical:?}, {changed}");
    }
    // Once they are removed, what was the stripped form is that of the specification.
    let mut card = card;
    card.sign(&signing_key()).unwrap();
    card.security_requirements.clear();
    card.security_schemes.remove("m");
    let strict = policy(CanonicalForms::Specification);
    let verified = verify(&card.to_json(Form::V1_0), &keys(), &strict).unwrap();
    assert_eq!(verified.card, AgentCard { signatures: vec![], ..card });
}

#[test]
fn trap_37_a_proven_card_still_asks_for_credentials_without_scopes() {
    let card = with(&published(), "/securitySchemes", json!({"m": {"mtlsSecurityScheme": {}}}));
    let card = with(&card, "/securityRequirements", json!([{"schemes": {"m": {}}}]));
    let older = json!({"type": "mutualTLS"});
    let older = with(&published_0_3(), "/securitySchemes/m", older);
    let older = with(&older, "/security", json!([{"k": [], "m": []}]));
    let vendor = STRIPPED.replace(r#""version""#, r#""vendor":"v","version""#);
    // As Python 0.3.26 makes it.
    let python = r#"{"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"d","name":"n","securitySchemes":{"k":{"in":"header","name":"X"}},"url":"https://h","version":"1"}"#;
    for (what, card, payload, schemes) in [
        ("members", &card, STRIPPED, &["m"][..]),
        ("text", &card, &vendor, &["m"]),
        ("text of 0.3, without defaults", &older, python, &["k", "m"]),
    ] {
        let verified = verify(&signed_over(card, payload), &keys(), &Policy::default());
        let found = verified.unwrap_or_else(|error| panic!("{what}: {error}")).card;
        assert!(found.security_schemes.keys().eq(schemes), "{what}");
        assert_eq!(json!(found.security_schemes["m"]), json!({"mtlsSecurityScheme": {}}), "{what}");
        let none = SecurityRequirement::default();
        let want = schemes.iter().fold(none, |all, it| all.with_scopes::<&str>(*it, []));
        assert_eq!(found.security_requirements, [want], "{what}");
    }
}

/// Where a card is signed as text, something empty must not hide what the signature covers.
#[test]
fn trap_37_what_is_empty_does_not_stand_in_front_of_what_is_signed() {
    let card = with(&published_0_3(), "/security", json!([{"k": ["a"]}]));
    let payload = r#"{"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"d","name":"n","preferredTransport":"JSONRPC","protocolVersion":"0.3.0","security":[{"k":["a"]}],"securitySchemes":{"k":{"in":"header","name":"X","type":"apiKey"}},"url":"https://h","version":"1"}"#;
    let signed = signed_over(&card, payload);
    let want = verify(&signed, &keys(), &Policy::default()).unwrap().card;
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
        let verified = verify(&with(&signed, pointer, value.clone()), &keys(), &Policy::default());
        assert_eq!(verified.unwrap().card, want, "{pointer}: {value}");
    }
}

#[test]
fn trap_37_a_card_of_0_3_stays_one_when_its_signature_leaves_the_version_out() {
    let payload = r#"{"capabilities":{"stateTransitionHistory":true},"description":"d","name":"n","url":"https://h","version":"1"}"#;
    let said = json!({
        "name": "n", "description": "d", "version": "1", "protocolVersion": "0.3.0",
        "url": "https://h", "preferredTransport": "JSONRPC",
        "capabilities": {"stateTransitionHistory": true},
        "defaultInputModes": [], "defaultOutputModes": [], "skills": [],
    });
    let mut unsaid = said.clone();
    unsaid.as_object_mut().unwrap().retain(|name, _| name != "protocolVersion");
    for card in [said, unsaid] {
        let verified = verify(&signed_over(&card, payload), &keys(), &Policy::default()).unwrap();
        let interface = &verified.card.supported_interfaces[0];
        assert_eq!(interface.version(), Some(Version::V0_3), "{card}");
        assert_eq!(interface.protocol_binding.as_str(), "JSONRPC", "{card}");
    }
    // A version that is not the default is in what is signed, in either spelling.
    for name in ["protocolVersion", "protocol_version"] {
        let card = json!({"name": "n", "url": "https://h", name: "0.2.5"});
        let payload = format!(r#"{{"name":"n","{name}":"0.2.5","url":"https://h"}}"#);
        let verified = verify(&signed_over(&card, &payload), &keys(), &Policy::default()).unwrap();
        assert_eq!(verified.card.supported_interfaces[0].protocol_version, "0.2", "{name}");
    }
}

/// Whatever a reader would put right in a card, it leaves alone in one that is signed.
#[test]
fn trap_37_a_signed_card_that_is_read_and_written_again_still_verifies() {
    let skills = json!([{"id": "only", "inputModes": ["text"]}, {"name": "Only"}, {"tags": ["t"]}]);
    let card = with(&published(), "/skills", skills);
    let card = with(&card, "/defaultInputModes", json!(["text"]));
    let card =
        with(&card, "/supportedInterfaces", json!([{"url": "u", "protocolBinding": "GRPC"}]));
    let specification = r#"{"capabilities":{"streaming":false},"defaultInputModes":["text"],"defaultOutputModes":["text/plain"],"description":"","name":"Größe","skills":[{"description":"","id":"only","inputModes":["text"],"name":"","tags":[]},{"description":"","id":"","name":"Only","tags":[]},{"description":"","id":"","name":"","tags":["t"]}],"supportedInterfaces":[{"protocolBinding":"GRPC","protocolVersion":"","url":"u"}],"version":"1"}"#;
    let stripped = r#"{"capabilities":{"streaming":false},"defaultInputModes":["text"],"defaultOutputModes":["text/plain"],"name":"Größe","skills":[{"id":"only","inputModes":["text"]},{"name":"Only"},{"tags":["t"]}],"supportedInterfaces":[{"protocolBinding":"GRPC","url":"u"}],"version":"1"}"#;
    for payload in [specification, stripped] {
        let signed = signed_over(&card, payload);
        let read = AgentCard::from_json(&signed).unwrap();
        let protobuf = AgentCard::try_from(v1::AgentCard::from(&read)).unwrap();
        assert_eq!(protobuf, read);
        assert_eq!(read.default_input_modes, ["text"]);
        // One that names no version can be called all the same.
        assert_eq!(read.supported_interfaces[0].version(), Some(Version::V1_0));
        for (what, json) in [
            ("as published", signed),
            ("read", read.to_json(Form::V1_0)),
            ("read, superset", read.to_json(SUPERSET)),
            ("through protobuf", protobuf.to_json(Form::V1_0)),
        ] {
            let verified = verify(&json, &keys(), &Policy::default());
            let found = verified.unwrap_or_else(|error| panic!("{what}: {error}")).card;
            // What is proven needs no signature any more, and is put right.
            assert_eq!(found.default_input_modes, ["text/plain"], "{what}");
            assert_eq!(found.skills[0].name, "only", "{what}");
            assert_eq!(found.supported_interfaces[0].protocol_version, "1.0", "{what}");
        }
    }
    let ours = with(&published(), "/defaultInputModes", json!(["text"]));
    let mut ours: AgentCard = serde_json::from_value(ours).unwrap();
    ours.sign(&signing_key()).unwrap();
    let read = AgentCard::from_json(&ours.to_json(SUPERSET)).unwrap();
    assert_eq!(read, ours);
    assert_eq!(AgentCard::try_from(v1::AgentCard::from(&read)), Ok(ours));
    // Older ones change anyway when they are lifted, and unsigned ones have nothing to lose.
    for card in [
        with(&published_0_3(), "/signatures", json!([{"protected": "a", "signature": "b"}])),
        published(),
    ] {
        let card = with(&card, "/defaultInputModes", json!(["text"]));
        assert_eq!(AgentCard::from_json(&card).unwrap().default_input_modes, ["text/plain"]);
    }
}

#[test]
fn trap_37_what_we_sign_names_its_type_algorithm_and_key() {
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
            assert_eq!(decoded(&signature.protected), want, "{alg}");
        }
    }
}

#[test]
fn trap_38_schemes_of_a_superset_card_have_both_forms_and_are_read() {
    let flow = json!({"clientCredentials": {"tokenUrl": "https://h/token", "scopes": {"a": "b"}}});
    for (current, older) in [
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
        let mut both = current.clone();
        both.as_object_mut().unwrap().extend(older.as_object().unwrap().clone());
        let want: SecurityScheme = serde_json::from_value(current.clone()).unwrap();
        for wire in [&current, &older, &both] {
            let card = with(&superset(), "/securitySchemes/k", wire.clone());
            let read = AgentCard::from_json(&card).unwrap();
            assert_eq!(read.security_schemes.get("k"), Some(&want), "{wire}");
            assert_eq!(read.to_json(Form::V1_0)["securitySchemes"]["k"], current, "{wire}");
            assert_eq!(read.to_json(SUPERSET)["securitySchemes"]["k"], both, "{wire}");
        }
    }
}

#[test]
fn trap_38_unknown_members_are_dropped_wherever_they_are() {
    let plain = AgentCard::from_json(&superset()).unwrap();
    for place in [
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
            let card = with(&superset(), &format!("{place}/x-vendor"), unknown);
            let read = AgentCard::read(card.to_string().as_bytes()).unwrap();
            assert_eq!(read, plain, "{place}");
            assert!(!read.to_json(SUPERSET).to_string().contains("x-vendor"), "{place}");
        }
    }
}

#[test]
fn trap_39_requirements_are_read_under_both_names_in_both_shapes_and_written_in_that_of_1_0() {
    let flat = json!([{"g": ["a", "b"], "k": []}, {"k": []}]);
    let nested = json!([
        {"schemes": {"g": {"list": ["a", "b"]}, "k": {"list": []}}},
        {"schemes": {"k": {}}},
    ]);
    let other = json!([{"other": []}]);
    let written =
        json!([{"schemes": {"g": {"list": ["a", "b"]}, "k": {}}}, {"schemes": {"k": {}}}]);
    for (what, said) in [
        ("0.3", json!({"security": flat})),
        ("the sample of the specification", json!({"security": nested})),
        ("the shape of 0.3 under the name of 1.0", json!({"securityRequirements": flat})),
        ("1.0", json!({"securityRequirements": nested})),
        ("1.0 in snake case", json!({"security_requirements": nested})),
        ("both, alike", json!({"security": flat, "securityRequirements": nested})),
        ("both, and 1.0 counts", json!({"security": other, "securityRequirements": nested})),
    ] {
        // Of the card, and of a skill.
        for place in ["", "/skills/0"] {
            let mut card = superset();
            let members = card.pointer_mut(place).unwrap().as_object_mut().unwrap();
            members.remove("security");
            members.remove("securityRequirements");
            members.extend(said.as_object().unwrap().clone());
            let read = AgentCard::from_json(&card).unwrap();
            for (form, current, older) in [
                (Form::V1_0, Some(&written), None),
                (SUPERSET, Some(&written), Some(&flat)),
                (Form::V0_3(TransitionHistory::Kept), None, Some(&flat)),
            ] {
                let card = read.to_json(form);
                let members = card.pointer(place).unwrap();
                let found = (members.get("securityRequirements"), members.get("security"));
                assert_eq!(found, (current, older), "{what}, {place:?}, {form:?}");
            }
        }
    }
}

/// Four times the interfaces may take four times as long, and not sixteen times.
#[test]
fn a_card_with_very_many_interfaces_costs_no_more_than_they_are() {
    const MANY: usize = 20_000;
    for (what, work) in [
        ("read", (|card, _| drop(AgentCard::from_json(card))) as fn(&Value, &AgentCard)),
        ("validated", |card, _| drop(validate(card))),
        ("written", |_, read| drop(read.to_json(Form::V0_3(TransitionHistory::Kept)))),
        ("written and validated", |_, read| drop(validate(&read.to_json(SUPERSET)))),
    ] {
        let least_time = |count: usize| {
            let interface = |at| json!({"url": format!("https://h/{at}"), "transport": "GRPC"});
            let list = (0..count).map(interface).collect();
            let card = with(&published_0_3(), "/additionalInterfaces", list);
            let read = AgentCard::from_json(&card).unwrap();
            assert_eq!(read.supported_interfaces.len(), count + 1, "{what}");
            let run = || {
                let start = Instant::now();
                work(&card, &read);
                start.elapsed()
            };
            (0..3).map(|_| run()).min().unwrap()
        };
        let (few, many) = (least_time(MANY / 4), least_time(MANY));
        assert!(many < few * 10, "{what}: {few:?} for a quarter, {many:?} for all");
    }
}
