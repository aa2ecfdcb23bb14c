//! Server process with a cutting proxy in front of each port.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{CHECK_TIMEOUT, SdkServer};
use crate::cutting_proxy::{CuttingProxy, UnconnectedProxy};
use crate::interop::workspace_root;

/// Ports of the agent with all features and of the minimal one.
const PORT_NAMES: [&str; 4] = ["http", "grpc", "bare_http", "bare_grpc"];

/// A running server process. Dropping it kills the process.
pub(in crate::interop) struct Process {
    child: Child,
    proxies: BTreeMap<&'static str, CuttingProxy>,
}

impl Process {
    pub(in crate::interop) async fn start(server: &SdkServer) -> Self {
        let mut unconnected = BTreeMap::new();
        for port in PORT_NAMES {
            unconnected.insert(port, UnconnectedProxy::new().await);
        }
        let proxy_ports: BTreeMap<_, _> =
            unconnected.iter().map(|(port, it)| (port, it.port())).collect();
        let mut command =
            server.language.run(&workspace_root().join("tests/peers").join(server.script));
        let mut child = command
            .args(server.compat.then_some("--compat"))
            .args(server.demo.then_some("--demo"))
            .env("PEER_CARD_PORTS", serde_json::to_string(&proxy_ports).unwrap())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let ports = spawn_blocking(move || {
            let mut line = String::new();
            out.read_line(&mut line).map(|_| line)
        });
        let ports = timeout(CHECK_TIMEOUT, ports)
            .await
            .expect("the server prints its ports in time")
            .unwrap()
            .unwrap();
        let ports: BTreeMap<String, u16> = serde_json::from_str(&ports)
            .unwrap_or_else(|_| panic!("{} does not print its ports", server.script));
        let connect = |(port, it): (&'static str, UnconnectedProxy)| {
            (port, it.connect_to(([127, 0, 0, 1], ports[port]).into()))
        };
        let proxies = unconnected.into_iter().map(connect).collect();
        Self { child, proxies }
    }

    /// Returns the proxy of a port.
    pub(in crate::interop) fn proxy(&self, port: &str) -> &CuttingProxy {
        &self.proxies[port]
    }

    /// Cuts every open connection.
    pub(super) fn cut(&self) {
        self.proxies.values().for_each(CuttingProxy::cut);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
