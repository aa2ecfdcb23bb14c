//! `[a2a]`.

use std::collections::BTreeMap;

use super::upstream::Upstream;
use crate::config::section::{choice, section};

section! {
    /// How A2A is served, and remote agents that are not published.
    pub(crate) A2a {
        /// Whether A2A is served. If `false`, its endpoints respond with 503.
        enabled: bool, optional("`true` if there are agents") => "true";
        /// Path under which A2A is served, in addition to the well-known paths of cards.
        listen_path: String, default("\"/a2a\"") => "\"/agents\"";
        /// Additional path of the primary agent's card.
        agent_card_path: String, optional("only the well-known paths") => "\"/card.json\"";
        /// Whether cards contain the members that 0.3 clients read, in addition to those of 1.0.
        /// Clients that declare version 1.0 never receive them.
        superset_card: bool, default("true") => "false";
        /// Whether a call in a form that only version 1.0 has is rejected unless it declares
        /// version 1.0. If `false`, it is served as 1.0.
        strict_version: bool, default("false") => "true";
        /// What is sent at the end of a server-sent event stream: nothing (`none`), an event named
        /// `done` (`done_event`), or a line with `[DONE]` (`done_line`).
        stream_terminator: Terminator, default("\"none\"") => "\"done_line\"";
        /// Whether A2A is also served at `/`, `/v1/rpc` and `/v1/…`, the paths of other A2A
        /// servers.
        aliases: bool, default("true") => "false";
        /// Address settings in the form that other A2A servers use. `port` and `bind_address`
        /// override `listen`, unless `listen` is set by a source of higher precedence.
        server: A2aServer, section;
        /// Remote agents that are discovered at startup and not published. To publish a remote
        /// agent, use `[[agents]]` with `kind = "a2a"`.
        external_agents: Vec<ExternalAgent>, section;
        /// Remote agents by name that are discovered at startup and not published. To publish a
        /// remote agent, use `[[agents]]` with `kind = "a2a"`.
        remote_agents: BTreeMap<String, RemoteAgent>, section;
    }
}

section! {
    /// Address settings in the form that other A2A servers use.
    pub(crate) A2aServer {
        /// Port to listen on. Overrides the port of `listen`.
        port: u16, optional("the port of `listen`") => "3000";
        /// IP address to listen on, without a port. Overrides the address of `listen`.
        bind_address: String, optional("the address of `listen`") => "\"127.0.0.1\"";
        /// Web origins whose pages may call the agents from a browser (CORS). `*` allows every
        /// origin. Cards are readable from every origin.
        allowed_origins: Vec<String>, default("[]") => "[\"https://app.example.com\"]";
    }
}

section! {
    /// A remote agent that is not published.
    pub(crate) ExternalAgent {
        /// Name of the remote agent in the log.
        name: String, required => "\"research-agent\"";
        /// What the remote agent does.
        description: String, optional("the description in its card") => "\"Finds papers\"";
        /// The remote agent, and how to call it.
        upstream: Upstream, flat {
            url | endpoint;
            card_url | agent_card_url;
            stream = "false" => "true";
            protocol_version as version;
        };
    }
}

section! {
    /// A remote agent that is not published, in a table of its name.
    pub(crate) RemoteAgent {
        /// Name of the remote agent in the log.
        name: String, optional("the name of its table") => "\"research-agent\"";
        /// What the remote agent does.
        description: String, optional("the description in its card") => "\"Finds papers\"";
        /// The remote agent, and how to call it.
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
    /// What is sent at the end of a server-sent event stream.
    pub(crate) Terminator: "`none`, `done_event` or `done_line`" {
        /// Nothing.
        None,
        /// An event named `done`.
        DoneEvent,
        /// A line with `[DONE]`.
        DoneLine,
    }
}
