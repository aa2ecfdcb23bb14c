use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::card::{AgentCard, Form, TransitionHistory};

/// A card of 1.0 without problems.
fn current() -> Value {
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

/// A card of 0.3 without problems.
fn older() -> Value {
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

/// `card` with another value at `pointer`, or without what is there.
fn with(mut card: Value, pointer: &str, value: Value) -> Value {
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

/// `card` without what is at these pointers.
fn without(card: Value, pointers: &[&str]) -> Value {
    pointers.iter().fold(card, |card, pointer| with(card, pointer, Value::Null))
}

/// A signature's header in base64url.
fn header(value: &Value) -> Value {
    use base64::Engine;
    json!(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(value.to_string()))
}

/// Every rule, and a change of a good card that breaks it: where, to what, and where that shows.
fn breakages() -> Vec<(&'static str, Value, &'static str, Value, &'static str)> {
    let signature = "/signatures/0/protected";
    let skill = json!({"id": "s", "name": "s", "description": "s", "tags": ["t"]});
    let no_alg = header(&json!({"kid": "k", "typ": "JOSE"}));
    let none = header(&json!({"alg": "none", "kid": "k", "typ": "JOSE"}));
    let es384 = header(&json!({"alg": "ES384", "kid": "k", "typ": "JOSE"}));
    let no_kid = header(&json!({"alg": "ES256", "typ": "JOSE"}));
    let no_typ = header(&json!({"alg": "ES256", "kid": "k"}));
    let null = || Value::Null;
    let flow = "/securitySchemes/o/oauth2SecurityScheme/flows";
    let client = json!({"tokenUrl": "https://a.example/token", "scopes": {}});
    let two = json!({"clientCredentials": client, "deviceCode":
        {"deviceAuthorizationUrl": "https://a.example/d", "tokenUrl": "https://a.example/t"}});
    let password = json!({"password": client});
    vec![
        ("card.name.missing", current(), "/name", null(), "/name"),
        ("card.name.missing", current(), "/name", json!(""), "/name"),
        ("card.description.missing", current(), "/description", null(), "/description"),
        ("card.version.missing", older(), "/version", null(), "/version"),
        ("card.type", current(), "/name", json!(5), "/name"),
        ("card.type", current(), "/skills", json!({}), "/skills"),
        ("card.type", current(), "/skills/0/tags/0", json!(1), "/skills/0/tags/0"),
        ("card.type", current(), "/capabilities/streaming", json!(1), "/capabilities/streaming"),
        ("card.type", current(), "/capabilities", json!("x"), "/capabilities"),
        ("card.type", current(), "/provider", json!("x"), "/provider"),
        (
            "card.type",
            without(current(), &["/securityRequirements"]),
            "/securitySchemes",
            json!([]),
            "/securitySchemes",
        ),
        ("card.type", current(), "/securitySchemes/k", json!("x"), "/securitySchemes/k"),
        ("card.capabilities.missing", current(), "/capabilities", null(), "/capabilities"),
        ("card.modes.missing", older(), "/defaultInputModes", null(), "/defaultInputModes"),
        ("card.modes.empty", current(), "/defaultOutputModes", json!([]), "/defaultOutputModes"),
        ("card.mode.form", older(), "/defaultInputModes/0", json!("text"), "/defaultInputModes/0"),
        (
            "card.mode.form",
            current(),
            "/skills/0/inputModes",
            json!(["a/"]),
            "/skills/0/inputModes/0",
        ),
        ("card.member.unknown", current(), "/a~b", json!(1), "/a~0b"),
        (
            "card.number.unsafe",
            current(),
            "/capabilities/extensions/0/params",
            json!({"n": u64::MAX}),
            "/capabilities/extensions/0/params/n",
        ),
        ("card.link.invalid", current(), "/iconUrl", json!("/icon.png"), "/iconUrl"),
        ("card.provider.incomplete", current(), "/provider/url", null(), "/provider/url"),
        ("card.url.missing", older(), "/url", json!(""), "/url"),
        ("card.url.unlisted", current(), "/url", json!("https://b.example"), "/url"),
        (
            "card.interfaces.missing",
            current(),
            "/supportedInterfaces",
            null(),
            "/supportedInterfaces",
        ),
        (
            "card.interfaces.missing",
            // Without its address it is held to 1.0, which says these in other words.
            without(older(), &["/securitySchemes", "/security", "/skills/0/security"]),
            "/url",
            null(),
            "/supportedInterfaces",
        ),
        (
            "card.interfaces.empty",
            current(),
            "/supportedInterfaces",
            json!([]),
            "/supportedInterfaces",
        ),
        (
            "card.interface.url.missing",
            current(),
            "/supportedInterfaces/0/url",
            null(),
            "/supportedInterfaces/0/url",
        ),
        (
            "card.interface.url.missing",
            older(),
            "/additionalInterfaces/0/url",
            null(),
            "/additionalInterfaces/0/url",
        ),
        (
            "card.interface.url.invalid",
            current(),
            "/supportedInterfaces/0/url",
            json!("/a2a"),
            "/supportedInterfaces/0/url",
        ),
        (
            "card.interface.url.invalid",
            current(),
            "/supportedInterfaces/0/url",
            json!("a.example:443"),
            "/supportedInterfaces/0/url",
        ),
        (
            "card.interface.url.invalid",
            current(),
            "/supportedInterfaces/0/url",
            json!("ftp://a.example"),
            "/supportedInterfaces/0/url",
        ),
        (
            "card.interface.url.invalid",
            current(),
            "/supportedInterfaces/1/url",
            json!("a.example"),
            "/supportedInterfaces/1/url",
        ),
        (
            "card.interface.url.insecure",
            current(),
            "/supportedInterfaces/0/url",
            json!("http://a.example"),
            "/supportedInterfaces/0/url",
        ),
        (
            "card.interface.duplicate",
            current(),
            "/supportedInterfaces/-",
            current()["supportedInterfaces"][0].clone(),
            "/supportedInterfaces/4",
        ),
        (
            "card.interface.binding.missing",
            current(),
            "/supportedInterfaces/2/protocolBinding",
            null(),
            "/supportedInterfaces/2/protocolBinding",
        ),
        (
            "card.interface.binding.unknown",
            current(),
            "/supportedInterfaces/3/protocolBinding",
            json!("pigeon"),
            "/supportedInterfaces/3/protocolBinding",
        ),
        (
            "card.interface.binding.spelling",
            older(),
            "/preferredTransport",
            json!("json-rpc"),
            "/preferredTransport",
        ),
        (
            "card.interface.version.missing",
            current(),
            "/supportedInterfaces/0/protocolVersion",
            null(),
            "/supportedInterfaces/0/protocolVersion",
        ),
        (
            "card.interface.version.unknown",
            current(),
            "/supportedInterfaces/0/protocolVersion",
            json!("2.0"),
            "/supportedInterfaces/0/protocolVersion",
        ),
        (
            "card.interface.version.unknown",
            older(),
            "/protocolVersion",
            json!("new"),
            "/protocolVersion",
        ),
        (
            "card.interface.version.patch",
            current(),
            "/supportedInterfaces/0/protocolVersion",
            json!("1.0.0"),
            "/supportedInterfaces/0/protocolVersion",
        ),
        ("card.skills.missing", current(), "/skills", null(), "/skills"),
        ("card.skills.empty", older(), "/skills", json!([]), "/skills"),
        ("card.skill.member.missing", current(), "/skills/0/tags", null(), "/skills/0/tags"),
        ("card.skill.member.missing", older(), "/skills/0/id", null(), "/skills/0/id"),
        ("card.skill.tags.empty", current(), "/skills/0/tags", json!([]), "/skills/0/tags"),
        ("card.skill.duplicate", current(), "/skills/-", skill, "/skills/1/id"),
        (
            "card.extension.uri.missing",
            current(),
            "/capabilities/extensions/0/uri",
            null(),
            "/capabilities/extensions/0/uri",
        ),
        (
            "card.extension.uri.invalid",
            current(),
            "/capabilities/extensions/0/uri",
            json!("trace"),
            "/capabilities/extensions/0/uri",
        ),
        (
            "card.extension.duplicate",
            current(),
            "/capabilities/extensions/-",
            json!({"uri": "urn:x:e"}),
            "/capabilities/extensions/1/uri",
        ),
        (
            "card.scheme.none",
            current(),
            "/securitySchemes/k",
            json!({"type": "http", "scheme": "a"}),
            "/securitySchemes/k",
        ),
        ("card.scheme.none", older(), "/securitySchemes/k/type", null(), "/securitySchemes/k/type"),
        (
            "card.scheme.several",
            current(),
            "/securitySchemes/k/mtlsSecurityScheme",
            json!({}),
            "/securitySchemes/k",
        ),
        (
            "card.scheme.unknown",
            older(),
            "/securitySchemes/k/type",
            json!("telepathy"),
            "/securitySchemes/k/type",
        ),
        (
            "card.scheme.member.missing",
            current(),
            "/securitySchemes/h/httpAuthSecurityScheme/scheme",
            null(),
            "/securitySchemes/h/httpAuthSecurityScheme/scheme",
        ),
        ("card.scheme.member.missing", current(), flow, null(), flow),
        (
            "card.scheme.location",
            older(),
            "/securitySchemes/k/in",
            json!("body"),
            "/securitySchemes/k/in",
        ),
        (
            "card.scheme.url.invalid",
            current(),
            "/securitySchemes/i/openIdConnectSecurityScheme/openIdConnectUrl",
            json!("/oidc"),
            "/securitySchemes/i/openIdConnectSecurityScheme/openIdConnectUrl",
        ),
        ("card.scheme.flows.none", current(), flow, json!({}), flow),
        ("card.scheme.flows.several", current(), flow, two, flow),
        (
            "card.scheme.flow.deprecated",
            current(),
            flow,
            password,
            "/securitySchemes/o/oauth2SecurityScheme/flows/password",
        ),
        (
            "card.requirement.shape",
            current(),
            "/securityRequirements/0",
            json!({"k": []}),
            "/securityRequirements/0",
        ),
        (
            "card.requirement.shape",
            current(),
            "/securityRequirements/0/schemes/k",
            json!([]),
            "/securityRequirements/0/schemes/k",
        ),
        ("card.requirement.shape", older(), "/security/0/k", json!({}), "/security/0/k"),
        ("card.requirement.key", current(), "/security", json!([{"k": []}]), "/security"),
        (
            "card.requirement.undefined",
            current(),
            "/securityRequirements/0/schemes/z",
            json!({}),
            "/securityRequirements/0/schemes/z",
        ),
        (
            "card.requirement.undefined",
            older(),
            "/skills/0/security/0/z",
            json!([]),
            "/skills/0/security/0/z",
        ),
        ("card.signature.protected", current(), signature, json!("e30="), signature),
        ("card.signature.protected", current(), signature, null(), signature),
        (
            "card.signature.value",
            current(),
            "/signatures/0/signature",
            json!("a+b/"),
            "/signatures/0/signature",
        ),
        ("card.signature.alg.missing", current(), signature, no_alg, signature),
        ("card.signature.alg.refused", current(), signature, none, signature),
        ("card.signature.alg.unknown", current(), signature, es384, signature),
        ("card.signature.kid.missing", current(), signature, no_kid, signature),
        ("card.signature.typ", current(), signature, no_typ, signature),
    ]
}

#[test]
fn good_cards_have_no_problems() {
    let both =
        AgentCard::from_json(&older()).unwrap().to_json(Form::Superset(TransitionHistory::Kept));
    let superset =
        serde_json::from_str(include_str!("../../../fixtures/cards/superset.json")).unwrap();
    let oldest = serde_json::from_str(include_str!("../../../fixtures/cards/s0.json")).unwrap();
    let snake = json!({
        "name": "n", "description": "d", "version": "1", "capabilities": {"push_notifications": true},
        "supported_interfaces": [{"url": "https://a", "protocol_binding": "JSONRPC", "protocol_version": "1.0"}],
        "default_input_modes": ["text/plain"], "default_output_modes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["t"], "input_modes": ["a/b"]}],
        "provider": null,
    });
    for card in [current(), older(), both, superset, oldest, snake] {
        assert_eq!(validate(&card), [], "{card}");
    }
}

#[test]
fn each_problem_is_found_where_it_is_and_no_other() {
    for (id, card, pointer, value, at) in breakages() {
        let broken = with(card, pointer, value);
        let found = validate(&broken);
        let found: Vec<_> = found.iter().map(|it| (it.id, &*it.pointer)).collect();
        assert_eq!(found, [(id, at)], "{pointer} of {broken}");
    }
}

#[test]
fn every_rule_can_be_broken_and_every_problem_is_a_rule() {
    let mut found: BTreeSet<_> = validate(&json!([])).into_iter().map(|it| it.id).collect();
    for (_, card, pointer, value, _) in breakages() {
        let problems = validate(&with(card, pointer, value));
        for problem in &problems {
            let rule = RULES.iter().find(|it| it.id == problem.id);
            assert_eq!(rule.map(|it| it.severity), Some(problem.severity), "{problem}");
            assert!(problem.message.len() > 10, "{problem}");
        }
        found.extend(problems.into_iter().map(|it| it.id));
    }
    let known: BTreeSet<_> = RULES.iter().map(|it| it.id).collect();
    assert_eq!(known.len(), RULES.len(), "identifiers are unique");
    assert_eq!(found, known);
}
