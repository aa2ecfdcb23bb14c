//! Malformed protobuf messages.

use std::collections::BTreeMap;

use latimer_pb::{v0_3, v1};
use latimer_protocol::Version;
use latimer_protocol::card::{AgentCard, AgentInterface, ProtocolBinding, SecurityScheme};
use prost_types::value::Kind;
use prost_types::{Struct, Value};

const URL: &str = "https://a.example";

/// Returns a minimal valid 1.0 card.
fn minimal_v1_0_card() -> v1::AgentCard {
    let interface = v1::AgentInterface { url: URL.into(), ..Default::default() };
    v1::AgentCard { name: "n".into(), supported_interfaces: vec![interface], ..Default::default() }
}

/// Returns a minimal valid 0.3 card.
fn minimal_v0_3_card() -> v0_3::AgentCard {
    v0_3::AgentCard { name: "n".into(), url: URL.into(), ..Default::default() }
}

/// Returns metadata with a number that JSON cannot represent.
fn not_a_number() -> Option<Struct> {
    let value = Value { kind: Some(Kind::NumberValue(f64::NAN)) };
    Some(Struct { fields: BTreeMap::from([("n".into(), value)]) })
}

#[test]
fn minimal_card_is_accepted() {
    let read = AgentCard::try_from(minimal_v1_0_card()).unwrap();
    let want = || AgentInterface::new(URL, ProtocolBinding::JsonRpc);
    assert_eq!(read.supported_interfaces, [want()]);
    assert!(read.default_input_modes.is_empty());
    let read = AgentCard::try_from(minimal_v0_3_card()).unwrap();
    assert_eq!(read.supported_interfaces, [want().with_version(Version::V0_3)]);
    assert_eq!(read.default_input_modes, ["text/plain"]);
}

#[test]
fn v1_0_card_without_required_field_is_rejected() {
    let without_url =
        vec![minimal_v1_0_card().supported_interfaces.remove(0), v1::AgentInterface::default()];
    for (card, want) in [
        (v1::AgentCard { name: String::new(), ..minimal_v1_0_card() }, "name: is required"),
        (
            v1::AgentCard { supported_interfaces: vec![], ..minimal_v1_0_card() },
            "supportedInterfaces: is required",
        ),
        (
            v1::AgentCard { supported_interfaces: without_url, ..minimal_v1_0_card() },
            "supportedInterfaces[1].url: is required",
        ),
    ] {
        let error = AgentCard::try_from(card).unwrap_err();
        assert_eq!(error.to_string(), want);
    }
}

#[test]
fn v0_3_card_without_required_field_is_rejected() {
    let without_url = vec![v0_3::AgentInterface { url: String::new(), transport: "GRPC".into() }];
    for (card, want) in [
        (v0_3::AgentCard { name: String::new(), ..minimal_v0_3_card() }, "name: is required"),
        (
            v0_3::AgentCard {
                url: String::new(),
                additional_interfaces: without_url,
                ..minimal_v0_3_card()
            },
            "url: is required",
        ),
    ] {
        let error = AgentCard::try_from(card).unwrap_err();
        assert_eq!(error.to_string(), want);
    }
}

#[test]
fn v0_3_interfaces_are_deduplicated_with_card_version() {
    let other = |url: &str, transport: &str| v0_3::AgentInterface {
        url: url.into(),
        transport: transport.into(),
    };
    let card = v0_3::AgentCard {
        protocol_version: "0.2.5".into(),
        preferred_transport: "http+json".into(),
        additional_interfaces: vec![
            other(URL, "HTTP+JSON"),
            other("", "GRPC"),
            other("h:443", "grpc"),
            other(URL, ""),
        ],
        ..minimal_v0_3_card()
    };
    let read = AgentCard::try_from(card).unwrap();
    let want = [
        (URL, ProtocolBinding::HttpJson),
        ("h:443", ProtocolBinding::Grpc),
        (URL, ProtocolBinding::JsonRpc),
    ]
    .map(|(url, binding)| AgentInterface {
        protocol_version: "0.2".into(),
        ..AgentInterface::new(url, binding)
    });
    assert_eq!(read.supported_interfaces, want);
}

/// Creates a card in which most optional members are invalid.
macro_rules! broken {
    ($pb:ident, $least:expr) => {{
        use $pb::security_scheme::Scheme;
        let scheme = |scheme| $pb::SecurityScheme { scheme };
        let http = |name: &str| {
            let http = $pb::HttpAuthSecurityScheme { scheme: name.into(), ..Default::default() };
            scheme(Some(Scheme::HttpAuthSecurityScheme(http)))
        };
        let oauth = |flows| {
            let oauth = $pb::OAuth2SecurityScheme { flows, ..Default::default() };
            scheme(Some(Scheme::Oauth2SecurityScheme(oauth)))
        };
        let schemes = [
            ("good", http("Bearer")),
            ("no kind", scheme(None)),
            ("no name", http("")),
            ("no flows", oauth(None)),
            ("no flow", oauth(Some($pb::OAuthFlows { flow: None }))),
        ];
        let extension =
            |params| $pb::AgentExtension { uri: "u".into(), params, ..Default::default() };
        let skill = |id: &str, name: &str| $pb::AgentSkill {
            id: id.into(),
            name: name.into(),
            input_modes: vec!["text".into()],
            ..Default::default()
        };
        let signature = |protected: &str, header| $pb::AgentCardSignature {
            protected: protected.into(),
            signature: "s".into(),
            header,
        };
        $pb::AgentCard {
            capabilities: Some($pb::AgentCapabilities {
                extensions: vec![extension(None), extension(not_a_number())],
                ..Default::default()
            }),
            security_schemes: schemes.map(|(name, it)| (name.to_owned(), it)).into(),
            skills: vec![skill("a", ""), skill("", ""), skill("", "b")],
            signatures: vec![
                signature("p", None),
                signature("", None),
                signature("p", not_a_number()),
            ],
            default_input_modes: vec!["text".into()],
            ..$least
        }
    }};
}

#[test]
fn malformed_optional_fields_are_dropped() {
    for (version, read) in [
        ("1.0", AgentCard::try_from(broken!(v1, minimal_v1_0_card()))),
        ("0.3", AgentCard::try_from(broken!(v0_3, minimal_v0_3_card()))),
    ] {
        let read = read.unwrap();
        let good = BTreeMap::from([("good".to_owned(), SecurityScheme::bearer())]);
        assert_eq!(read.security_schemes, good, "{version}");
        assert_eq!(read.capabilities.extensions.len(), 1, "{version}");
        assert_eq!(read.signatures.len(), 1, "{version}");
        let names: Vec<_> = read.skills.iter().map(|it| (&*it.id, &*it.name)).collect();
        assert_eq!(names, [("a", "a"), ("b", "b")], "{version}");
        assert_eq!(read.skills[0].input_modes, ["text/plain"], "{version}");
        assert_eq!(read.default_input_modes, ["text/plain"], "{version}");
    }
}
