//! The compared servers.

use std::path::{Path, PathBuf};

use latimer_bench::BenchError;
use latimer_bench::load::{Binding, Operation};
use latimer_bench::process::{Process, Starter};
use latimer_bench::role::Role;
use latimer_bench::server_under_test::{AgentKind, Setup, Store};

/// Name of the JSON-RPC baseline.
pub(crate) const BASELINE: &str = "floor";
const REST_BASELINE: &str = "floor, HTTP+JSON";
const GRPC_BASELINE: &str = "floor, gRPC";

/// A server, and how to start and call it.
#[derive(Debug)]
pub(crate) struct ServerSpec {
    pub(crate) name: String,
    /// Name of the baseline that the server is compared with.
    pub(crate) baseline: &'static str,
    pub(crate) binding: Binding,
    pub(crate) path: &'static str,
    operations: &'static [Operation],
    program: Program,
}

#[derive(Clone, Debug)]
enum Program {
    Baseline,
    GrpcBaseline,
    /// The Latimer crates linked into this program.
    Library(StoreMode),
    /// The `latimer` program.
    Binary(PathBuf, StoreMode),
    Peer(PathBuf),
}

/// Task store of a Latimer server.
#[derive(Clone, Copy, Debug)]
enum StoreMode {
    Memory,
    Process,
    Full,
}

impl ServerSpec {
    pub(crate) fn supports(&self, operation: Operation) -> bool {
        self.operations.contains(&operation)
    }

    /// Starts the server, with its files in `data_dir`.
    pub(crate) fn start(
        &self,
        starter: Starter,
        core: usize,
        address: &str,
        data_dir: &Path,
    ) -> Result<Process, BenchError> {
        let address = address.to_owned();
        match &self.program {
            Program::Baseline => starter.start(core, &Role::Baseline { address }),
            Program::GrpcBaseline => starter.start(core, &Role::GrpcBaseline { address }),
            Program::Library(store_mode) => {
                let store = match store_mode {
                    StoreMode::Memory => Store::Memory,
                    StoreMode::Process => Store::SqliteProcess(data_dir.join("tasks.db")),
                    StoreMode::Full => Store::SqliteFull(data_dir.join("tasks.db")),
                };
                let setup = Setup { address, store, agent: AgentKind::Echo };
                starter.start(core, &Role::ServerUnderTest(setup))
            }
            Program::Binary(path, store_mode) => {
                let config = data_dir.join("latimer.toml");
                std::fs::write(&config, store_mode.config(&address, data_dir))?;
                let config = config.display().to_string();
                starter.start_program(
                    core,
                    path,
                    &["serve".to_owned(), "--config".to_owned(), config],
                )
            }
            Program::Peer(path) => starter.start_program(core, path, &[address]),
        }
    }
}

impl StoreMode {
    /// Returns a configuration file for `latimer serve`.
    fn config(self, address: &str, data_dir: &Path) -> String {
        let path = data_dir.join("tasks.db");
        let store = match self {
            Self::Memory => "kind = \"memory\"".to_owned(),
            Self::Process => format!("path = {path:?}\ndurability = \"process\""),
            Self::Full => format!("path = {path:?}\ndurability = \"full\""),
        };
        format!(
            "listen = \"{address}\"\n[store]\n{store}\n[log]\nfilter = \"warn\"\n\
             [[agents]]\nname = \"echo\"\nkind = \"echo\"\n"
        )
    }
}

/// Returns all servers. `peers` is a directory with programs named `peer-NAME`, of which the missing
/// ones are skipped. `latimer` is a program to measure instead of the linked crates.
pub(crate) fn all_servers(peers: Option<&Path>, latimer: Option<&Path>) -> Vec<ServerSpec> {
    let mut servers = Vec::new();
    for (binding, baseline, suffix, program) in [
        (Binding::JsonRpc, BASELINE, "", Program::Baseline),
        (Binding::Rest, REST_BASELINE, ", HTTP+JSON", Program::Baseline),
        (Binding::Grpc, GRPC_BASELINE, ", gRPC", Program::GrpcBaseline),
    ] {
        let server_spec = |name: String, path, program| ServerSpec {
            name,
            baseline,
            binding,
            path,
            operations: &Operation::ALL,
            program,
        };
        servers.push(server_spec(baseline.to_owned(), "/", program));
        for (name, store_mode) in [
            ("memory", StoreMode::Memory),
            ("SQLite process", StoreMode::Process),
            ("SQLite full", StoreMode::Full),
        ] {
            let program = match latimer {
                Some(path) => Program::Binary(path.to_owned(), store_mode),
                None => Program::Library(store_mode),
            };
            servers.push(server_spec(format!("{name}{suffix}"), "/a2a", program));
        }
    }
    servers.extend(peers.into_iter().flat_map(peers_in));
    servers
}

fn peers_in(dir: &Path) -> impl Iterator<Item = ServerSpec> {
    use Operation::{Get, Send, Stream};
    let peers: [(&str, Binding, &'static [Operation]); 10] = [
        ("floor-axum", Binding::JsonRpc, &[Send, Stream, Get]),
        ("floor-hyper", Binding::JsonRpc, &[Send, Get]),
        ("tolgaki", Binding::JsonRpc, &[Send, Stream, Get]),
        // The server does not end its streams.
        ("ra2a", Binding::HybridJsonRpc, &[Send, Get]),
        ("official-lf", Binding::JsonRpc, &[Send, Stream, Get]),
        ("tomtom215", Binding::JsonRpc, &[Send, Stream, Get]),
        ("emillindfors", Binding::JsonRpc, &[Send, Stream, Get]),
        ("adk-rust", Binding::JsonRpc, &[Send, Stream, Get]),
        ("python-sdk", Binding::JsonRpc, &[Send, Stream, Get]),
        ("js-sdk", Binding::JsonRpc, &[Send, Stream, Get]),
    ];
    peers.into_iter().filter_map(|(name, binding, operations)| {
        let program = dir.join(format!("peer-{name}"));
        program.exists().then(|| ServerSpec {
            name: format!("peer {name}"),
            baseline: BASELINE,
            binding,
            path: "/",
            operations,
            program: Program::Peer(program),
        })
    })
}
