//! The store, limits, the log, signing, and the server as such.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::section::{choice, section};
use crate::config::size::ByteSize;

section! {
    /// Where tasks are kept, and for how long.
    pub(crate) Store {
        /// `sqlite` keeps tasks in a file, so that they survive; `memory` forgets them when the
        /// server ends.
        kind: StoreKind, default("\"sqlite\"") => "\"memory\"";
        /// For `sqlite`: the file.
        path: PathBuf, optional("`latimer/latimer.db` in the data folder of the user") => "\"/var/lib/latimer/latimer.db\"";
        /// For `sqlite`: what an event survives before anybody sees it. `full` also survives the
        /// loss of power, `process` the end of the process.
        durability: Durability, default("\"full\"") => "\"process\"";
        /// The most tasks there may be. The one that finished first makes room; when none is
        /// finished, no more are taken.
        max_tasks: u64, optional("1000000, or 1000 in memory") => "5000";
        /// The most conversations there may be. `0` means any number.
        max_contexts: u64, optional("any number, or 500 in memory") => "500";
        /// How long a finished task is kept.
        max_age: Duration, optional("7 days, or an hour in memory") => "\"30d\"";
        /// How often to look for what is too old.
        sweep_every: Duration, default("\"5m\"") => "\"1m\"";
    }
}

section! {
    /// What callers may ask for at most.
    pub(crate) Limits {
        /// The size of a request.
        max_body: ByteSize, default("\"10MiB\"") => "\"1MiB\"";
        /// How long a request may take to arrive.
        body_time: Duration, default("\"30s\"") => "\"1m\"";
        /// The length of an address with its query.
        max_url: ByteSize, default("\"8KiB\"") => "\"4KiB\"";
        /// How many headers a request may have.
        max_headers: u64, default("100") => "50";
        /// The size of all headers of a request, at least 8 KiB.
        max_header_bytes: ByteSize, default("\"64KiB\"") => "\"16KiB\"";
        /// How long headers may take to arrive, those of the next request on an open connection, too.
        header_time: Duration, default("\"15s\"") => "\"5s\"";
        /// How many connections may be open. More wait to be accepted.
        max_connections: u64, default("10000") => "500";
        /// How many calls may be under way on one connection of HTTP/2.
        max_calls_per_connection: u32, default("1000") => "100";
        /// How many parts a message may have.
        max_parts: u64, default("1000") => "100";
        /// How many streams may be open.
        max_streams: u64, default("20000") => "1000";
        /// How many messages may be worked on at the same time.
        max_turns: u64, default("10000") => "100";
        /// How much a caller may ask for in a minute. A message counts 5, a list or a subscription 3,
        /// to cancel 2, a look at a task or a card 1. Callers that did not say who they are are told
        /// apart by their addresses. `0` means any number.
        rate: u32, default("6000") => "600";
        /// How much of that may come at once.
        burst: u32, default("1200") => "60";
        /// How often in a minute credentials from one address may be wrong before it is not listened
        /// to for a while. `0` means any number.
        auth_failures: u32, default("60") => "10";
        /// Counts by address on this machine, too. Callers that said who they are are always counted.
        rate_loopback: bool, default("false") => "true";
        /// How many tasks of one caller may be going on or waiting for that caller. This and the two
        /// below do not hold for callers that did not say who they are.
        max_tasks_per_caller: u64, default("1000") => "20";
        /// How many streams one caller may have open.
        max_streams_per_caller: u64, default("1000") => "20";
    }
}

section! {
    /// What the server writes to its log, which is its standard error.
    pub(crate) Log {
        /// Which messages: a level, or levels by module. `LATIMER_LOG` and `RUST_LOG` go before it.
        /// Of the libraries in use, nothing below `info` is written: it has addresses in it.
        filter: String, default("\"info\"") => "\"info,latimer_server=debug\"";
        /// How they are written. `LATIMER_LOG_FORMAT` goes before it.
        format: LogFormat, default("\"text\"") => "\"json\"";
    }
}

section! {
    /// How the server as such behaves.
    pub(crate) Server {
        /// How long it waits for what is going on when it is told to end.
        drain: Duration, default("\"30s\"") => "\"1m\"";
        /// How long a stream may be silent before something is sent to keep its connection alive.
        keep_alive: Duration, default("\"15s\"") => "\"30s\"";
        /// What the server calls itself where it calls others: agents elsewhere and webhooks.
        user_agent: String, optional("`Latimer/VERSION A2A`") => "\"Example-Agents/2.1\"";
        /// How long a card may be kept without asking again.
        card_max_age: Duration, default("\"5m\"") => "\"1h\"";
        /// Whether `/metrics` is served. Where callers must say who they are, they must say it there,
        /// too.
        metrics: bool, optional("only to this machine, or to callers that said who they are") => "true";
        /// Whether gRPC describes its services.
        reflection: bool, optional("as for `metrics`") => "true";
        /// Addresses and networks of proxies whose word about the caller's address counts.
        trusted_proxies: Vec<String>, default("[]") => "[\"10.0.0.0/8\"]";
        /// Names of a server that listens on a loopback address, besides `localhost` and that of
        /// `public_url`. Requests for others are refused: they come from pages that pretend to be on
        /// this machine. `*` means any.
        allowed_hosts: Vec<String>, default("[]") => "[\"agents.internal\"]";
    }
}

section! {
    /// The keys that vouch for cards and webhooks. They are made with `latimer card keygen`.
    pub(crate) Signing {
        /// The private key that signs: PEM or a JWK. Cards are signed where their addresses are the
        /// server's own for certain: with `public_url`, and on this machine.
        key: PathBuf, optional("nothing is signed") => "\"signing.pem\"";
        /// More keys that are published at `/.well-known/jwks.json`, in any form: those that signed
        /// before, and those that will.
        publish: Vec<PathBuf>, default("[]") => "[\"former.pem\"]";
    }
}

choice! {
    /// Where tasks are kept.
    pub(crate) StoreKind: "`sqlite` or `memory`" {
        /// In a file.
        Sqlite,
        /// In memory.
        Memory,
    }
}

choice! {
    /// What an event survives before anybody sees it.
    pub(crate) Durability: "`full` or `process`" {
        /// The loss of power.
        Full,
        /// The end of the process.
        Process,
    }
}

choice! {
    /// How messages are written.
    pub(crate) LogFormat: "`text` or `json`" {
        /// For people.
        Text,
        /// For programs.
        Json,
    }
}
