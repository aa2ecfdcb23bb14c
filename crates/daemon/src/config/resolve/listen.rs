//! The address to listen on.

use std::net::SocketAddr;

use serde_json::Value;

use super::Resolve;
use crate::config::raw;
use crate::config::tree::{Node, Origin, Source};

impl Resolve<'_> {
    /// `listen`, unless the other spelling of it says something else with at least as much right.
    pub(super) fn listen(&mut self, raw: &raw::Root) -> String {
        let listen = match raw.listen.parse::<u16>() {
            Ok(port) => format!("127.0.0.1:{port}"),
            Err(_) => raw.listen.clone(),
        };
        let rank = |origin: &Origin| match origin.source {
            Source::Default => 0,
            Source::File(_) => 1,
            Source::Environment(_) => 2,
            Source::Flag(_) => 3,
        };
        let ours = rank(&self.origin(&["listen"]));
        let counts = |key: &str| rank(&self.origin(&["a2a", "server", key])) >= ours;
        let server = &raw.a2a.server;
        let port = server.port.filter(|_| counts("port"));
        let address = server.bind_address.as_deref().filter(|_| counts("bind_address"));
        if port.is_none() && address.is_none() {
            return listen;
        }
        let (host, own_port) = listen.rsplit_once(':').unwrap_or((&listen, "50051"));
        let host = match address {
            Some(address) if address.contains(':') && !address.starts_with('[') => {
                format!("[{address}]")
            }
            Some(address) => address.to_owned(),
            None => host.to_owned(),
        };
        let listen = match port {
            Some(port) => format!("{host}:{port}"),
            None => format!("{host}:{own_port}"),
        };
        let key = if port.is_some() { "port" } else { "bind_address" };
        let origin = self.origin(&["a2a", "server", key]);
        self.tree.set(["listen"], Node::of(Value::from(listen.clone()), &origin));
        listen
    }

    pub(super) fn check_listen(&mut self, listen: &str) {
        let named = listen.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && !host.contains(':') && port.parse::<u16>().is_ok()
        });
        if listen.parse::<SocketAddr>().is_err() && !named {
            let message = format!("`listen`: {listen:?} is no address with a port");
            self.problem(&["listen"], message, "write it like \"127.0.0.1:50051\"");
        }
    }
}
