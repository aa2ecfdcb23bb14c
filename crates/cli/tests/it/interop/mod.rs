//! The official SDKs in other languages: as clients of `latimer demo-server`, as servers that
//! `latimer-client` calls, and as both, with a gateway between them; over every binding that each of
//! them has. The page that comes of it is `docs/interop.md`.
//!
//! What clients ask, and what must come back, stands in `tests/interop`: one program for each SDK, which
//! prints a line for each operation of `operations.json`. The servers are those of `tests/peers`, and
//! what is asked of them is in `server/`; `through.rs` puts gateways before them. `scripts/setup-peers` installs the SDKs.

mod client;
mod page;
mod sdk;
mod server;
mod via_gateway;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use client::SdkClient;
use page::{Column, PageSection};

use crate::program::TestDir;

/// Clients that run at the same time; most of their time is waiting.
const MAX_CONCURRENT_CLIENTS: usize = 3;

/// The configuration of an agent that reads nothing but text, and has no webhooks.
const MINIMAL_AGENT_CONFIG: &str = r#"
[[agents]]
name = "little"
kind = "echo"
input_modes = ["text/plain"]

[store]
kind = "memory"

[push]
enabled = false
"#;

const CLIENTS_INTRO: &str = "\
What the SDKs, as clients, ask of `latimer demo-server`, and over which bindings they get the right
answer. Each letter is a check of [tests/interop](../tests/interop) with real processes, and so is each
refusal: the SDK must raise the right error.
";

const SERVERS_INTRO: &str = "\
What `latimer-client` asks of an agent on the SDKs, found by its card, and over which bindings it gets the
right answer. The servers are those of [tests/peers](../tests/peers), real processes behind a relay that
cuts connections; a refusal must come to the right error of ours. What a server cannot do is asked for
all the same, and the check fails once it can.
";

const GATEWAYS_INTRO: &str = "\
What the SDKs, as clients, get through a gateway: `latimer serve` with an agent of `kind = \"a2a\"`, before
`latimer demo-server` and before the SDKs as servers, of other versions than the client's. The checks are
those of [SDKs as clients](#sdks-as-clients), and the servers of [tests/peers](../tests/peers) know the same
words. Letters are the bindings of the client; those in brackets are spoken with the agent behind, in the
same order.
";

const SERVERS_VIA_GATEWAY_INTRO: &str = "\
What `latimer-client` gets from the same servers as [above](#sdks-as-servers) through a gateway, which it
calls in another version than theirs. Connections are cut between the gateway and the server. Letters in
brackets are spoken with the server.
";

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn official_sdk_clients_pass_against_demo_server() {
    let dir = TestDir::new().with_file("latimer.toml", MINIMAL_AGENT_CONFIG);
    let demo = dir.serve(&["demo-server", "--listen", "127.0.0.1:0"]);
    let minimal = dir.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let base_urls = [&demo, &minimal].map(|it| format!("http://{}", it.address()));
    let section = PageSection {
        title: "SDKs as clients",
        intro: CLIENTS_INTRO,
        note_prefix: 'c',
        operations: client::operations().collect(),
        columns: run_concurrently(SdkClient::all(), |client| {
            let outcomes = client.run(&base_urls);
            Column { name: client.name, binding: client.binding, outcomes }
        }),
    };
    println!("{section}");
    section.assert_passed_and_publish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
async fn client_passes_against_official_sdk_servers() {
    let section = PageSection {
        title: "SDKs as servers",
        intro: SERVERS_INTRO,
        note_prefix: 's',
        operations: server::operations(),
        columns: server::run().await,
    };
    println!("{section}");
    section.assert_passed_and_publish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
async fn official_sdks_interoperate_through_a_gateway() {
    let section = PageSection {
        title: "SDKs through a gateway",
        intro: GATEWAYS_INTRO,
        note_prefix: 'g',
        operations: client::operations().collect(),
        columns: via_gateway::run().await,
    };
    println!("{section}");
    section.assert_passed_and_publish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
async fn client_passes_against_sdk_servers_through_a_gateway() {
    let section = PageSection {
        title: "SDKs as servers, through a gateway",
        intro: SERVERS_VIA_GATEWAY_INTRO,
        note_prefix: 't',
        operations: server::operations(),
        columns: server::run_via_gateway().await,
    };
    println!("{section}");
    section.assert_passed_and_publish();
}

/// Runs clients, a few at a time, and returns what became of each, in their order.
fn run_concurrently<T: Send>(clients: Vec<T>, run: impl Fn(T) -> Column + Sync) -> Vec<Column> {
    let pending = Mutex::new(clients.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..MAX_CONCURRENT_CLIENTS {
            scope.spawn(|| {
                loop {
                    let next = pending.lock().expect("no client panics").next();
                    let Some((index, client)) = next else { return };
                    let column = run(client);
                    done.lock().expect("no client panics").push((index, column));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no client panics");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, column)| column).collect()
}

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
