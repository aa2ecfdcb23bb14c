use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::card::{
    AgentInterface, CardFormat, ClientCredentialsOAuthFlow, KeySet, OAuthFlows, ProtocolBinding,
    RULES, SecurityRequirement, SecurityScheme, TransitionHistory, VerifyPolicy, validate, verify,
};

/// Creates a 0.3 card in which the members of `more` replace the defaults; `null` removes a member.
fn v0_3_card(more: Value) -> Value {
    let mut card = json!({
        "name": "n", "description": "d", "version": "1", "url": "https://a.example/rpc",
        "protocolVersion": "0.3.0", "capabilities": {}, "skills": [],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    });
    for (name, value) in more.as_object().unwrap() {
        card[name] = value.clone();
    }
    card
}

fn interface(url: &str, binding: ProtocolBinding, version: &str) -> AgentInterface {
    AgentInterface { protocol_version: version.into(), ..AgentInterface::new(url, binding) }
}

#[test]
fn v0_1_card_is_read() {
    let card = AgentCard::read(include_bytes!("../../../fixtures/cards/s0.json")).unwrap();
    assert_eq!(card.name, "code-reviewer");
    let url = "http://127.0.0.1:50051/a2a";
    assert_eq!(card.supported_interfaces, [interface(url, ProtocolBinding::JsonRpc, "0.1")]);
    assert_eq!(card.capabilities.streaming, Some(true));
    assert_eq!(card.default_input_modes, ["text/plain"]);
    assert_eq!(card.skills[0].tags, ["tool"]);
}

#[test]
fn pre_v1_urls_become_interfaces() {
    use ProtocolBinding::{Grpc, HttpJson, JsonRpc};
    let main = "https://a.example/rpc";
    for (more, want) in [
        (json!({}), vec![interface(main, JsonRpc, "0.3")]),
        (json!({"protocolVersion": "0.2.5"}), vec![interface(main, JsonRpc, "0.2")]),
        (json!({"protocolVersion": null}), vec![interface(main, JsonRpc, "0.3")]),
        (json!({"protocolVersion": 3}), vec![interface(main, JsonRpc, "0.3")]),
        (
            json!({"preferredTransport": "HTTP+JSON", "additionalInterfaces": [
                {"url": main, "transport": "HTTP+JSON"},
                {"url": main, "transport": "rest"},
                {"url": "h:443", "transport": "GRPC"},
                {"transport": "GRPC"}, "broken",
            ]}),
            vec![interface(main, HttpJson, "0.3"), interface("h:443", Grpc, "0.3")],
        ),
        (json!({"preferredTransport": ""}), vec![interface(main, JsonRpc, "0.3")]),
        (json!({"additionalInterfaces": "broken"}), vec![interface(main, JsonRpc, "0.3")]),
        (
            json!({"supportedInterfaces": [
                {"url": "https://new", "protocolBinding": "json-rpc", "protocolVersion": "1.0"},
            ]}),
            vec![interface("https://new", JsonRpc, "1.0")],
        ),
        (
            json!({"protocolVersion": "1.0", "supportedInterfaces": [{"url": "u", "protocolBinding": "rest"}]}),
            vec![interface("u", HttpJson, "1.0")],
        ),
        (
            json!({"url": null, "protocolVersion": null, "supported_interfaces":
                [{"url": "u", "protocol_binding": "grpc", "protocol_version": "1.0"}]}),
            vec![interface("u", Grpc, "1.0")],
        ),
        (
            json!({"url": null, "protocolVersion": "1.0", "interfaces": [{"url": "u", "type": "json-rpc"}]}),
            vec![interface("u", JsonRpc, "1.0")],
        ),
        (json!({"supportedInterfaces": []}), vec![interface(main, JsonRpc, "0.3")]),
    ] {
        let card = AgentCard::from_json(&v0_3_card(more.clone())).unwrap();
        assert_eq!(card.supported_interfaces, want, "{more}");
    }
}

#[test]
fn undeclared_version_is_inferred_from_members() {
    let text = json!(["text"]);
    let history = json!({"streaming": true, "stateTransitionHistory": false});
    for (more, want) in [
        (json!({"authentication": {"schemes": ["Bearer"]}}), "0.1"),
        (json!({"defaultInputModes": null}), "0.1"),
        (json!({"defaultInputModes": text, "capabilities": history}), "0.1"),
        (json!({"defaultInputModes": text, "capabilities": {"streaming": true}}), "0.3"),
        (json!({"capabilities": history}), "0.3"),
        (json!({"defaultInputModes": text, "capabilities": history, "security": []}), "0.3"),
        (json!({"defaultInputModes": null, "supportsAuthenticatedExtendedCard": false}), "0.3"),
    ] {
        let mut card = v0_3_card(more.clone());
        card["protocolVersion"] = Value::Null;
        let read = AgentCard::from_json(&card).unwrap();
        assert_eq!(read.supported_interfaces[0].protocol_version, want, "{more}");
        assert_eq!(read.default_input_modes, ["text/plain"], "{more}");
    }
}

