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
mod through;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use client::Client;
use page::{Column, Part};

use crate::program::Place;

/// Clients that run at the same time; most of their time is waiting.
const AT_ONCE: usize = 3;

/// The configuration of an agent that reads nothing but text, and has no webhooks.
const LITTLE: &str = r#"
[[agents]]
name = "little"
kind = "echo"
input_modes = ["text/plain"]

[store]
kind = "memory"

[push]
enabled = false
"#;

const CLIENTS: &str = "\
What the SDKs, as clients, ask of `latimer demo-server`, and over which bindings they get the right
answer. Each letter is a check of [tests/interop](../tests/interop) with real processes, and so is each
refusal: the SDK must raise the right error.
";

const SERVERS: &str = "\
What `latimer-client` asks of an agent on the SDKs, found by its card, and over which bindings it gets the
right answer. The servers are those of [tests/peers](../tests/peers), real processes behind a relay that
cuts connections; a refusal must come to the right error of ours. What a server cannot do is asked for
all the same, and the check fails once it can.
";

const GATEWAYS: &str = "\
What the SDKs, as clients, get through a gateway: `latimer serve` with an agent of `kind = \"a2a\"`, before
`latimer demo-server` and before the SDKs as servers, of other versions than the client's. The checks are
those of [SDKs as clients](#sdks-as-clients), and the servers of [tests/peers](../tests/peers) know the same
words. Letters are the bindings of the client; those in brackets are spoken with the agent behind, in the
same order.
";

const THROUGH: &str = "\
What `latimer-client` gets from the same servers as [above](#sdks-as-servers) through a gateway, which it
calls in another version than theirs. Connections are cut between the gateway and the server. Letters in
brackets are spoken with the server.
";

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn official_sdks_get_what_they_ask_for() {
    let place = Place::new().file("latimer.toml", LITTLE);
    let demo = place.serve(&["demo-server", "--listen", "127.0.0.1:0"]);
    let little = place.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let bases = [&demo, &little].map(|it| format!("http://{}", it.address()));
    let part = Part {
        title: "SDKs as clients",
        about: CLIENTS,
        mark: 'c',
        operations: client::operations().collect(),
        columns: at_once(Client::all(), |client| {
            let fates = client.run(&bases);
            Column { name: client.name, binding: client.binding, fates }
        }),
    };
    println!("{part}");
    part.settle();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
async fn our_client_gets_what_it_asks_official_sdks_for() {
    let part = Part {
        title: "SDKs as servers",
        about: SERVERS,
        mark: 's',
        operations: server::operations(),
        columns: server::run().await,
    };
    println!("{part}");
    part.settle();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
async fn official_sdks_reach_each_other_through_a_gateway() {
    let part = Part {
        title: "SDKs through a gateway",
        about: GATEWAYS,
        mark: 'g',
        operations: client::operations().collect(),
        columns: through::run().await,
    };
    println!("{part}");
    part.settle();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
async fn our_client_gets_what_it_asks_official_sdks_for_through_a_gateway() {
    let part = Part {
        title: "SDKs as servers, through a gateway",
        about: THROUGH,
        mark: 't',
        operations: server::operations(),
        columns: server::run_through().await,
    };
    println!("{part}");
    part.settle();
}

/// Runs clients, a few at a time, and returns what became of each, in their order.
fn at_once<T: Send>(clients: Vec<T>, run: impl Fn(T) -> Column + Sync) -> Vec<Column> {
    let waiting = Mutex::new(clients.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no client panics").next();
                    let Some((place, client)) = next else { return };
                    let column = run(client);
                    done.lock().expect("no client panics").push((place, column));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no client panics");
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, column)| column).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
