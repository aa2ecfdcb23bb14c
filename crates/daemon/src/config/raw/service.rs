//! `[store]`, `[limits]`, `[log]`, `[server]` and `[signing]`.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::section::{choice, section};
use crate::config::size::ByteSize;

section! {
    /// Where tasks are stored, and for how long.
    pub(crate) Store {
        /// Where tasks are stored: `sqlite` in a file that survives restarts, `memory` until the
        /// server stops.
        kind: StoreKind, default("\"sqlite\"") => "\"memory\"";
        /// SQLite file for `kind = "sqlite"`. Missing directories are created; one server at a time
        /// can use the file.
        path: PathBuf, optional("`latimer/latimer.db` in the user's data directory") => "\"/var/lib/latimer/latimer.db\"";
        /// Guarantee before an event becomes visible: `full` survives power loss (fsync per
        /// commit), `process` survives a crash of the process. Used with `kind = "sqlite"` only.
        durability: Durability, default("\"full\"") => "\"process\"";
        /// Maximum number of stored tasks. A new task evicts the one that finished first; if none
        /// has finished, it is rejected.
        max_tasks: u64, optional("1000000, or 1000 with `kind = \"memory\"`") => "5000";
        /// Maximum number of contexts. A new context evicts the finished tasks of the one that has
        /// been idle longest. `0` means no limit.
        max_contexts: u64, optional("no limit, or 500 with `kind = \"memory\"`") => "500";
        /// How long a finished task is stored.
        max_age: Duration, optional("7 days, or 1 hour with `kind = \"memory\"`") => "\"30d\"";
        /// How long a task may wait for a message of its caller. After this time it is canceled.
        max_idle: Duration, optional("7 days, or 1 hour with `kind = \"memory\"`") => "\"1d\"";
        /// Maximum number of tasks that wait for a message of their caller, at most half of
        /// `max_tasks`. Above it, the caller with the most loses the one that waited longest.
        max_waiting: u64, optional("half of `max_tasks`") => "1000";
        /// Interval between removals of tasks older than `max_age`.
        sweep_every: Duration, default("\"5m\"") => "\"1m\"";
    }
}

section! {
    /// Limits on requests, connections and callers.
    pub(crate) Limits {
        /// Maximum size of a request body.
        max_body: ByteSize, default("\"10MiB\"") => "\"1MiB\"";
        /// Time allowed for a request body to arrive.
        body_time: Duration, default("\"30s\"") => "\"1m\"";
        /// Maximum size of a request's path with its query.
        max_url: ByteSize, default("\"8KiB\"") => "\"4KiB\"";
        /// Maximum number of headers of a request.
        max_headers: u64, default("100") => "50";
        /// Maximum size of all headers of a request together. At least 8 KiB.
        max_header_bytes: ByteSize, default("\"64KiB\"") => "\"16KiB\"";
        /// Time allowed for the headers of a request to arrive. On HTTP/1.1 also the time a
        /// connection may be idle between requests.
        header_time: Duration, default("\"15s\"") => "\"5s\"";
        /// How long an HTTP/2 connection may have no call before it is closed. Pings do not count.
        http2_idle_time: Duration, default("\"1m\"") => "\"10m\"";
        /// Maximum number of open connections. Beyond
        /// it, a new connection replaces those that have been idle longest. If none is idle, a small
        /// reserve answers `/health` and `/ready` and rejects all else with 503.
        max_connections: u64, default("10000") => "500";
        /// Maximum number of open connections per client address. Beyond it, a new connection
        /// replaces an idle one of the address, or is closed. It does not apply to
        /// `trusted_proxies`, and to loopback addresses only with `rate_loopback`. `0` disables the
        /// limit.
        max_connections_per_address: u64, default("1000") => "100";
        /// Maximum number of concurrent calls on one HTTP/2 connection.
        max_calls_per_connection: u32, default("1000") => "100";
        /// Maximum number of parts of a message.
        max_parts: u64, default("1000") => "100";
        /// Maximum number of open streams of all callers.
        max_streams: u64, default("20000") => "1000";
        /// Maximum number of turns that run concurrently, over all agents.
        max_turns: u64, default("10000") => "100";
        /// Weighted calls allowed per caller and minute: a message counts 5, a list or a
        /// subscription 3, a cancel 2, other calls and cards 1. Anonymous callers are counted by
        /// client address. `0` disables the limit.
        rate: u32, default("6000") => "600";
        /// Weighted calls that a caller may make at once, within `rate`.
        burst: u32, default("1200") => "60";
        /// Failed authentications allowed per client address and minute; further attempts are
        /// rejected with 429. `0` disables the limit.
        auth_failures: u32, default("60") => "10";
        /// Whether `rate`, `auth_failures` and `max_connections_per_address` also apply to loopback
        /// addresses. Authenticated callers are always counted.
        rate_loopback: bool, default("false") => "true";
        /// Maximum number of unfinished tasks per authenticated caller, including those that wait
        /// for the caller.
        max_tasks_per_caller: u64, default("1000") => "20";
        /// Maximum number of open streams per authenticated caller.
        max_streams_per_caller: u64, default("1000") => "20";
    }
}

