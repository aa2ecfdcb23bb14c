//! Clients on the official SDKs, gateways, and what is behind these: the demo server, and the same words
//! on the official SDKs.

use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use latimer_protocol::Version;
use tokio::task::block_in_place;

use super::at_once;
use super::client::{self, Client, Sdk};
use super::page::Column;
use super::sdk::{Binding, Cannot, why};
use super::server::cannot::NAMES;
use super::server::process::Process;
use super::server::{self, Server};
use crate::program::{Place, Serving};

/// Long enough for a slow machine: what is not found by then is not found.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who calls whom: clients of each SDK, and servers of the other version, in the other language or not.
const PAIRS: [(Sdk, Server); 5] = [
    (client::PYTHON, server::PYTHON_0_3),
    (client::PYTHON_0_3, server::JS),
    (client::JS, server::JS_0_3),
    (client::JS_0_3, server::PYTHON),
    (client::PYTHON_0_2, server::JS),
];

/// What cannot be had through a gateway, by what is behind it, and over which binding there.
const CANNOT: &[Cannot] = &[
    (&[""], "JHG", &["extended_card"], "a gateway publishes the public card only"),
    (&["JS 0.3"], "HG", &["file_bytes"], NAMES),
    (&["JS 0.3"], "G", &["data"], "the server cannot write null over this binding"),
];

/// Sends every client through its gateways.
pub(super) async fn run() -> Vec<Column> {
    let place = Place::new();
    let demo = place.serve(&["demo-server", "--listen", "127.0.0.1:0"]);
    let servers = PAIRS.map(|(_, server)| server.demonstrating());
    let processes = join_all(servers.iter().map(Process::start)).await;
    let to_demo = PAIRS.map(|(sdk, server)| (sdk, Behind::demo(&demo.address(), server.version)));
    let to_sdks = PAIRS.iter().zip(&processes);
    let to_sdks = to_sdks.map(|((sdk, server), process)| (*sdk, Behind::sdk(server, process)));
    let pairs: Vec<_> = to_demo.into_iter().chain(to_sdks).collect();
    let ways = pairs.iter().enumerate();
    let ways = ways.flat_map(|(turn, (sdk, behind))| Way::all(*sdk, behind, turn)).collect();
    block_in_place(|| at_once(ways, Way::run))
}

/// An agent that gateways call.
pub(super) struct Behind {
    pub(super) name: String,
    pub(super) version: Version,
    pub(super) http: String,
    pub(super) grpc: String,
}

impl Behind {
    fn demo(address: &str, version: Version) -> Self {
        let name = format!("Latimer as {version}");
        Self { name, version, http: address.to_owned(), grpc: address.to_owned() }
    }

    fn sdk(server: &Server, process: &Process) -> Self {
        let [http, grpc] = ["http", "grpc"].map(|it| process.relay(it).address().to_string());
        Self { name: server.name(), version: server.version, http, grpc }
    }

    /// A gateway before it, which speaks one binding with it, and has something more to say.
    pub(super) fn gateway(&self, binding: Binding, agent: &str, server: &str) -> (Place, Serving) {
        let Self { version, http, .. } = self;
        let (url, binding) = match binding {
            Binding::JsonRpc => (http, "jsonrpc"),
            Binding::Rest => (http, "http_json"),
            Binding::Grpc => (&self.grpc, "grpc"),
        };
        let config = format!(
            r#"
            [[agents]]
            name = "between"
            kind = "a2a"
            url = "http://{url}"
            card_url = "http://{http}/.well-known/agent-card.json"
            protocol_version = "{version}"
            binding = "{binding}"
            {agent}
            [store]
            kind = "memory"
            {server}
            "#
        );
        let place = Place::new().file("latimer.toml", &config);
        let gateway = place.serve_logging_to("log", &["serve", "--listen", "127.0.0.1:0"]);
        let since = Instant::now();
        while !gateway.fetch("/metrics").contains(r#"latimer_upstream_up{agent="between"} 1"#) {
            assert!(since.elapsed() < PATIENCE, "{} is not found", self.name);
            thread::sleep(Duration::from_millis(20));
        }
        (place, gateway)
    }
}

/// A client, and what it reaches through gateways that speak a certain binding.
struct Way<'a> {
    name: String,
    client: Client,
    behind: &'a Behind,
    binding: Binding,
}

impl<'a> Way<'a> {
    /// Every binding of a client, each with another one behind its gateway, from a certain one on.
    fn all(sdk: Sdk, behind: &'a Behind, first: usize) -> Vec<Self> {
        let bindings = Binding::ALL.iter().cycle().skip(first).copied();
        let pairs: Vec<_> = Client::of(sdk).zip(bindings).collect();
        let spoken: String = pairs.iter().map(|(_, binding)| binding.letter()).collect();
        let way = |(client, binding): (Client, _)| {
            let name = format!("{} → {} ({spoken})", client.name, behind.name);
            Self { name, client, behind, binding }
        };
        pairs.into_iter().map(way).collect()
    }

    fn run(self) -> Column {
        let Self { name, client, behind, binding } = self;
        let (_place, all) = behind.gateway(binding, "", "");
        let (_other, little) =
            behind.gateway(binding, r#"input_modes = ["text/plain"]"#, "[push]\nenabled = false");
        let bases = [&all, &little].map(|it| format!("http://{}", it.address()));
        let fates = client.run(&bases);
        let operations = client::operations();
        let fates = fates.into_iter().zip(operations).map(|(fate, (_, operation, _))| {
            fate.unless(why(CANNOT, &behind.name, binding, &operation))
        });
        Column { name, binding: client.binding, fates: fates.collect() }
    }
}
