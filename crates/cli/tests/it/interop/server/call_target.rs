//! Target of the client: a server, or gateways in front of it.

use std::collections::BTreeMap;

use tokio::task::block_in_place;

use super::SdkServer;
use super::process::Process;
use crate::interop::sdk::Binding;
use crate::interop::via_gateway::Upstream;
use crate::program::{ServerProcess, TestDir};

/// A server, called directly or through gateways.
pub(super) struct CallTarget<'a> {
    process: &'a Process,
    gateways: BTreeMap<&'static str, (TestDir, ServerProcess)>,
}

impl<'a> CallTarget<'a> {
    /// Calls the server directly.
    pub(super) fn direct(process: &'a Process) -> Self {
        Self { process, gateways: BTreeMap::new() }
    }

    /// Starts a gateway for each agent of the server, which calls it over one binding.
    pub(super) fn via_gateway(process: &'a Process, server: &SdkServer, binding: Binding) -> Self {
        let gateway = |ports: [&'static str; 2]| {
            let [http, grpc] = ports.map(|it| process.proxy(it).address().to_string());
            let upstream = Upstream { name: server.name(), version: server.version, http, grpc };
            let gateway =
                block_in_place(|| upstream.start_gateway(binding, "enforce_modes = true", ""));
            ports.into_iter().next().map(|port| (port, gateway))
        };
        let agents = [["http", "grpc"], ["bare_http", "bare_grpc"]];
        Self { process, gateways: agents.into_iter().filter_map(gateway).collect() }
    }

    /// Returns the address for a port of the server. A gateway has one port for all bindings.
    pub(super) fn address(&self, port: &str) -> String {
        match self.gateways.get(port.replace("grpc", "http").as_str()) {
            Some((_, gateway)) => gateway.address(),
            None => self.process.proxy(port).address().to_string(),
        }
    }

    /// Cuts every connection to the server.
    pub(super) fn cut(&self) {
        self.process.cut();
    }
}