#[test]
fn requirements_are_read_in_both_shapes_under_both_names() {
    let want = [SecurityRequirement::scheme("g").with_scopes("g", ["openid"])];
    let flat = json!([{"g": ["openid"]}]);
    let nested = json!([{"schemes": {"g": {"list": ["openid"]}}}]);
    let mixed = json!([{"schemes": {"g": ["openid"]}}]);
    for requirements in [flat, nested.clone(), mixed] {
        for name in ["security", "securityRequirements"] {
            let skill = json!({"id": "s", "name": "s", name: requirements});
            let read =
                AgentCard::from_json(&v0_3_card(json!({name: requirements, "skills": [skill]})));
            let read = read.unwrap();
            assert_eq!(read.security_requirements, want, "{name}: {requirements}");
            assert_eq!(read.skills[0].security_requirements, want, "{name}: {requirements}");
        }
    }
    let both = v0_3_card(json!({"security": [{"old": []}], "securityRequirements": nested}));
    assert_eq!(AgentCard::from_json(&both).unwrap().security_requirements, want);
}

#[test]
fn schemes_are_read_in_both_forms() {
    let flow = ClientCredentialsOAuthFlow { token_url: "https://t".into(), ..Default::default() };
    for (wire, want) in [
        (
            json!({"type": "apiKey", "in": "header", "name": "X"}),
            Some(SecurityScheme::api_key("X")),
        ),
        (json!({"in": "header", "name": "X"}), Some(SecurityScheme::api_key("X"))),
        (
            json!({"type": "apiKey", "in": "query", "name": "old",
                   "apiKeySecurityScheme": {"location": "header", "name": "X"}}),
            Some(SecurityScheme::api_key("X")),
        ),
        (json!({"type": "http", "scheme": "Bearer"}), Some(SecurityScheme::bearer())),
        (
            json!({"type": "oauth2", "flows": {
                "password": {"tokenUrl": "https://p", "scopes": {}},
                "clientCredentials": {"tokenUrl": "https://t", "scopes": {}},
            }}),
            Some(SecurityScheme::OAuth2(crate::card::OAuth2SecurityScheme {
                description: None,
                flows: OAuthFlows::ClientCredentials(flow),
                oauth2_metadata_url: None,
            })),
        ),
        (json!({"type": "mutualTLS"}), Some(SecurityScheme::MutualTls(Default::default()))),
        (json!({"type": "http"}), None),
        (json!({"type": "telepathy"}), None),
        (json!("broken"), None),
    ] {
        let read =
            AgentCard::from_json(&v0_3_card(json!({"securitySchemes": {"s": wire}}))).unwrap();
        assert_eq!(read.security_schemes.get("s"), want.as_ref(), "{wire}");
    }
    let read =
        v0_3_card(json!({"authentication": {"schemes": ["Bearer", "apiKey"], "credentials": "x"}}));
    let read = AgentCard::from_json(&read).unwrap();
    assert_eq!(read.security_schemes["Bearer"], SecurityScheme::bearer());
    assert_eq!(read.security_schemes["apiKey"], SecurityScheme::api_key("X-API-Key"));
    let want = [SecurityRequirement::scheme("Bearer"), SecurityRequirement::scheme("apiKey")];
    assert_eq!(read.security_requirements, want);
}

#[test]
fn scopes_are_not_mistaken_for_javascript_oneof() {
    let scopes = json!({"$case": "a", "value": "b"});
    let plain = json!({"oauth2SecurityScheme": {"flows": {"implicit": {"scopes": scopes}}}});
    let flow = json!({"$case": "implicit", "value": {"scopes": scopes}});
    let scheme = json!({"$case": "oauth2SecurityScheme", "value": {"flows": {"flow": flow}}});
    for wire in [plain.clone(), json!({ "scheme": scheme })] {
        let read =
            AgentCard::from_json(&v0_3_card(json!({"securitySchemes": {"s": wire}}))).unwrap();
        assert_eq!(json!(read.security_schemes["s"]), plain, "{wire}");
    }
}

#[test]
fn malformed_optional_members_are_dropped() {
    let card = v0_3_card(json!({
        "provider": "Acme", "documentationUrl": 5, "iconUrl": {}, "signatures": [1, {"protected": "a"}],
        "securitySchemes": [], "securityRequirements": "none", "unknown": [[[]]],
        "capabilities": {"streaming": "yes", "pushNotifications": true, "extensions": [{"uri": 1}]},
        "skills": [
            {"id": "a", "examples": "one", "inputModes": [1], "security": 5},
            {"name": "b", "description": null},
            {"tags": ["neither id nor name"]},
        ],
    }));
    let read = AgentCard::from_json(&card).unwrap();
    let plain = AgentCard::from_json(&v0_3_card(json!({}))).unwrap();
    assert_eq!(read.capabilities.push_notifications, Some(true));
    let names: Vec<_> = read.skills.iter().map(|it| (&*it.id, &*it.name)).collect();
    assert_eq!(names, [("a", "a"), ("b", "b")]);
    let capabilities = plain.capabilities.clone();
    assert_eq!(AgentCard { skills: vec![], capabilities, ..read }, plain);
}

