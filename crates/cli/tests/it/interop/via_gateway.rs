//! SDK clients that call gateways. Upstream are the demo server, and SDK servers with its
//! instructions.

use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use latimer_protocol::Version;
use tokio::task::block_in_place;

use super::client::{self, Sdk, SdkClient};
use super::page::Column;
use super::run_concurrently;
use super::sdk::{Binding, UnsupportedRule, unsupported_reason};
use super::server::process::Process;
use super::server::unsupported::DROPS_FILE_NAMES;
use super::server::{self, SdkServer};
use crate::program::{ServerProcess, TestDir};

/// Time allowed for discovery of the upstream agent, sufficient on a slow machine.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(30);

/// Clients, and upstream servers of the other version in the same or another language.
const PAIRS: [(Sdk, SdkServer); 5] = [
    (client::PYTHON, server::PYTHON_0_3),
    (client::PYTHON_0_3, server::JS),
    (client::JS, server::JS_0_3),
    (client::JS_0_3, server::PYTHON),
    (client::PYTHON_0_2, server::JS),
];

/// Operations that a gateway does not support, by upstream agent and upstream binding.
const UNSUPPORTED: &[UnsupportedRule] = &[
    (&[""], "JHG", &["extended_card"], "a gateway publishes only the public card"),
    (&["JS 0.3"], "HG", &["file_bytes"], DROPS_FILE_NAMES),
    (&["JS 0.3"], "G", &["data"], "the server cannot encode null over this binding"),
];

/// Runs every client against its gateways.
pub(super) async fn run() -> Vec<Column> {
    let dir = TestDir::new();
    let demo = dir.serve(&["demo-server", "--listen", "127.0.0.1:0"]);
    let servers = PAIRS.map(|(_, server)| server.with_demo_instructions());
    let processes = join_all(servers.iter().map(Process::start)).await;
    let to_demo =
        PAIRS.map(|(sdk, server)| (sdk, Upstream::for_demo(&demo.address(), server.version)));
    let to_sdks = PAIRS.iter().zip(&processes);
    let to_sdks =
        to_sdks.map(|((sdk, server), process)| (*sdk, Upstream::for_sdk(server, process)));
    let pairs: Vec<_> = to_demo.into_iter().chain(to_sdks).collect();
    let routes = pairs.iter().enumerate();
    let routes = routes
        .flat_map(|(offset, (sdk, upstream))| GatewayRoute::all(*sdk, upstream, offset))
        .collect();
    block_in_place(|| run_concurrently(routes, GatewayRoute::run))
}

/// An upstream agent.
pub(super) struct Upstream {
    pub(super) name: String,
    pub(super) version: Version,
    pub(super) http: String,
    pub(super) grpc: String,
}

impl Upstream {
    fn for_demo(address: &str, version: Version) -> Self {
        let name = format!("Latimer as {version}");
        Self { name, version, http: address.to_owned(), grpc: address.to_owned() }
    }

    fn for_sdk(server: &SdkServer, process: &Process) -> Self {
        let [http, grpc] = ["http", "grpc"].map(|it| process.proxy(it).address().to_string());
        Self { name: server.name(), version: server.version, http, grpc }
    }

    /// Starts a gateway that calls this agent over one binding, with additional keys of the agent
    /// and additional sections.
    pub(super) fn start_gateway(
        &self,
        binding: Binding,
        agent: &str,
        server: &str,
    ) -> (TestDir, ServerProcess) {
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
        let dir = TestDir::new().with_file("latimer.toml", &config);
        let gateway = dir.serve_logging_to("log", &["serve", "--listen", "127.0.0.1:0"]);
        let started = Instant::now();
        while !gateway.fetch("/metrics").contains(r#"latimer_upstream_up{agent="between"} 1"#) {
            assert!(started.elapsed() < DISCOVERY_TIMEOUT, "{} was not discovered", self.name);
            thread::sleep(Duration::from_millis(20));
        }
        (dir, gateway)
    }
}

/// A client and the upstream agent that it calls through gateways over `binding`.
struct GatewayRoute<'a> {
    name: String,
    client: SdkClient,
    upstream: &'a Upstream,
    binding: Binding,
}

impl<'a> GatewayRoute<'a> {
    /// Pairs every binding of a client with an upstream binding, starting at `offset`.
    fn all(sdk: Sdk, upstream: &'a Upstream, offset: usize) -> Vec<Self> {
        let bindings = Binding::ALL.iter().cycle().skip(offset).copied();
        let pairs: Vec<_> = SdkClient::for_sdk(sdk).zip(bindings).collect();
        let binding_letters: String = pairs.iter().map(|(_, binding)| binding.letter()).collect();
        let route = |(client, binding): (SdkClient, _)| {
            let name = format!("{} → {} ({binding_letters})", client.name, upstream.name);
            Self { name, client, upstream, binding }
        };
        pairs.into_iter().map(route).collect()
    }

    fn run(self) -> Column {
        let Self { name, client, upstream, binding } = self;
        let (_dir, full) = upstream.start_gateway(binding, "", "");
        let (_other, minimal) = upstream.start_gateway(
            binding,
            "input_modes = [\"text/plain\"]\nenforce_modes = true",
            "[push]\nenabled = false",
        );
        let base_urls = [&full, &minimal].map(|it| format!("http://{}", it.address()));
        let outcomes = client.run(&base_urls);
        let operations = client::operations();
        let outcomes = outcomes.into_iter().zip(operations).map(|(outcome, (_, operation, _))| {
            outcome.expect_unsupported(unsupported_reason(
                UNSUPPORTED,
                &upstream.name,
                binding,
                &operation,
            ))
        });
        Column { name, binding: client.binding, outcomes: outcomes.collect() }
    }
}
