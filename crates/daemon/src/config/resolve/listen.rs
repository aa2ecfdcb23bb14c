//! The socket address to listen on.

use std::net::SocketAddr;

use serde_json::Value;

use super::Resolver;
use crate::config::raw;
use crate::config::tree::{Layer, Node, Provenance};

impl Resolver<'_> {
    /// Returns `listen`, with the port and the address of `[a2a.server]` where these come from the
    /// same layer or a later one.
    pub(super) fn resolve_listen(&mut self, raw: &raw::Root) -> String {
        let listen = match raw.listen.parse::<u16>() {
            Ok(port) => format!("127.0.0.1:{port}"),
            Err(_) => raw.listen.clone(),
        };
        let rank = |provenance: &Provenance| match provenance.layer {
            Layer::Default => 0,
            Layer::File(_) => 1,
            Layer::Environment(_) => 2,
            Layer::Flag(_) => 3,
        };
        let listen_rank = rank(&self.provenance(&["listen"]));
        let overrides_listen =
            |key: &str| rank(&self.provenance(&["a2a", "server", key])) >= listen_rank;
        let server = &raw.a2a.server;
        let port = server.port.filter(|_| overrides_listen("port"));
        let address = server.bind_address.as_deref().filter(|_| overrides_listen("bind_address"));
        if port.is_none() && address.is_none() {
            return listen;
        }
        let (host, default_port) = listen.rsplit_once(':').unwrap_or((&listen, "50051"));
        let host = match address {
            Some(address) if address.contains(':') && !address.starts_with('[') => {
                format!("[{address}]")
            }
            Some(address) => address.to_owned(),
            None => host.to_owned(),
        };
        let listen = match port {
            Some(port) => format!("{host}:{port}"),
            None => format!("{host}:{default_port}"),
        };
        let key = if port.is_some() { "port" } else { "bind_address" };
        let provenance = self.provenance(&["a2a", "server", key]);
        self.tree.set(["listen"], Node::from_value(Value::from(listen.clone()), &provenance));
        listen
    }

    pub(super) fn check_listen(&mut self, listen: &str) {
        let is_host_and_port = listen.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && !host.contains(':') && port.parse::<u16>().is_ok()
        });
        if listen.parse::<SocketAddr>().is_err() && !is_host_and_port {
            let message = format!("`listen`: {listen:?} is not an address with a port");
            self.report_error(&["listen"], message, "use the form \"127.0.0.1:50051\"");
        }
    }
}
