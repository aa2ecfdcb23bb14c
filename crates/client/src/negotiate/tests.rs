//! Tests of the selected interface and its reasons.

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
fn caller_preferences_override_card_order() {
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
        let selected = negotiate(&card, &preferences).unwrap();
        assert_eq!((selected.binding, selected.version), want, "{preferences:?}");
        assert_eq!(selected.tenant.as_deref(), Some("acme"));
        assert_eq!(selected.rejected.len(), 3, "{preferences:?}");
    }
}

#[test]
fn every_rejected_interface_has_a_reason() {
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
    let NoInterface(rejected) = negotiate(&card, &preferences).unwrap_err();
    let reasons: Vec<_> = rejected.iter().map(|it| it.reason.clone()).collect();
    assert_eq!(
        reasons,
        [
            RejectReason::UnknownVersion,
            RejectReason::UnknownBinding,
            RejectReason::UnsupportedCombination,
            RejectReason::InvalidUrl,
            RejectReason::UnwantedVersion,
            RejectReason::UnwantedBinding,
        ]
    );
    let error = NoInterface(rejected).to_string();
    assert!(error.contains("JSONRPC 2.0: its version is unknown; "), "{error}");
}

#[test]
fn forbidden_url_is_rejected_and_reported() {
    let card = card(&[("JSONRPC", "1.0", "http://10.0.0.7/x?secret"), ("JSONRPC", "1.0", URL)]);
    let forbidden = RejectReason::Forbidden(latimer_outbound::Forbidden::Address);
    let candidates = || Candidates::new(card.supported_interfaces.clone(), &Preferences::default());
    let mut one = candidates();
    assert_eq!(one.best().unwrap().origin(), "http://10.0.0.7:80");
    one.reject_best(forbidden.clone());
    let selected = one.select().unwrap();
    assert_eq!(selected.url, URL);
    assert_eq!(selected.rejected[0].reason, forbidden);
    let mut all = candidates();
    all.reject_best(forbidden.clone());
    all.reject_best(forbidden);
    let error = all.select().unwrap_err().to_string();
    assert!(error.contains("http://10.0.0.7:80 points to an address that is not"), "{error}");
    assert!(error.contains("call_url = true") && !error.contains("secret"), "{error}");
}
