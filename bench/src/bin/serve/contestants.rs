//! The servers that are compared.

use std::path::{Path, PathBuf};

use latimer_bench::Failure;
use latimer_bench::load::{Binding, Operation};
use latimer_bench::process::{Process, Starter};
use latimer_bench::role::Role;
use latimer_bench::subject::{Kind, Setup, Store};

/// The floor of JSON-RPC.
pub(crate) const FLOOR: &str = "floor";
const REST_FLOOR: &str = "floor, HTTP+JSON";
const GRPC_FLOOR: &str = "floor, gRPC";

/// A server.
#[derive(Debug)]
pub(crate) struct Contestant {
    pub(crate) name: String,
    /// The one that it is compared with.
    pub(crate) floor: &'static str,
    pub(crate) binding: Binding,
    pub(crate) path: &'static str,
    operations: &'static [Operation],
    program: Program,
}

#[derive(Clone, Debug)]
enum Program {
    Floor,
    GrpcFloor,
    /// The libraries as they are here.
    Ours(Kept),
    /// The program that people run.
    Latimer(PathBuf, Kept),
    Peer(PathBuf),
}

/// Where ours keeps its tasks.
#[derive(Clone, Copy, Debug)]
enum Kept {
    Memory,
    Process,
    Full,
}

impl Contestant {
    pub(crate) fn offers(&self, operation: Operation) -> bool {
        self.operations.contains(&operation)
    }

    /// Starts it; what it keeps is kept in `home`.
    pub(crate) fn start(
        &self,
        starter: Starter,
        core: usize,
        address: &str,
        home: &Path,
    ) -> Result<Process, Failure> {
        let address = address.to_owned();
        match &self.program {
            Program::Floor => starter.start(core, &Role::Floor { address }),
            Program::GrpcFloor => starter.start(core, &Role::GrpcFloor { address }),
            Program::Ours(kept) => {
                let store = match kept {
                    Kept::Memory => Store::Memory,
                    Kept::Process => Store::SqliteProcess(home.join("tasks.db")),
                    Kept::Full => Store::SqliteFull(home.join("tasks.db")),
                };
                let setup = Setup { address, store, agent: Kind::Echo };
                starter.start(core, &Role::Subject(setup))
            }
            Program::Latimer(path, kept) => {
                let config = home.join("latimer.toml");
                std::fs::write(&config, kept.config(&address, home))?;
                let config = config.display().to_string();
                starter.start_other(
                    core,
                    path,
                    &["serve".to_owned(), "--config".to_owned(), config],
                )
            }
            Program::Peer(path) => starter.start_other(core, path, &[address]),
        }
    }
}

impl Kept {
    /// The configuration of `latimer serve`.
    fn config(self, address: &str, home: &Path) -> String {
        let path = home.join("tasks.db");
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

/// All of them. Peers are programs in a folder, whichever are there; `latimer` is the program that
/// is measured in place of the libraries here.
pub(crate) fn all(peers: Option<&Path>, latimer: Option<&Path>) -> Vec<Contestant> {
    let mut all = Vec::new();
    for (binding, floor, suffix, program) in [
        (Binding::JsonRpc, FLOOR, "", Program::Floor),
        (Binding::Rest, REST_FLOOR, ", HTTP+JSON", Program::Floor),
        (Binding::Grpc, GRPC_FLOOR, ", gRPC", Program::GrpcFloor),
    ] {
        let contestant = |name: String, path, program| Contestant {
            name,
            floor,
            binding,
            path,
            operations: &Operation::ALL,
            program,
        };
        all.push(contestant(floor.to_owned(), "/", program));
        for (name, kept) in [
            ("memory", Kept::Memory),
            ("SQLite process", Kept::Process),
            ("SQLite full", Kept::Full),
        ] {
            let program = match latimer {
                Some(path) => Program::Latimer(path.to_owned(), kept),
                None => Program::Ours(kept),
            };
            all.push(contestant(format!("{name}{suffix}"), "/a2a", program));
        }
    }
    all.extend(peers.into_iter().flat_map(peers_in));
    all
}

fn peers_in(folder: &Path) -> impl Iterator<Item = Contestant> {
    use Operation::{Get, Send, Stream};
    let peers: [(&str, Binding, &'static [Operation]); 10] = [
        ("floor-axum", Binding::JsonRpc, &[Send, Stream, Get]),
        ("floor-hyper", Binding::JsonRpc, &[Send, Get]),
        ("tolgaki", Binding::JsonRpc, &[Send, Stream, Get]),
        // Its streams do not end.
        ("ra2a", Binding::HybridJsonRpc, &[Send, Get]),
        ("official-lf", Binding::JsonRpc, &[Send, Stream, Get]),
        ("tomtom215", Binding::JsonRpc, &[Send, Stream, Get]),
        ("emillindfors", Binding::JsonRpc, &[Send, Stream, Get]),
        ("adk-rust", Binding::JsonRpc, &[Send, Stream, Get]),
        ("python-sdk", Binding::JsonRpc, &[Send, Stream, Get]),
        ("js-sdk", Binding::JsonRpc, &[Send, Stream, Get]),
    ];
    peers.into_iter().filter_map(|(name, binding, operations)| {
        let program = folder.join(format!("peer-{name}"));
        program.exists().then(|| Contestant {
            name: format!("peer {name}"),
            floor: FLOOR,
            binding,
            path: "/",
            operations,
            program: Program::Peer(program),
        })
    })
}
