//! Which interface it is, and why.

use super::*;

fn card(interfaces: &[(&str, &str, &str)]) -> AgentCard {
    let interface = |(binding, version, url): &(&str, &str, &str)| AgentInterface {
        url: (*url).into(),
        protocol_binding: (*binding).into(),
        tenant: Some("acme".into()),
        protocol_version: (*version).into(),
    };
    AgentCard {
        supported_interfaces: interfaces.iter().map(interface).collect(),
        ..AgentCard::default()
    }
}

const URL: &str = "https://a.example/x";

#[test]
fn the_cards_order_decides_unless_the_caller_has_one() {
    use ProtocolBinding::{Grpc, HttpJson, JsonRpc};
    let card = card(&[
        ("GRPC", "0.3.0", "a.example:443"),
        ("JSONRPC", "0.3.0", URL),
        ("JSONRPC", "1.0", URL),
        ("HTTP+JSON", "1.0", URL),
    ]);
    let all = Version::ALL.to_vec();
    for (bindings, versions, want) in [
        (vec![], all.clone(), (Grpc, Version::V0_3)),
        (vec![], vec![Version::V1_0], (JsonRpc, Version::V1_0)),
        (vec![HttpJson, JsonRpc], all.clone(), (HttpJson, Version::V1_0)),
        (vec![JsonRpc], all, (JsonRpc, Version::V1_0)),
        (vec![JsonRpc], vec![Version::V0_3, Version::V1_0], (JsonRpc, Version::V0_3)),
    ] {
        let preferences = Preferences { bindings, versions };
        let choice = negotiate(&card, &preferences).unwrap();
        assert_eq!((choice.binding, choice.version), want, "{preferences:?}");
        assert_eq!(choice.tenant.as_deref(), Some("acme"));
        assert_eq!(choice.passed_over.len(), 3, "{preferences:?}");
    }
}

#[test]
fn each_interface_that_is_not_called_has_its_reason() {
    let card = card(&[
        ("JSONRPC", "2.0", URL),
        ("urn:pigeon", "1.0", URL),
        ("GRPC", "0.1", "a.example:443"),
        ("JSONRPC", "1.0", "/a2a"),
        ("JSONRPC", "0.3", URL),
        ("HTTP+JSON", "1.0", URL),
    ]);
    let preferences = Preferences {
        bindings: vec![ProtocolBinding::JsonRpc, ProtocolBinding::Grpc],
        versions: vec![Version::V1_0, Version::V0_1],
    };
    let NoInterface(passed_over) = negotiate(&card, &preferences).unwrap_err();
    let whys: Vec<_> = passed_over.iter().map(|it| it.why.clone()).collect();
    assert_eq!(
        whys,
        [
            Why::UnknownVersion,
            Why::UnknownBinding,
            Why::NoSuchPair,
            Why::BadAddress,
            Why::UnwantedVersion,
            Why::UnwantedBinding,
        ]
    );
    let error = NoInterface(passed_over).to_string();
    assert!(error.contains("JSONRPC 2.0: its version is not known here; "), "{error}");
}

#[test]
fn an_address_that_may_not_be_called_is_passed_over_and_said() {
    let card = card(&[("JSONRPC", "1.0", "http://10.0.0.7/x?secret"), ("JSONRPC", "1.0", URL)]);
    let forbidden = Why::Forbidden(latimer_outbound::Forbidden::Address);
    let candidates = || Candidates::of(card.supported_interfaces.clone(), &Preferences::default());
    let mut one = candidates();
    assert_eq!(one.best().unwrap().origin(), "http://10.0.0.7:80");
    one.pass_over(forbidden.clone());
    let choice = one.choose().unwrap();
    assert_eq!(choice.url, URL);
    assert_eq!(choice.passed_over[0].why, forbidden);
    let mut all = candidates();
    all.pass_over(forbidden.clone());
    all.pass_over(forbidden);
    let error = all.choose().unwrap_err().to_string();
    assert!(error.contains("http://10.0.0.7:80 leads to an address that is not"), "{error}");
    assert!(error.contains("call_url = true") && !error.contains("secret"), "{error}");
}
