//! gRPC stubs, cut out of what tonic generates.

use std::{cell::RefCell, rc::Rc};

use prost_build::{Service, ServiceGenerator};

use super::{HEADER, Result};

/// Takes the stubs in, so that they stay out of the files of the messages. Clones share what they
/// have taken.
#[derive(Clone, Default)]
pub(super) struct Collector {
    stubs: Rc<RefCell<Vec<Stub>>>,
}

impl Collector {
    /// Everything taken so far.
    pub(super) fn take(&self) -> Vec<Stub> {
        self.stubs.take()
    }
}

impl ServiceGenerator for Collector {
    fn generate(&mut self, service: Service, _: &mut String) {
        for kind in [Kind::Client, Kind::Server] {
            let mut code = String::new();
            kind.generator().generate(service.clone(), &mut code);
            let package = service.package.clone();
            self.stubs.borrow_mut().push(Stub { package, kind, code });
        }
    }
}

/// One side of a service, as tonic wrote it: a module with a long name.
pub(super) struct Stub {
    /// Protobuf package of the service.
    pub(super) package: String,
    kind: Kind,
    code: String,
}

impl Stub {
    /// Name of the stub's file beside that of the messages.
    pub(super) fn file(&self) -> String {
        format!("{}.rs", self.kind.module())
    }

    /// Declares the stub's module in that of the messages.
    pub(super) fn declaration(&self) -> String {
        let (lints, module) = (self.kind.lints(), self.kind.module());
        format!("#[cfg(feature = \"grpc\")]\n{lints}pub mod {module};\n\n")
    }

    /// The inside of tonic's module, which makes a file of its own.
    pub(super) fn text(&self) -> Result<Vec<u8>> {
        let (docs, rest) = self.code.split_once("pub mod ").ok_or("a stub without a module")?;
        let (_, body) = rest.split_once("{\n").ok_or("a stub without a body")?;
        let body = body.trim_end().strip_suffix('}').ok_or("a stub without an end")?;

        let mut text = String::from(HEADER);
        for line in docs.lines() {
            text.push_str(&line.replacen("///", "//!", 1));
            text.push('\n');
        }
        for line in body.lines() {
            text.push_str(line.strip_prefix("    ").unwrap_or(line));
            text.push('\n');
        }
        Ok(text.into_bytes())
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Client,
    Server,
}

impl Kind {
    fn generator(self) -> Box<dyn ServiceGenerator> {
        let (client, server) = match self {
            Self::Client => (true, false),
            Self::Server => (false, true),
        };
        tonic_prost_build::configure().build_client(client).build_server(server).service_generator()
    }

    fn module(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    /// Lints that what tonic writes does not pass.
    fn lints(self) -> &'static str {
        match self {
            Self::Client => "",
            Self::Server => {
                "#[expect(clippy::allow_attributes, reason = \"tonic writes `allow`\")]\n"
            }
        }
    }
}
