//! `[[mcp_servers]]`.

use crate::config::section::{choice, section};

section! {
    /// A server of the Model Context Protocol.
    pub(crate) McpServer {
        /// Its name. Its tools are named after it.
        name: String, required => "\"github\"";
        /// How to reach it.
        transport: Transport, required;
        /// How long a request may take, in seconds.
        timeout_secs: u64, default("30") => "60";
        /// Variables of the environment that it gets, besides `PATH`.
        env: Vec<String>, default("[]") => "[\"GITHUB_PERSONAL_ACCESS_TOKEN\"]";
        /// Gives it the home folder of the server in place of one of its own.
        inherit_home: bool, default("false") => "true";
    }
}

section! {
    /// How to reach a server of the Model Context Protocol.
    pub(crate) Transport {
        /// `stdio` starts a program and talks to it over its standard input and output; `sse` and
        /// `http` talk to an address.
        r#type: TransportKind, required => "\"stdio\"";
        /// For `stdio`: the program.
        command: String, optional("none") => "\"npx\"";
        /// For `stdio`: its arguments.
        args: Vec<String>, default("[]") => "[\"-y\", \"@modelcontextprotocol/server-github\"]";
        /// For `sse` and `http`: the address.
        url: String, optional("none") => "\"https://mcp.example.com/api\"";
    }
}

choice! {
    /// How to reach a server of the Model Context Protocol.
    pub(crate) TransportKind: "`stdio`, `sse` or `http`" {
        /// As a program.
        Stdio,
        /// At an address, the old way.
        Sse,
        /// At an address.
        Http,
    }
}
