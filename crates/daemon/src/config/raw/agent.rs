//! `[[agents]]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use latimer_protocol::Secret;

use crate::config::key::{choice, section};
use crate::config::size::ByteSize;
use crate::config::time::DurationValue;

section! {
    /// An agent that is served.
    Agent {
        /// Its name, which is also a part of its address: letters, digits, `-`, `_` and `.`.
        name: String, required => "\"shout\"";
        /// What stands behind it. `echo` says again what was said, `command` runs a program for each
        /// message, `demo` reaches every state of a task on request, `a2a` calls an agent elsewhere.
        /// `mcp` and `model` are not available in this version.
        kind: AgentKindTag, required => "\"command\"";
        /// What it is for.
        description: String, optional("what is known about its kind") => "\"Says it louder\"";
        /// Its own version.
        version: String, optional("that of the server") => "\"2.1.0\"";
        /// Media types it reads.
        input_modes: Vec<String>, optional("those of its kind") => "[\"text/plain\"]";
        /// Media types it writes.
        output_modes: Vec<String>, optional("those of its kind") => "[\"text/plain\"]";
        /// What it can do, for its card.
        skills: Vec<Skill>, section;
        /// Whether its answers can be streamed. Without, callers wait for them or ask again.
        streaming: bool, default("true") => "false";
        /// What happens when several messages come to one conversation: they are worked on at the
        /// same time (`parallel`) or one after the other (`queue`), or all but the first are refused
        /// (`reject`).
        contexts: ContextConcurrency, default("\"parallel\"") => "\"queue\"";
        /// How long a caller that waits for the answer is kept waiting before it gets the task as it
        /// stands.
        max_wait: DurationValue, default("\"10m\"") => "\"1m\"";
        /// How long the agent may work on one message.
        max_turn: DurationValue, optional("any time") => "\"1h\"";
        /// How long the agent has to stop by itself when its task is canceled.
        cancel_grace: DurationValue, default("\"5s\"") => "\"30s\"";
        /// For how long a message that comes again gets the answer it got before. `0` means never.
        repeat_window: DurationValue, default("\"5m\"") => "\"1h\"";
        /// Who may use it. Its card is for all.
        allow: Allow, section;
        /// For `command`: the program and its arguments. A program without a slash is looked for on
        /// the `PATH`; `..` is refused.
        command: Vec<String>, optional("none") => "[\"tr\", \"a-z\", \"A-Z\"]";
        /// For `command`: what the program reads from its standard input. `text` is the texts of the
        /// message, `json` the whole message as the JSON of A2A 1.0.
        input: CommandInput, default("\"text\"") => "\"json\"";
        /// For `command`: ends a piece of the streamed answer behind each of these.
        chunk: String, optional("a piece is what was written at a time") => "\"\\n\"";
        /// For `command`: variables of the environment that the program gets, besides `PATH`.
        env: Vec<String>, default("[]") => "[\"LANG\"]";
        /// For `command`: the folder that it runs in.
        dir: PathBuf, optional("that of the server") => "\"/srv/shout\"";
        /// For `command`: gives the program the home folder of the server in place of one of its
        /// own.
        inherit_home: bool, default("false") => "true";
        /// For `command`: how long the program may run, any time unless it is said. For `a2a`: how
        /// long a call may take, two minutes unless it is said; a stream has no such limit.
        timeout: DurationValue, optional("that of its kind") => "\"30s\"";
        /// For `command`: how much the program may write.
        max_output: ByteSize, default("\"16MiB\"") => "\"1MiB\"";
        /// For `command`: tells the caller the end of what the program wrote to its standard error,
        /// when it fails. Otherwise only the log has that.
        show_stderr: bool, default("false") => "true";
        /// For `demo`: has an extended card, too.
        extended_card: bool, default("true") => "false";
        /// For `demo`: asks for more after every message that is no command.
        open_ended: bool, default("false") => "true";
        /// For `a2a`: where the agent is. Callers never see it.
        url: String, optional("none") => "\"https://partner.example.com\"";
        /// For `a2a`: where its card is.
        card_url: String, optional("the well-known places of `url`") => "\"https://cards.example.com/partner.json\"";
        /// For `a2a`: calls `url` itself, whatever address the card names: for agents that do not know
        /// their own.
        call_url: bool, default("false") => "true";
        /// For `a2a`: a file with certificates, in PEM, that the agent may be vouched for by, beside those
        /// that the operating system trusts.
        root_certificates: PathBuf, optional("those of the system only") => "\"partner-ca.pem\"";
        /// For `a2a`: the file with the certificate that is shown to the agent, in PEM, at the origin of
        /// `url` only.
        client_certificate: PathBuf, optional("none") => "\"gateway.pem\"";
        /// For `a2a`: the file with its key, in PEM. Both are read at the start.
        client_key: PathBuf, optional("none") => "\"gateway.key\"";
        /// For `a2a`: headers that go with every call, to the origin of `url` only.
        headers: BTreeMap<String, Secret>, default("{}") => "{ X-Team = \"blue\" }";
        /// For `a2a`: a bearer token that goes with every call, to the origin of `url` only. What
        /// callers show never does.
        auth_token: Secret, optional("none") => "\"s3cret\"";
        /// For `a2a`: the variable of the environment that has the token.
        auth_token_env: String, optional("none") => "\"PARTNER_TOKEN\"";
        /// For `a2a`: the file that has the token.
        auth_token_file: PathBuf, optional("none") => "\"/run/secrets/partner\"";
        /// For `a2a`: what an authorization server knows us as, to get tokens from it as the card of
        /// the agent says.
        oauth: OAuth, section;
        /// For `a2a`: how long a stream may be silent before it is begun anew.
        idle_timeout: DurationValue, default("\"2m\"") => "\"30s\"";
        /// For `a2a`: whether the streams of the agent are used. Without, its tasks are looked at again
        /// and again; callers have streams all the same.
        stream: bool, default("true") => "false";
        /// For `a2a`: which of several agents at that address.
        tenant: String, optional("what its card says") => "\"blue\"";
        /// For `a2a`: the version of A2A to speak.
        protocol_version: String, optional("the newest that its card offers") => "\"0.3\"";
        /// For `a2a`: the transport to speak.
        binding: Binding, optional("the first that its card offers") => "\"grpc\"";
        /// For `a2a`: whose cards are believed. `ignore` looks at no signature; with `if_signed`, what
        /// is signed must be signed by one of `trusted_keys`; `required` wants that of every card.
        signatures: SignaturePolicy, default("\"ignore\"") => "\"required\"";
        /// For `a2a`: files with the public keys that its card is signed with, as JWK, JWKS or PEM.
        trusted_keys: Vec<String>, default("[]") => "[\"partner.jwks.json\"]";
        /// For `a2a`: how many agents a message may pass, this one included, before it is rejected.
        hops: u32, default("8") => "3";
        /// For `a2a`: tells the agent who calls, by the name they have here, in the member `userId` of
        /// the metadata of each message. Otherwise it learns nothing of callers but what they say.
        forward_user: bool, default("false") => "true";
        /// For `mcp`: the server of `[[mcp_servers]]`.
        server: String, optional("none") => "\"filesystem\"";
        /// For `model`: who runs the model.
        provider: String, optional("none") => "\"openai\"";
        /// For `model`: which model.
        model: String, optional("none") => "\"small\"";
        /// For `model`: the tools it may use.
        tools: Vec<String>, optional("none") => "[\"file_read\", \"mcp_github_*\"]";
    }
}

