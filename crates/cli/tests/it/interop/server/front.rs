//! What our client calls: a server, or gateways before it.

use std::collections::BTreeMap;

use tokio::task::block_in_place;

use super::Server;
use super::process::Process;
use crate::interop::sdk::Binding;
use crate::interop::through::Behind;
use crate::program::{Place, Serving};

/// A server as callers see it.
pub(super) struct Front<'a> {
    process: &'a Process,
    gateways: BTreeMap<&'static str, (Place, Serving)>,
}

impl<'a> Front<'a> {
    /// The server itself.
    pub(super) fn direct(process: &'a Process) -> Self {
        Self { process, gateways: BTreeMap::new() }
    }

    /// Gateways before its agents, which speak one binding with them.
    pub(super) fn through(process: &'a Process, server: &Server, binding: Binding) -> Self {
        let gateway = |ports: [&'static str; 2]| {
            let [http, grpc] = ports.map(|it| process.relay(it).address().to_string());
            let behind = Behind { name: server.name(), version: server.version, http, grpc };
            let gateway = block_in_place(|| behind.gateway(binding, "", ""));
            ports.into_iter().next().map(|port| (port, gateway))
        };
        let agents = [["http", "grpc"], ["bare_http", "bare_grpc"]];
        Self { process, gateways: agents.into_iter().filter_map(gateway).collect() }
    }

    /// Where to call, for a port of the server. Gateways have one for everything.
    pub(super) fn address(&self, port: &str) -> String {
        match self.gateways.get(port.replace("grpc", "http").as_str()) {
            Some((_, gateway)) => gateway.address(),
            None => self.process.relay(port).address().to_string(),
        }
    }

    /// Cuts every connection of the server.
    pub(super) fn cut(&self) {
        self.process.cut();
    }
}
