//! Interoperability with the official SDKs in other languages, over every binding that each
//! supports: as clients of `latimer demo-server`, as servers that `latimer-client` calls, and as
//! both with a gateway in between. The tests write the results to `docs/interop.md`.
//!
//! `tests/interop` has one client program per SDK, which checks the operations of `operations.json`
//! and prints one line each. `tests/peers` has the servers; `server/` has the checks of them.
//! `via_gateway.rs` puts gateways in front of servers. `scripts/setup-peers` installs the SDKs.

mod client;
mod page;
mod sdk;
mod server;
mod silent;
mod via_gateway;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use client::SdkClient;
use page::{Column, PageSection};
use sdk::{UnsupportedRule, unsupported_reason};

use crate::program::TestDir;

/// Maximum number of concurrent clients, which mostly wait.
const MAX_CONCURRENT_CLIENTS: usize = 3;

/// Configuration of an agent that accepts only text and supports no webhooks.
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

/// Operations that the demo server does not support, by SDK and binding.
const UNSUPPORTED: &[UnsupportedRule] =
    &[(&[""], "JHG", &["extended_card"], "the server has an extended card only with a key")];

const CLIENTS_INTRO: &str = "\
Operations that each SDK calls on `latimer demo-server`, and the bindings over which the result is correct. Each
letter is a check of [tests/interop](../tests/interop) with real processes. In the section on errors, the SDK
must raise the right error.
";

const SERVERS_INTRO: &str = "\
Operations that `latimer-client` calls on an agent built with each SDK and discovered by its card, and the
bindings over which the result is correct. The servers are those of [tests/peers](../tests/peers): real
processes behind a proxy that cuts connections. In the section on errors, the client must return the right
error. Operations that a server does not support are called too, and the check fails once one succeeds.
";

const GATEWAYS_INTRO: &str = "\
The checks of [SDKs as clients](#sdks-as-clients) through a gateway: `latimer serve` with an agent of
`kind = \"a2a\"` in front of `latimer demo-server`, and in front of servers built with the SDKs, which support
the same instructions. The upstream agent has another version than the client. Letters are the bindings of
the client; the letters in parentheses are the bindings between gateway and upstream, in the same order.
";

const SERVERS_VIA_GATEWAY_INTRO: &str = "\
The checks of [SDKs as servers](#sdks-as-servers) through a gateway, which the client calls in another
version than that of the server. Connections are cut between the gateway and the server. The letters in
parentheses are the bindings between gateway and server.
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
            let outcomes = client.run(&base_urls).into_iter().zip(client::operations());
            let outcomes = outcomes.map(|(outcome, (_, operation, _))| {
                let (name, binding) = (&client.name, client.binding);
                outcome.expect_unsupported(unsupported_reason(
                    UNSUPPORTED,
                    name,
                    binding,
                    &operation,
                ))
            });
            let outcomes = outcomes.collect();
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

/// Runs clients concurrently and returns their results in the given order.
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