section! {
    /// What an authorization server knows us as.
    OAuth {
        /// Our name there.
        client_id: String, optional("no tokens are got") => "\"gateway\"";
        /// What proves it.
        client_secret: Secret, optional("none") => "\"s3cret\"";
        /// The variable of the environment that has it.
        client_secret_env: String, optional("none") => "\"PARTNER_SECRET\"";
        /// What to ask for.
        scopes: Vec<String>, default("[]") => "[\"agents\"]";
        /// Authorization servers that may be shown the secret, by any URL of theirs. One at the origin
        /// of the agent may be shown it without.
        servers: Vec<String>, default("[]") => "[\"https://login.example.com\"]";
    }
}

section! {
    /// Who may use an agent: everybody whom the server lets in, unless something is listed. Whoever
    /// may not is refused with 403.
    Allow {
        /// Callers, by their names: `api-key`, `key:NAME`, `jwt:ISSUER#SUBJECT` or `cert:…`. It must
        /// be one of these.
        principals: Vec<String>, default("[]") => "[\"key:ci\"]";
        /// Scopes. It must have all of these.
        scopes: Vec<String>, default("[]") => "[\"deploy\"]";
    }
}

section! {
    /// Something an agent can do, for its card.
    Skill {
        /// Its identifier.
        id: String, required => "\"shout\"";
        /// Its name, for people.
        name: String, optional("its identifier") => "\"Shout\"";
        /// What it does.
        description: String, default("\"\"") => "\"Turns letters into capitals\"";
        /// Words to find it by.
        tags: Vec<String>, default("[]") => "[\"text\"]";
        /// What a caller might say.
        examples: Vec<String>, default("[]") => "[\"hello\"]";
    }
}

choice! {
    /// What stands behind an agent.
    AgentKindTag: "`echo`, `command`, `demo`, `a2a`, `mcp` or `model`" {
        /// Says again what was said.
        Echo,
        /// A program.
        Command,
        /// Reaches every state on request.
        Demo,
        /// An agent elsewhere.
        A2a,
        /// A server of the Model Context Protocol.
        Mcp,
        /// A model with tools.
        Model,
    }
}

choice! {
    /// A transport.
    Binding: "`jsonrpc`, `http_json` or `grpc`" {
        /// JSON-RPC.
        Jsonrpc,
        /// HTTP and JSON.
        HttpJson,
        /// gRPC.
        Grpc,
    }
}

choice! {
    /// Whose cards are believed.
    SignaturePolicy: "`ignore`, `if_signed` or `required`" {
        /// Everybody's.
        Ignore,
        /// What is signed must be signed by a trusted key.
        IfSigned,
        /// Everything must.
        Required,
    }
}

choice! {
    /// What happens when several messages come to one conversation.
    ContextConcurrency: "`parallel`, `queue` or `reject`" {
        /// They are worked on at the same time.
        Parallel,
        /// One after the other.
        Queue,
        /// All but the first are refused.
        Reject,
    }
}

choice! {
    /// What a program reads.
    CommandInput: "`text` or `json`" {
        /// The texts of the message.
        Text,
        /// The whole message.
        Json,
    }
}
