//! Tests of the gateway with upstream agents and clients of every version and binding.

mod blocking_send;
mod cancel;
mod equivalence;
mod faults;
mod hop_loops;
mod matrix;
mod push;
mod redaction;
mod refresh;
mod start;
pub(crate) mod stub;

use std::net::SocketAddr;
use std::time::Duration;

use latimer_client::outbound::Rules;
use latimer_client::{Client, ClientBuilder, PollPolicy, RetryPolicy};
use latimer_protocol::card::{AgentCapabilities, AgentCard, AgentInterface, ProtocolBinding};
use latimer_protocol::{Task, TaskId, Version};
use latimer_runtime::{DemoAgent, RemoteAgent};
use latimer_server::{Agent, RunningServer, Server};

/// Timeout of every wait. Long enough for a busy machine.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A binding and a version.
pub(crate) type BindingVersion = (ProtocolBinding, Version);

/// All pairs that exist. HTTP+JSON of version 0.1 is the legacy REST API.
pub(crate) const BINDING_VERSIONS: [BindingVersion; 8] = [
    (ProtocolBinding::JsonRpc, Version::V1_0),
    (ProtocolBinding::JsonRpc, Version::V0_3),
    (ProtocolBinding::JsonRpc, Version::V0_1),
    (ProtocolBinding::HttpJson, Version::V1_0),
    (ProtocolBinding::HttpJson, Version::V0_3),
    (ProtocolBinding::HttpJson, Version::V0_1),
    (ProtocolBinding::Grpc, Version::V1_0),
    (ProtocolBinding::Grpc, Version::V0_3),
];

/// Returns whether a pair supports streaming; the legacy REST API does not.
pub(crate) fn supports_streaming(pair: &BindingVersion) -> bool {
    *pair != (ProtocolBinding::HttpJson, Version::V0_1)
}

pub(crate) async fn start_server(server: Server) -> RunningServer {
    server.bind("127.0.0.1:0").listen().await.expect("the server runs")
}

pub(crate) async fn start_demo() -> RunningServer {
    start_server(Server::new(DemoAgent::new_agent("demo"))).await
}

/// Creates the card of an agent with a single interface.
pub(crate) fn card_for(address: SocketAddr, (binding, version): &BindingVersion) -> AgentCard {
    let url = match binding {
        ProtocolBinding::Grpc => address.to_string(),
        _ => format!("http://{address}/a2a"),
    };
    AgentCard {
        name: "upstream".into(),
        version: "1".into(),
        supported_interfaces: vec![
            AgentInterface::new(url, binding.clone()).with_version(*version),
        ],
        capabilities: AgentCapabilities {
            streaming: Some(supports_streaming(&(binding.clone(), *version))),
            ..AgentCapabilities::default()
        },
        default_input_modes: vec!["*/*".into()],
        default_output_modes: vec!["*/*".into()],
        ..AgentCard::default()
    }
}

/// Creates a gateway for an agent with a single interface.
pub(crate) fn remote_agent(address: SocketAddr, pair: &BindingVersion) -> RemoteAgent {
    RemoteAgent::new(card_for(address, pair)).configure_client(short_timeouts)
}

/// Configures a client with short intervals that may call loopback addresses.
pub(crate) fn short_timeouts(
    client: ClientBuilder,
) -> Result<ClientBuilder, latimer_client::Error> {
    let interval = Duration::from_millis(20);
    Ok(client
        .guard_rules(Rules { allow_loopback: true, ..Rules::default() })
        .retry(RetryPolicy {
            initial_backoff: interval,
            max_backoff: interval,
            ..RetryPolicy::default()
        })
        .polling(PollPolicy { interval, max_polls: 500 }))
}

async fn start_gateway(remote: RemoteAgent) -> RunningServer {
    start_server(Server::new(remote.into_agent("proxy"))).await
}

async fn start_gateway_with(agents: impl IntoIterator<Item = Agent>) -> RunningServer {
    start_server(agents.into_iter().fold(Server::empty(), Server::with_agent)).await
}

/// Creates a client for a single interface, which does not fetch the card.
pub(crate) fn client_for(address: SocketAddr, (binding, version): &BindingVersion) -> Client {
    let url = format!("http://{address}/a2a");
    let client = Client::builder(url).bindings([binding.clone()]).versions([*version]);
    client.build().unwrap()
}

/// Polls a task until the condition holds.
pub(crate) async fn wait_until(client: &Client, id: &TaskId, want: impl Fn(&Task) -> bool) -> Task {
    let since = std::time::Instant::now();
    loop {
        let task = client.get_task(id.clone()).await.expect("the task exists");
        if want(&task) {
            return (*task).clone();
        }
        assert!(since.elapsed() < TEST_TIMEOUT, "{task:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn gateway_records_messages_before_it_forwards_them() {
    let agent = RemoteAgent::new("http://127.0.0.1:1").into_agent("gateway");
    let policy = agent.policy();
    assert!(policy.direct_replies && policy.record == latimer_server::Record::BeforeStart);
}
