//! Fixtures: servers, stubs and transports.

mod cutting_proxy;
mod stub;

pub(crate) use cutting_proxy::CuttingProxy;
pub(crate) use stub::{Stub, StubResponse};

use std::net::SocketAddr;

use latimer_client::outbound::{Guard, HttpClient as Http, Protocol, Rules};
use latimer_client::transport::{
    CallLimits, Endpoint, Grpc, HttpChannel, HttpJson, JsonRpc, Transport,
};
use latimer_protocol::Version;
use latimer_protocol::card::ProtocolBinding;
use latimer_runtime::DemoAgent;
use latimer_server::{RunningServer, Server};

/// Runs a server with the demo agent.
pub(crate) async fn demo() -> RunningServer {
    listen(Server::new(DemoAgent::new_agent("demo"))).await
}

/// Runs a server on a free port.
pub(crate) async fn listen(server: Server) -> RunningServer {
    server.bind("127.0.0.1:0").listen().await.expect("the server runs")
}

/// Rules that allow loopback addresses.
pub(crate) fn allow_loopback() -> Rules {
    Rules { allow_loopback: true, ..Rules::default() }
}

/// Creates a channel over HTTP/1.1 or HTTP/2 that allows loopback addresses.
pub(crate) fn http_channel(protocol: Protocol) -> HttpChannel {
    let client = Http::builder(Guard::new(allow_loopback())).protocol(protocol).build().unwrap();
    HttpChannel::new(client)
}

/// Creates a transport to a server with these limits.
pub(crate) fn transport_with_limits(
    address: SocketAddr,
    (binding, version): (ProtocolBinding, Version),
    limits: CallLimits,
) -> Box<dyn Transport> {
    let url = format!("http://{address}/a2a");
    let endpoint = Endpoint::new(&url, version).unwrap();
    match binding {
        ProtocolBinding::JsonRpc => {
            Box::new(JsonRpc::new(endpoint, http_channel(Protocol::Negotiated).limits(limits)))
        }
        ProtocolBinding::HttpJson => {
            Box::new(HttpJson::new(endpoint, http_channel(Protocol::Negotiated).limits(limits)))
        }
        ProtocolBinding::Grpc => {
            let endpoint = Endpoint::grpc(&address.to_string(), version).unwrap();
            Box::new(Grpc::new(endpoint, http_channel(Protocol::Http2).limits(limits)).unwrap())
        }
        ProtocolBinding::Other(name) => panic!("{name}"),
    }
}

/// Creates a transport to a server with default limits.
pub(crate) fn transport(
    address: SocketAddr,
    pair: (ProtocolBinding, Version),
) -> Box<dyn Transport> {
    transport_with_limits(address, pair, CallLimits::default())
}

/// Each binding in each version that has it.
pub(crate) const BINDING_VERSIONS: [(ProtocolBinding, Version); 8] = [
    (ProtocolBinding::JsonRpc, Version::V1_0),
    (ProtocolBinding::JsonRpc, Version::V0_3),
    (ProtocolBinding::JsonRpc, Version::V0_1),
    (ProtocolBinding::HttpJson, Version::V1_0),
    (ProtocolBinding::HttpJson, Version::V0_3),
    (ProtocolBinding::HttpJson, Version::V0_1),
    (ProtocolBinding::Grpc, Version::V1_0),
    (ProtocolBinding::Grpc, Version::V0_3),
];
