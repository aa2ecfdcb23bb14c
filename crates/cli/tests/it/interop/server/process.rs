//! A server as a process, with relays before its ports.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{PATIENCE, Server};
use crate::cutter::{Cutter, Waiting};
use crate::interop::root;

/// Its ports: those of the agent that can do everything, and of the one that can do little.
const PORTS: [&str; 4] = ["http", "grpc", "bare_http", "bare_grpc"];

/// A server that runs. Dropping it ends it.
pub(in crate::interop) struct Process {
    child: Child,
    relays: BTreeMap<&'static str, Cutter>,
}

impl Process {
    pub(in crate::interop) async fn start(server: &Server) -> Self {
        let mut waiting = BTreeMap::new();
        for port in PORTS {
            waiting.insert(port, Waiting::new().await);
        }
        let shown: BTreeMap<_, _> = waiting.iter().map(|(port, it)| (port, it.port())).collect();
        let mut command = server.language.run(&root().join("tests/peers").join(server.script));
        let mut child = command
            .args(server.compat.then_some("--compat"))
            .args(server.demo.then_some("--demo"))
            .env("PEER_SHOWN", serde_json::to_string(&shown).unwrap())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it is there");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let ports = spawn_blocking(move || {
            let mut line = String::new();
            out.read_line(&mut line).map(|_| line)
        });
        let ports = timeout(PATIENCE, ports).await.expect("it starts").unwrap().unwrap();
        let ports: BTreeMap<String, u16> = serde_json::from_str(&ports)
            .unwrap_or_else(|_| panic!("{} says its ports", server.script));
        let lead = |(port, it): (&'static str, Waiting)| {
            (port, it.lead(([127, 0, 0, 1], ports[port]).into()))
        };
        let relays = waiting.into_iter().map(lead).collect();
        Self { child, relays }
    }

    /// The relay before a port.
    pub(in crate::interop) fn relay(&self, port: &str) -> &Cutter {
        &self.relays[port]
    }

    /// Cuts every connection there is.
    pub(super) fn cut(&self) {
        self.relays.values().for_each(Cutter::cut);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
