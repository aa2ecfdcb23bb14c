//! `[[mcp_servers]]`.

use crate::config::section::{choice, section};

section! {
    /// A server of the Model Context Protocol.
    pub(crate) McpServer {
        /// Name of the MCP server. It prefixes the names of the server's tools.
        name: String, required => "\"github\"";
        /// How to connect to the MCP server.
        transport: Transport, required;
        /// Time allowed for one request to the MCP server, in seconds.
        timeout_secs: u64, default("30") => "60";
        /// Environment variables to pass to the MCP server in addition to `PATH`. Used with `stdio`
        /// only.
        env: Vec<String>, default("[]") => "[\"GITHUB_PERSONAL_ACCESS_TOKEN\"]";
        /// Whether the MCP server gets the home directory of the server instead of a private one.
        /// Used with `stdio` only.
        inherit_home: bool, default("false") => "true";
    }
}

section! {
    /// How to connect to an MCP server.
    pub(crate) Transport {
        /// Transport of the MCP server: `stdio` starts a program and uses its standard input and
        /// output; `http` connects to a URL, and `sse` does so with the older protocol of
        /// server-sent events.
        r#type: TransportKind, required => "\"stdio\"";
        /// Program to start for `stdio`. `..` in it is rejected.
        command: String, optional("none; required for `stdio`") => "\"npx\"";
        /// Arguments of the program for `stdio`.
        args: Vec<String>, default("[]") => "[\"-y\", \"@modelcontextprotocol/server-github\"]";
        /// URL of the MCP server for `http` and `sse`.
        url: String, optional("none; required for `http` and `sse`") => "\"https://mcp.example.com/api\"";
    }
}

choice! {
    /// Transport of an MCP server.
    pub(crate) TransportKind: "`stdio`, `sse` or `http`" {
        /// A program.
        Stdio,
        /// HTTP with server-sent events, which preceded streamable HTTP.
        Sse,
        /// Streamable HTTP.
        Http,
    }
}