section! {
    /// Log messages, which are written to standard error.
    pub(crate) Log {
        /// Minimum level of log messages, globally or per module. Overridden by `LATIMER_LOG` and
        /// `RUST_LOG`. Dependencies never log below `info`, because their messages contain
        /// addresses.
        filter: String, default("\"info\"") => "\"info,latimer_server=debug\"";
        /// Format of log lines and of the startup summary: `text` is human-readable, `json` is
        /// machine-readable. Overridden by `LATIMER_LOG_FORMAT`.
        format: LogFormat, default("\"text\"") => "\"json\"";
    }
}

section! {
    /// Settings of the server process.
    pub(crate) Server {
        /// How long running turns may continue after the server receives a signal to stop. The
        /// next start resumes tasks whose agents can continue and fails the others; with `store.kind
        /// = "memory"` they are lost.
        drain: Duration, default("\"30s\"") => "\"1m\"";
        /// How long a stream may be silent before a comment is sent to keep its connection open.
        keep_alive: Duration, default("\"3s\"") => "\"30s\"";
        /// Value of the `User-Agent` header in calls to remote agents and webhooks.
        user_agent: String, optional("`Latimer/VERSION A2A`") => "\"Example-Agents/2.1\"";
        /// How long clients may cache an agent card before they revalidate it.
        card_max_age: Duration, default("\"5m\"") => "\"1h\"";
        /// Whether `/metrics` is served. It requires authentication if the server does.
        metrics: bool, optional("`true` with authentication; otherwise only for requests from this machine") => "true";
        /// Whether gRPC reflection is served. It requires authentication if the server does.
        reflection: bool, optional("`true` with authentication; otherwise only for requests from this machine") => "true";
        /// IP addresses or networks of reverse proxies whose `Forwarded` and `X-Forwarded-*`
        /// headers are trusted. Requests without these headers are checked as those of other
        /// clients, also from the address of a proxy.
        trusted_proxies: Vec<String>, default("[]") => "[\"10.0.0.0/8\"]";
        /// Additional `Host` names that a server on a loopback address accepts, in addition to
        /// `localhost`, its addresses and the host of `public_url`. Other hosts are rejected to
        /// stop DNS rebinding. `*` accepts every host.
        allowed_hosts: Vec<String>, default("[]") => "[\"agents.internal\"]";
    }
}

section! {
    /// Keys that sign cards and webhook deliveries. `latimer card keygen` generates one.
    pub(crate) Signing {
        /// File with the private key that signs cards and webhook deliveries, as PEM or JWK. Cards
        /// are signed only where their URLs are known to be the server's own: with `public_url`, or
        /// on a loopback address.
        key: PathBuf, optional("nothing is signed") => "\"signing.pem\"";
        /// Files with further keys to publish at `/.well-known/jwks.json`, as PEM, JWK or JWKS:
        /// previous keys and future ones. Requires `key`.
        publish: Vec<PathBuf>, default("[]") => "[\"former.pem\"]";
    }
}

choice! {
    /// Where tasks are stored.
    pub(crate) StoreKind: "`sqlite` or `memory`" {
        /// A SQLite file.
        Sqlite,
        /// Memory of the process.
        Memory,
    }
}

choice! {
    /// Guarantee before an event becomes visible.
    pub(crate) Durability: "`full` or `process`" {
        /// Events survive power loss.
        Full,
        /// Events survive a crash of the process.
        Process,
    }
}

choice! {
    /// Format of log lines.
    pub(crate) LogFormat: "`text` or `json`" {
        /// Human-readable.
        Text,
        /// Machine-readable.
        Json,
    }
}
