use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::card::{AgentCard, CardFormat, TransitionHistory};

/// Returns a valid 1.0 card.
fn v1_0_card() -> Value {
    json!({
        "name": "n", "description": "d", "version": "1",
        "supportedInterfaces": [
            {"url": "https://a.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "a.example:443", "protocolBinding": "GRPC", "protocolVersion": "0.3"},
            {"url": "http://[::1]:80", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
            {"url": "wss://a.example", "protocolBinding": "urn:x:ws", "protocolVersion": "1.0"},
        ],
        "provider": {"organization": "o", "url": "https://a.example"},
        "capabilities": {"streaming": true, "extensions": [{"uri": "urn:x:e"}]},
        "securitySchemes": {
            "k": {"apiKeySecurityScheme": {"location": "header", "name": "X"}},
            "h": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
            "o": {"oauth2SecurityScheme": {"flows": {"clientCredentials":
                {"tokenUrl": "https://a.example/token", "scopes": {}}}}},
            "i": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://a.example/oidc"}},
            "m": {"mtlsSecurityScheme": {}},
        },
        "securityRequirements": [{"schemes": {"k": {}, "o": {"list": ["a"]}}}, {}],
        "defaultInputModes": ["text/plain; charset=utf-8"], "defaultOutputModes": ["image/*"],
        "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["t"]}],
        // {"alg":"ES256","kid":"k","typ":"JOSE"}
        "signatures": [{"protected": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsiLCJ0eXAiOiJKT1NFIn0", "signature": "AAAA"}],
    })
}

/// Returns a valid 0.3 card.
fn v0_3_card() -> Value {
    json!({
        "name": "n", "description": "d", "version": "1", "protocolVersion": "0.3.0",
        "url": "https://a.example/rpc", "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{"url": "a.example:443", "transport": "GRPC"}],
        "capabilities": {"stateTransitionHistory": true},
        "securitySchemes": {
            "k": {"type": "apiKey", "in": "header", "name": "X"},
            "o": {"type": "oauth2", "flows": {
                "clientCredentials": {"tokenUrl": "https://a.example/token", "scopes": {}},
                "authorizationCode": {"tokenUrl": "https://a.example/token",
                    "authorizationUrl": "https://a.example/login", "scopes": {}},
            }},
        },
        "security": [{"k": [], "o": ["a"]}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["t"], "security": [{"k": []}]}],
        "supportsAuthenticatedExtendedCard": true,
    })
}

/// Sets the value at `pointer`, or removes it if `value` is `null`.
fn with_value_at(mut card: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = card.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(members), Value::Null) => drop(members.remove(name)),
        (Value::Object(members), value) => drop(members.insert(name.to_owned(), value)),
        (Value::Array(items), value) if name == "-" => items.push(value),
        (Value::Array(items), value) => items[name.parse::<usize>().unwrap()] = value,
        _ => panic!("{pointer}"),
    }
    card
}

/// Removes the values at `pointers`.
fn without_values_at(card: Value, pointers: &[&str]) -> Value {
    pointers.iter().fold(card, |card, pointer| with_value_at(card, pointer, Value::Null))
}

/// Encodes a protected header as base64url.
fn encode_header(value: &Value) -> Value {
    use base64::Engine;
    json!(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(value.to_string()))
}

/// Returns changes to valid cards that violate one rule each: rule id, card, pointer to change, new
/// value, and pointer of the expected problem.
fn rule_violations() -> Vec<(&'static str, Value, &'static str, Value, &'static str)> {
    let signature = "/signatures/0/protected";
    let skill = json!({"id": "s", "name": "s", "description": "s", "tags": ["t"]});
    let no_alg = encode_header(&json!({"kid": "k", "typ": "JOSE"}));
    let none = encode_header(&json!({"alg": "none", "kid": "k", "typ": "JOSE"}));
    let es384 = encode_header(&json!({"alg": "ES384", "kid": "k", "typ": "JOSE"}));
    let no_kid = encode_header(&json!({"alg": "ES256", "typ": "JOSE"}));
    let no_typ = encode_header(&json!({"alg": "ES256", "kid": "k"}));
    let null = || Value::Null;
    let flow = "/securitySchemes/o/oauth2SecurityScheme/flows";
    let client = json!({"tokenUrl": "https://a.example/token", "scopes": {}});
    let two_flows = json!({"clientCredentials": client, "deviceCode":
        {"deviceAuthorizationUrl": "https://a.example/d", "tokenUrl": "https://a.example/t"}});
    let password = json!({"password": client});
    vec![
        ("card.name.missing", v1_0_card(), "/name", null(), "/name"),
        ("card.name.missing", v1_0_card(), "/name", json!(""), "/name"),
        ("card.description.missing", v1_0_card(), "/description", null(), "/description"),
        ("card.version.missing", v0_3_card(), "/version", null(), "/version"),
        ("card.type", v1_0_card(), "/name", json!(5), "/name"),
        ("card.type", v1_0_card(), "/skills", json!({}), "/skills"),
        ("card.type", v1_0_card(), "/skills/0/tags/0", json!(1), "/skills/0/tags/0"),
        ("card.type", v1_0_card(), "/capabilities/streaming", json!(1), "/capabilities/streaming"),
        ("card.type", v1_0_card(), "/capabilities", json!("x"), "/capabilities"),
        ("card.type", v1_0_card(), "/provider", json!("x"), "/provider"),
        (
            "card.type",
            without_values_at(v1_0_card(), &["/securityRequirements"]),
            "/securitySchemes",
            json!([]),
            "/securitySchemes",
        ),
        ("card.type", v1_0_card(), "/securitySchemes/k", json!("x"), "/securitySchemes/k"),
        ("card.capabilities.missing", v1_0_card(), "/capabilities", null(), "/capabilities"),
        ("card.modes.missing", v0_3_card(), "/defaultInputModes", null(), "/defaultInputModes"),
        ("card.modes.empty", v1_0_card(), "/defaultOutputModes", json!([]), "/defaultOutputModes"),
        (
            "card.mode.form",
            v0_3_card(),
            "/defaultInputModes/0",
            json!("text"),
            "/defaultInputModes/0",
        ),
        (
            "card.mode.form",
            v1_0_card(),
            "/skills/0/inputModes",
            json!(["a/"]),
            "/skills/0/inputModes/0",
        ),
        ("card.member.unknown", v1_0_card(), "/a~b", json!(1), "/a~0b"),
        (
            "card.number.unsafe",
            v1_0_card(),
            "/capabilities/extensions/0/params",
            json!({"n": u64::MAX}),
            "/capabilities/extensions/0/params/n",
        ),
        ("card.link.invalid", v1_0_card(), "/iconUrl", json!("/icon.png"), "/iconUrl"),
        ("card.provider.incomplete", v1_0_card(), "/provider/url", null(), "/provider/url"),
        ("card.url.missing", v0_3_card(), "/url", json!(""), "/url"),
        ("card.url.unlisted", v1_0_card(), "/url", json!("https://b.example"), "/url"),
        (
            "card.interfaces.missing",
            v1_0_card(),
            "/supportedInterfaces",
            null(),
            "/supportedInterfaces",
        ),
        (
            "card.interfaces.missing",
            // Without `url` the card is checked against 1.0, whose security members differ.
            without_values_at(
                v0_3_card(),
                &["/securitySchemes", "/security", "/skills/0/security"],
            ),
            "/url",
            null(),
            "/supportedInterfaces",
        ),
        (
            "card.interfaces.empty",
            v1_0_card(),
            "/supportedInterfaces",
            json!([]),
            "/supportedInterfaces",
        ),
        (
            "card.interface.url.missing",
            v1_0_card(),
            "/supportedInterfaces/0/url",
            null(),
            "/supportedInterfaces/0/url",
        ),
        (
            "card.interface.url.missing",
            v0_3_card(),
            "/additionalInterfaces/0/url",
            null(),
            "/additionalInterfaces/0/url",
        ),
        (
            "card.interface.url.invalid",
            v1_0_card(),
            "/supportedInterfaces/0/url",
            json!("/a2a"),
            "/supportedInterfaces/0/url",
        ),
        (
            "card.interface.url.invalid",
            v1_0_card(),
            "/supportedInterfaces/0/url",
            json!("a.example:443"),
            "/supportedInterfaces/0/url",
        ),
        (
            "card.interface.url.invalid",
            v1_0_card(),
            "/supportedInterfaces/0/url",
            json!("ftp://a.example"),
            "/supportedInterfaces/0/url",
        ),
        (
            "card.interface.url.invalid",
            v1_0_card(),
            "/supportedInterfaces/1/url",
            json!("a.example"),
            "/supportedInterfaces/1/url",
        ),
        (
            "card.interface.url.insecure",
            v1_0_card(),
            "/supportedInterfaces/0/url",
            json!("http://a.example"),
            "/supportedInterfaces/0/url",
        ),
        (
            "card.interface.duplicate",
            v1_0_card(),
            "/supportedInterfaces/-",
            v1_0_card()["supportedInterfaces"][0].clone(),
            "/supportedInterfaces/4",
        ),
        (
            "card.interface.binding.missing",
            v1_0_card(),
            "/supportedInterfaces/2/protocolBinding",
            null(),
            "/supportedInterfaces/2/protocolBinding",
        ),
        (
            "card.interface.binding.unknown",
            v1_0_card(),
            "/supportedInterfaces/3/protocolBinding",
            json!("pigeon"),
            "/supportedInterfaces/3/protocolBinding",
        ),
        (
            "card.interface.binding.spelling",
            v0_3_card(),
            "/preferredTransport",
            json!("json-rpc"),
            "/preferredTransport",
        ),
        (
            "card.interface.version.missing",
            v1_0_card(),
            "/supportedInterfaces/0/protocolVersion",
            null(),
            "/supportedInterfaces/0/protocolVersion",
        ),
        (
            "card.interface.version.unknown",
            v1_0_card(),
            "/supportedInterfaces/0/protocolVersion",
            json!("2.0"),
            "/supportedInterfaces/0/protocolVersion",
        ),
        (
            "card.interface.version.unknown",
            v0_3_card(),
            "/protocolVersion",
            json!("new"),
            "/protocolVersion",
        ),
        (
            "card.interface.version.patch",
            v1_0_card(),
            "/supportedInterfaces/0/protocolVersion",
            json!("1.0.0"),
            "/supportedInterfaces/0/protocolVersion",
        ),
        ("card.skills.missing", v1_0_card(), "/skills", null(), "/skills"),
        ("card.skills.empty", v0_3_card(), "/skills", json!([]), "/skills"),
        ("card.skill.member.missing", v1_0_card(), "/skills/0/tags", null(), "/skills/0/tags"),
        ("card.skill.member.missing", v0_3_card(), "/skills/0/id", null(), "/skills/0/id"),
        ("card.skill.tags.empty", v1_0_card(), "/skills/0/tags", json!([]), "/skills/0/tags"),
        ("card.skill.duplicate", v1_0_card(), "/skills/-", skill, "/skills/1/id"),
        (
            "card.extension.uri.missing",
            v1_0_card(),
            "/capabilities/extensions/0/uri",
            null(),
            "/capabilities/extensions/0/uri",
        ),
        (
            "card.extension.uri.invalid",
            v1_0_card(),
            "/capabilities/extensions/0/uri",
            json!("trace"),
            "/capabilities/extensions/0/uri",
        ),
        (
            "card.extension.duplicate",
            v1_0_card(),
            "/capabilities/extensions/-",
            json!({"uri": "urn:x:e"}),
            "/capabilities/extensions/1/uri",
        ),
        (
            "card.scheme.none",
            v1_0_card(),
            "/securitySchemes/k",
            json!({"type": "http", "scheme": "a"}),
            "/securitySchemes/k",
        ),
        (
            "card.scheme.none",
            v0_3_card(),
            "/securitySchemes/k/type",
            null(),
            "/securitySchemes/k/type",
        ),
        (
            "card.scheme.several",
            v1_0_card(),
            "/securitySchemes/k/mtlsSecurityScheme",
            json!({}),
            "/securitySchemes/k",
        ),
        (
            "card.scheme.unknown",
            v0_3_card(),
            "/securitySchemes/k/type",
            json!("telepathy"),
            "/securitySchemes/k/type",
        ),
        (
            "card.scheme.member.missing",
            v1_0_card(),
            "/securitySchemes/h/httpAuthSecurityScheme/scheme",
            null(),
            "/securitySchemes/h/httpAuthSecurityScheme/scheme",
        ),
        ("card.scheme.member.missing", v1_0_card(), flow, null(), flow),
        (
            "card.scheme.location",
            v0_3_card(),
            "/securitySchemes/k/in",
            json!("body"),
            "/securitySchemes/k/in",
        ),
        (
            "card.scheme.url.invalid",
            v1_0_card(),
            "/securitySchemes/i/openIdConnectSecurityScheme/openIdConnectUrl",
            json!("/oidc"),
            "/securitySchemes/i/openIdConnectSecurityScheme/openIdConnectUrl",
        ),
        ("card.scheme.flows.none", v1_0_card(), flow, json!({}), flow),
        ("card.scheme.flows.several", v1_0_card(), flow, two_flows, flow),
        (
            "card.scheme.flow.deprecated",
            v1_0_card(),
            flow,
            password,
            "/securitySchemes/o/oauth2SecurityScheme/flows/password",
        ),
        (
            "card.requirement.shape",
            v1_0_card(),
            "/securityRequirements/0",
            json!({"k": []}),
            "/securityRequirements/0",
        ),
        (
            "card.requirement.shape",
            v1_0_card(),
            "/securityRequirements/0/schemes/k",
            json!([]),
            "/securityRequirements/0/schemes/k",
        ),
        ("card.requirement.shape", v0_3_card(), "/security/0/k", json!({}), "/security/0/k"),
        ("card.requirement.key", v1_0_card(), "/security", json!([{"k": []}]), "/security"),
        (
            "card.requirement.undefined",
            v1_0_card(),
            "/securityRequirements/0/schemes/z",
            json!({}),
            "/securityRequirements/0/schemes/z",
        ),
        (
            "card.requirement.undefined",
            v0_3_card(),
            "/skills/0/security/0/z",
            json!([]),
            "/skills/0/security/0/z",
        ),
        ("card.signature.protected", v1_0_card(), signature, json!("e30="), signature),
        ("card.signature.protected", v1_0_card(), signature, null(), signature),
        (
            "card.signature.value",
            v1_0_card(),
            "/signatures/0/signature",
            json!("a+b/"),
            "/signatures/0/signature",
        ),
        ("card.signature.alg.missing", v1_0_card(), signature, no_alg, signature),
        ("card.signature.alg.refused", v1_0_card(), signature, none, signature),
        ("card.signature.alg.unknown", v1_0_card(), signature, es384, signature),
        ("card.signature.kid.missing", v1_0_card(), signature, no_kid, signature),
        ("card.signature.typ", v1_0_card(), signature, no_typ, signature),
    ]
}

#[test]
fn valid_cards_have_no_problems() {
    let both = AgentCard::from_json(&v0_3_card())
        .unwrap()
        .to_json(CardFormat::Superset(TransitionHistory::Recorded));
    let superset =
        serde_json::from_str(include_str!("../../../fixtures/cards/superset.json")).unwrap();
    let v0_1 = serde_json::from_str(include_str!("../../../fixtures/cards/s0.json")).unwrap();
    let snake = json!({
        "name": "n", "description": "d", "version": "1", "capabilities": {"push_notifications": true},
        "supported_interfaces": [{"url": "https://a", "protocol_binding": "JSONRPC", "protocol_version": "1.0"}],
        "default_input_modes": ["text/plain"], "default_output_modes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["t"], "input_modes": ["a/b"]}],
        "provider": null,
    });
    for card in [v1_0_card(), v0_3_card(), both, superset, v0_1, snake] {
        assert_eq!(validate(&card), [], "{card}");
    }
}

#[test]
fn each_violation_is_reported_once_at_its_pointer() {
    for (id, card, pointer, value, expected_pointer) in rule_violations() {
        let broken = with_value_at(card, pointer, value);
        let problems = validate(&broken);
        let problems: Vec<_> = problems.iter().map(|it| (it.id, &*it.pointer)).collect();
        assert_eq!(problems, [(id, expected_pointer)], "{pointer} of {broken}");
    }
}

#[test]
fn every_rule_is_covered_and_every_problem_has_a_rule() {
    let mut violated_ids: BTreeSet<_> = validate(&json!([])).into_iter().map(|it| it.id).collect();
    for (_, card, pointer, value, _) in rule_violations() {
        let problems = validate(&with_value_at(card, pointer, value));
        for problem in &problems {
            let rule = RULES.iter().find(|it| it.id == problem.id);
            assert_eq!(rule.map(|it| it.severity), Some(problem.severity), "{problem}");
            assert!(problem.message.len() > 10, "{problem}");
        }
        violated_ids.extend(problems.into_iter().map(|it| it.id));
    }
    let rule_ids: BTreeSet<_> = RULES.iter().map(|it| it.id).collect();
    assert_eq!(rule_ids.len(), RULES.len(), "rule ids must be unique");
    assert_eq!(violated_ids, rule_ids);
}
