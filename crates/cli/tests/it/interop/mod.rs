//! The official SDKs in other languages as clients of `latimer demo-server`, over every binding that
//! each of them has, and the page that says how they fared.
//!
//! What is asked, and what must come back, stands in `tests/interop`: one program for each SDK, which
//! prints a line for each operation of `operations.json`. `scripts/setup-peers` installs the SDKs.

mod client;
mod page;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::{env, fs, thread};

use client::{Client, Fate};
use page::Page;

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

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn official_sdks_get_what_they_ask_for() {
    let place = Place::new().file("latimer.toml", LITTLE);
    let demo = place.serve(&["demo-server", "--listen", "127.0.0.1:0"]);
    let little = place.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let bases = [&demo, &little].map(|it| format!("http://{}", it.address()));
    let page = Page::of(run(Client::all(), &bases));
    println!("{page}");
    let failures = page.failures();
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    publish(&page.to_string());
}

/// Runs the clients, a few at a time, and returns them in their order with what became of each.
fn run(clients: Vec<Client>, bases: &[String; 2]) -> Vec<(Client, Vec<Fate>)> {
    let waiting = Mutex::new(clients.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no client panics").next();
                    let Some((place, client)) = next else { return };
                    let fates = client.run(bases);
                    done.lock().expect("no client panics").push((place, client, fates));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no client panics");
    done.sort_by_key(|(place, ..)| *place);
    done.into_iter().map(|(_, client, fates)| (client, fates)).collect()
}

/// Writes the page, or where nobody would see that it changed, demands that it did not.
fn publish(page: &str) {
    let path = root().join("docs/interop.md");
    if env::var("CI").is_ok_and(|it| it == "true") {
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == page,
            "docs/interop.md is not what this run makes; run scripts/test, and commit it"
        );
    } else {
        fs::write(&path, page).expect("docs can be written");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