#[test]
fn pre_v1_extended_card_flag_becomes_capability() {
    for (more, want) in [
        (json!({"supportsAuthenticatedExtendedCard": true}), Some(true)),
        (json!({"supportsAuthenticatedExtendedCard": false}), None),
        (
            json!({"supportsAuthenticatedExtendedCard": true, "capabilities": {"extendedAgentCard": false}}),
            Some(false),
        ),
    ] {
        let read = AgentCard::from_json(&v0_3_card(more.clone())).unwrap();
        assert_eq!(read.capabilities.extended_agent_card, want, "{more}");
    }
}

#[test]
fn missing_or_invalid_required_member_is_named() {
    let mut card_without_name = v0_3_card(json!({}));
    card_without_name.as_object_mut().unwrap().remove("name");
    for (card, want) in [
        (json!([]), "expected an object"),
        (card_without_name, "name: is required"),
        (v0_3_card(json!({"name": 5})), "name: expected a string, found integer"),
        (v0_3_card(json!({"url": 5})), "url: expected a string"),
        (v0_3_card(json!({"url": null})), "supportedInterfaces: is required"),
        (
            v0_3_card(json!({"supportedInterfaces": "x"})),
            "supportedInterfaces: expected a sequence, found string",
        ),
        (
            v0_3_card(json!({"supportedInterfaces": [{"url": "a"}, {}]})),
            "supportedInterfaces[1].url: is required",
        ),
        (v0_3_card(json!({"skills": {}})), "skills: expected a sequence, found object"),
        (
            v0_3_card(json!({"skills": [{"id": "a", "name": []}]})),
            "skills[0].name: expected a string, found array",
        ),
        (
            v0_3_card(json!({"skills": [{"id": "a", "tags": "a"}]})),
            "skills[0].tags: expected a sequence, found string",
        ),
        (
            v0_3_card(json!({"defaultInputModes": "text"})),
            "defaultInputModes: expected a sequence, found string",
        ),
        (
            v0_3_card(json!({"capabilities": "all"})),
            "capabilities: expected struct AgentCapabilities, found string",
        ),
    ] {
        let error = AgentCard::from_json(&card).unwrap_err();
        assert_eq!(error.to_string(), want, "{card}");
    }
    let error = AgentCard::read(b"{").unwrap_err();
    assert!(matches!(error, ParseError::Malformed(_)), "{error}");
}

/// Strings that have a meaning in cards.
const CARD_STRINGS: &[&str] =
    &["", "text", "a/b", "https://a.example", "h:1", "JSONRPC", "0.3.0", "header", "oauth2"];

/// Names of members of cards and of nested objects.
#[rustfmt::skip]
const MEMBER_NAMES: &[&str] = &[
    "name", "url", "version", "protocolVersion", "protocol_version", "protocolBinding", "tenant",
    "supportedInterfaces", "additionalInterfaces", "preferredTransport", "transport", "skills",
    "id", "tags", "security", "securityRequirements", "securitySchemes", "schemes", "list", "k",
    "apiKeySecurityScheme", "oauth2SecurityScheme", "flows", "implicit", "type", "in",
    "location", "scheme", "capabilities", "extensions", "uri", "params", "authentication",
    "signatures", "protected", "signature", "defaultInputModes", "provider", "organization",
    "iconUrl",
];

/// Generates valid and invalid values for card members.
fn arbitrary_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(CARD_STRINGS).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 8, move |inner| {
        let members =
            prop::collection::vec((prop::sample::select(MEMBER_NAMES), inner.clone()), 0..8);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|it| it.into_iter().map(|(name, it)| (name.to_owned(), it)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_cards_never_panic_and_round_trip(more in arbitrary_value()) {
        let mut card = v0_3_card(json!({}));
        for (name, value) in more.as_object().into_iter().flatten() {
            card[name] = value.clone();
        }
        for value in [&more, &card] {
            for problem in validate(value) {
                prop_assert!(RULES.iter().any(|it| it.id == problem.id), "{}", problem);
            }
            prop_assert!(verify(value, &KeySet::default(), &VerifyPolicy::default()).is_err());
            let Ok(read) = AgentCard::from_json(value) else { continue };
            for format in [CardFormat::V1_0, CardFormat::Superset(TransitionHistory::Recorded)] {
                let reread = AgentCard::from_json(&read.to_json(format));
                prop_assert_eq!(reread.as_ref(), Ok(&read), "{:?}", format);
            }
            for format in [CardFormat::V0_3(TransitionHistory::Recorded), CardFormat::V0_1(TransitionHistory::Recorded)] {
                let reread = AgentCard::from_json(&read.to_json(format));
                prop_assert_eq!(reread.map(|it| it.name), Ok(read.name.clone()), "{:?}", format);
            }
        }
    }
}
