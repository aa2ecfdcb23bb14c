//! The gateway: agents elsewhere, through servers and clients of every version and binding.

mod answer;
mod cancel;
mod circle;
mod faults;
mod hidden;
mod matrix;
mod push;
mod same;
mod start;
pub(crate) mod stub;

use std::net::SocketAddr;
use std::time::Duration;

use latimer_client::outbound::Rules;
use latimer_client::{Client, ClientBuilder, PollPolicy, RetryPolicy};
use latimer_protocol::card::{AgentCapabilities, AgentCard, AgentInterface, ProtocolBinding};
use latimer_protocol::{Task, TaskId, Version};
use latimer_runtime::{Demo, Remote};
use latimer_server::{Agent, RunningServer, Server};

/// Longer than anything here takes, on a busy machine too.
pub(crate) const PATIENT: Duration = Duration::from_secs(30);

/// A binding, and a version that is spoken over it.
pub(crate) type Pair = (ProtocolBinding, Version);

/// Every binding in every version that has it.
pub(crate) const PAIRS: [Pair; 8] = [
    (ProtocolBinding::JsonRpc, Version::V1_0),
    (ProtocolBinding::JsonRpc, Version::V0_3),
    (ProtocolBinding::JsonRpc, Version::V0_1),
    (ProtocolBinding::HttpJson, Version::V1_0),
    (ProtocolBinding::HttpJson, Version::V0_3),
    (ProtocolBinding::HttpJson, Version::V0_1),
    (ProtocolBinding::Grpc, Version::V1_0),
    (ProtocolBinding::Grpc, Version::V0_3),
];

/// Whether a pair can stream: the oldest HTTP cannot.
pub(crate) fn streams(pair: &Pair) -> bool {
    *pair != (ProtocolBinding::HttpJson, Version::V0_1)
}

pub(crate) async fn listen(server: Server) -> RunningServer {
    server.bind("127.0.0.1:0").listen().await.expect("the server runs")
}

pub(crate) async fn demo() -> RunningServer {
    listen(Server::new(Demo::agent("demo"))).await
}

/// The card of an agent at an address, which is called in one way only.
pub(crate) fn card(address: SocketAddr, (binding, version): &Pair) -> AgentCard {
    let url = match binding {
        ProtocolBinding::Grpc => address.to_string(),
        _ => format!("http://{address}/a2a"),
    };
    AgentCard {
        name: "behind".into(),
        version: "1".into(),
        supported_interfaces: vec![
            AgentInterface::new(url, binding.clone()).with_version(*version),
        ],
        capabilities: AgentCapabilities {
            streaming: Some(streams(&(binding.clone(), *version))),
            ..AgentCapabilities::default()
        },
        default_input_modes: vec!["*/*".into()],
        default_output_modes: vec!["*/*".into()],
        ..AgentCard::default()
    }
}

/// The agent at an address as a gateway publishes it, which calls it in one way only.
pub(crate) fn remote(address: SocketAddr, pair: &Pair) -> Remote {
    Remote::new(card(address, pair)).client(hasty)
}

/// A client that does not wait for long, and may call this machine.
pub(crate) fn hasty(client: ClientBuilder) -> Result<ClientBuilder, latimer_client::Error> {
    let pause = Duration::from_millis(20);
    Ok(client
        .guard_rules(Rules { allow_loopback: true, ..Rules::default() })
        .retry(RetryPolicy { initial_backoff: pause, max_backoff: pause, ..RetryPolicy::default() })
        .polling(PollPolicy { interval: pause, max_polls: 500 }))
}

async fn gateway(remote: Remote) -> RunningServer {
    listen(Server::new(remote.agent("proxy"))).await
}

async fn gateway_of(agents: impl IntoIterator<Item = Agent>) -> RunningServer {
    listen(agents.into_iter().fold(Server::empty(), Server::with_agent)).await
}

/// A client of the agent at an address, which calls it in one way only and asks for no card.
pub(crate) fn caller(address: SocketAddr, (binding, version): &Pair) -> Client {
    let url = format!("http://{address}/a2a");
    let client = Client::builder(url).bindings([binding.clone()]).versions([*version]);
    client.build().unwrap()
}

/// Waits until a task is as a test wants it.
pub(crate) async fn until(client: &Client, id: &TaskId, want: impl Fn(&Task) -> bool) -> Task {
    let since = std::time::Instant::now();
    loop {
        let task = client.get_task(id.clone()).await.expect("a task");
        if want(&task) {
            return (*task).clone();
        }
        assert!(since.elapsed() < PATIENT, "{task:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
