//! `[a2a]`.

use std::collections::BTreeMap;

use super::upstream::Upstream;
use crate::config::section::{choice, section};

section! {
    /// How A2A is served, and which agents elsewhere are known.
    pub(crate) A2a {
        /// Whether A2A is served. When it is switched off, its addresses answer 503.
        enabled: bool, optional("`true` when there are agents") => "true";
        /// Where the protocol is served.
        listen_path: String, default("\"/a2a\"") => "\"/agents\"";
        /// Where the card of the primary agent is served besides the well-known places.
        agent_card_path: String, optional("the well-known places only") => "\"/card.json\"";
        /// Writes the members that callers of 0.3 look for into the card, beside those of 1.0. A caller
        /// that says 1.0 never sees them.
        superset_card: bool, default("true") => "false";
        /// Refuses calls of 1.0 that do not say so.
        strict_version: bool, default("false") => "true";
        /// What a stream of server-sent events ends with: nothing more (`none`), an event named
        /// `done` (`done_event`), or a line that says `[DONE]` (`done_line`).
        stream_terminator: Terminator, default("\"none\"") => "\"done_line\"";
        /// Serves JSON-RPC at `/` and `/v1/rpc`, too.
        aliases: bool, default("true") => "false";
        /// The address to listen on, as other configurations have it. It goes before `listen` when a
        /// file has both.
        server: A2aServer, section;
        /// Agents elsewhere that are looked for at the start, and not published: `[[agents]]` of
        /// `kind = "a2a"` are.
        external_agents: Vec<ExternalAgent>, section;
        /// Agents elsewhere that are looked for at the start, and not published, by name.
        remote_agents: BTreeMap<String, RemoteAgent>, section;
    }
}

section! {
    /// The address to listen on, as other configurations have it.
    pub(crate) A2aServer {
        /// The port.
        port: u16, optional("that of `listen`") => "3000";
        /// The address, without a port.
        bind_address: String, optional("that of `listen`") => "\"127.0.0.1\"";
        /// Origins of pages whose scripts may call. `*` means any.
        allowed_origins: Vec<String>, default("[]") => "[\"https://app.example.com\"]";
    }
}

section! {
    /// An agent elsewhere that is not published.
    pub(crate) ExternalAgent {
        /// Its name.
        name: String, required => "\"research-agent\"";
        /// What it is for.
        description: String, optional("what its card says") => "\"Finds papers\"";
        /// The agent, and how it is called.
        upstream: Upstream, flat {
            url | endpoint;
            card_url | agent_card_url;
            stream = "false" => "true";
            protocol_version as version;
        };
    }
}

section! {
    /// An agent elsewhere that is not published, in a table of its name.
    pub(crate) RemoteAgent {
        /// Its name.
        name: String, optional("the name of its table") => "\"research-agent\"";
        /// What it is for.
        description: String, optional("what its card says") => "\"Finds papers\"";
        /// The agent, and how it is called.
        upstream: Upstream, flat {
            url | endpoint;
            card_url | agent_card_url;
            timeout in milliseconds;
            stream = "false" => "true";
            protocol_version as version;
        };
    }
}

choice! {
    /// What a stream of server-sent events ends with.
    pub(crate) Terminator: "`none`, `done_event` or `done_line`" {
        /// Nothing more.
        None,
        /// An event named `done`.
        DoneEvent,
        /// A line that says `[DONE]`.
        DoneLine,
    }
}
