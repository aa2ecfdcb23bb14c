//! What real peers sent is read, and what is read is written as they wrote it.
//!
//! Every difference is listed in [`difference`] with its reason; one that is not listed fails, and
//! so does a listed one that no fixture shows any more.

mod difference;
mod exchange;
mod fixture;
mod grpc;
mod other;

use difference::Findings;

#[test]
fn what_real_peers_sent_survives_a_round_trip() {
    let mut findings = Findings::default();
    for fixture in fixture::all() {
        match fixture.binding.as_str() {
            "jsonrpc" => exchange::jsonrpc(&fixture, &mut findings),
            "rest" => exchange::rest(&fixture, &mut findings),
            "grpc" => grpc::check(&fixture, &mut findings),
            "card" => other::card(&fixture, &mut findings),
            "push" => other::push(&fixture, &mut findings),
            other => panic!("{}: {other} is no binding", fixture.name),
        }
    }
    findings.report();
}
