//! Servers to call, real and otherwise.

mod cutter;
mod stub;

pub(crate) use cutter::Cutter;
pub(crate) use stub::{Answer, Stub};

use std::net::SocketAddr;

use latimer_client::outbound::{Guard, HttpClient as Http, Protocol, Rules};
use latimer_client::transport::{Endpoint, Grpc, HttpJson, JsonRpc, Limits, Transport, Wire};
use latimer_protocol::Version;
use latimer_protocol::card::ProtocolBinding;
use latimer_runtime::Demo;
use latimer_server::{RunningServer, Server};

/// A server with the agent that does what it is told.
pub(crate) async fn demo() -> RunningServer {
    let agent = Demo::agent("demo").with_extended_card(Demo::extended_card("demo"));
    listen(Server::new(agent)).await
}

/// Runs a server at any free port.
pub(crate) async fn listen(server: Server) -> RunningServer {
    server.bind("127.0.0.1:0").listen().await.expect("the server runs")
}

/// This machine may be called.
pub(crate) fn loopback() -> Rules {
    Rules { allow_loopback: true, ..Rules::default() }
}

/// A wire of HTTP/1.1 or HTTP/2 to this machine.
pub(crate) fn wire(protocol: Protocol) -> Wire {
    let client = Http::builder(Guard::new(loopback())).protocol(protocol).build().unwrap();
    Wire::new(client)
}

/// A transport to the agent at an address, within limits.
pub(crate) fn transport_within(
    address: SocketAddr,
    (binding, version): (ProtocolBinding, Version),
    limits: Limits,
) -> Box<dyn Transport> {
    let url = format!("http://{address}/a2a");
    let endpoint = Endpoint::new(&url, version).unwrap();
    match binding {
        ProtocolBinding::JsonRpc => {
            Box::new(JsonRpc::new(endpoint, wire(Protocol::Negotiated).limits(limits)))
        }
        ProtocolBinding::HttpJson => {
            Box::new(HttpJson::new(endpoint, wire(Protocol::Negotiated).limits(limits)))
        }
        ProtocolBinding::Grpc => {
            let endpoint = Endpoint::grpc(&address.to_string(), version).unwrap();
            Box::new(Grpc::new(endpoint, wire(Protocol::Http2).limits(limits)).unwrap())
        }
        ProtocolBinding::Other(name) => panic!("{name}"),
    }
}

/// A transport to the agent at an address.
pub(crate) fn transport(
    address: SocketAddr,
    pair: (ProtocolBinding, Version),
) -> Box<dyn Transport> {
    transport_within(address, pair, Limits::default())
}

/// Every binding in every version that has it.
pub(crate) const PAIRS: [(ProtocolBinding, Version); 8] = [
    (ProtocolBinding::JsonRpc, Version::V1_0),
    (ProtocolBinding::JsonRpc, Version::V0_3),
    (ProtocolBinding::JsonRpc, Version::V0_1),
    (ProtocolBinding::HttpJson, Version::V1_0),
    (ProtocolBinding::HttpJson, Version::V0_3),
    (ProtocolBinding::HttpJson, Version::V0_1),
    (ProtocolBinding::Grpc, Version::V1_0),
    (ProtocolBinding::Grpc, Version::V0_3),
];
