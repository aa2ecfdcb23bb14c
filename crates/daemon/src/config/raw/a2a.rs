//! `[a2a]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use latimer_protocol::Secret;

use super::{Binding, OAuth, SignaturePolicy};
use crate::config::key::{choice, section};
use crate::config::time::{DurationInput, DurationValue};

section! {
    /// How A2A is served, and which agents elsewhere are known.
    A2a {
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
        external_agents: Vec<RemoteAgent>, section;
        /// The same by name. A number for `timeout` is in milliseconds here.
        remote_agents: BTreeMap<String, RemoteAgent>, section;
    }
}

section! {
    /// The address to listen on, as other configurations have it.
    A2aServer {
        /// The port.
        port: u16, optional("that of `listen`") => "3000";
        /// The address, without a port.
        bind_address: String, optional("that of `listen`") => "\"127.0.0.1\"";
        /// Origins of pages whose scripts may call. `*` means any.
        allowed_origins: Vec<String>, default("[]") => "[\"https://app.example.com\"]";
    }
}

section! {
    /// An agent elsewhere.
    RemoteAgent {
        /// Its name.
        name: String, optional("its name in the table of agents, if it stands in one") => "\"research-agent\"";
        /// What it is for.
        description: String, optional("what its card says") => "\"Finds papers\"";
        /// Where it is.
        url | endpoint: String, required => "\"https://research.example.com\"";
        /// Where its card is.
        card_url | agent_card_url: String, optional("the well-known places of `url`") => "\"https://research.example.com/.well-known/agent-card.json\"";
        /// Calls `url` itself, whatever address the card names, as for `[[agents]]`.
        call_url: bool, default("false") => "true";
        /// A file with certificates, in PEM, that the agent may be vouched for by, beside those that the
        /// operating system trusts.
        root_certificates: PathBuf, optional("those of the system only") => "\"research-ca.pem\"";
        /// The file with the certificate that is shown to the agent, in PEM.
        client_certificate: PathBuf, optional("none") => "\"gateway.pem\"";
        /// The file with its key, in PEM. Both are read at the start.
        client_key: PathBuf, optional("none") => "\"gateway.key\"";
        /// Headers that go with every call.
        headers: BTreeMap<String, Secret>, default("{}") => "{ X-Team = \"blue\" }";
        /// A bearer token that goes with every call.
        auth_token: Secret, optional("none") => "\"s3cret\"";
        /// The variable of the environment that has the token.
        auth_token_env: String, optional("none") => "\"RESEARCH_TOKEN\"";
        /// The file that has the token.
        auth_token_file: PathBuf, optional("none") => "\"/run/secrets/research\"";
        /// What an authorization server knows us as, to get tokens from it as the card of the agent
        /// says.
        oauth: OAuth, section;
        /// How long a call may take.
        timeout: DurationInput, optional("120 seconds") => "\"60s\"";
        /// How long a stream may be silent before it is begun anew.
        idle_timeout: DurationValue, default("\"2m\"") => "\"30s\"";
        /// Whether to have answers streamed.
        stream: bool, default("false") => "true";
        /// Which of several agents at that address.
        tenant: String, optional("none") => "\"blue\"";
        /// The version of A2A to speak.
        version: String, optional("what its card offers") => "\"0.3\"";
        /// The transport to speak.
        binding: Binding, optional("the first that its card offers") => "\"grpc\"";
        /// Whose cards are believed, as for `[[agents]]`.
        signatures: SignaturePolicy, default("\"ignore\"") => "\"required\"";
        /// Files with the public keys that its card is signed with, as JWK, JWKS or PEM.
        trusted_keys: Vec<String>, default("[]") => "[\"research.jwks.json\"]";
    }
}

choice! {
    /// What a stream of server-sent events ends with.
    Terminator: "`none`, `done_event` or `done_line`" {
        /// Nothing more.
        None,
        /// An event named `done`.
        DoneEvent,
        /// A line that says `[DONE]`.
        DoneLine,
    }
}
