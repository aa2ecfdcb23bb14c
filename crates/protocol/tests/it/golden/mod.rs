//! Replay of recorded exchanges: payloads of other implementations are decoded and encoded again.
//!
//! [`difference`] lists every accepted difference with its reason. An unlisted difference fails the
//! test, and so does a listed one that no fixture needs.

mod cards_and_webhooks;
mod difference;
mod exchange;
mod fixture;
mod grpc;

use difference::Findings;

#[test]
fn recorded_peer_exchanges_round_trip() {
    let mut findings = Findings::default();
    for fixture in fixture::load_all() {
        match fixture.binding.as_str() {
            "jsonrpc" => exchange::jsonrpc(&fixture, &mut findings),
            "rest" => exchange::rest(&fixture, &mut findings),
            "grpc" => grpc::check(&fixture, &mut findings),
            "card" => cards_and_webhooks::card(&fixture, &mut findings),
            "push" => cards_and_webhooks::push(&fixture, &mut findings),
            other => panic!("{}: unknown binding {other}", fixture.name),
        }
    }
    findings.assert_empty();
}
