//! `[[agents]]`: keys of every kind, and the kinds.

use std::time::Duration;

use super::agent_kind::{A2aKeys, CommandKeys, DemoKeys, McpKeys, ModelKeys};
use crate::config::section::{choice, kinds, section};

section! {
    /// An agent that is served.
    pub AgentConfig, checked {
        /// Its name, which is also a part of its address: letters, digits, `-`, `_` and `.`.
        name: String, required => "\"shout\"";
        /// What stands behind it. `echo` says again what was said, `command` runs a program for each
        /// message, `demo` reaches every state of a task on request, `a2a` calls an agent elsewhere.
        /// `mcp` and `model` are not available in this version.
        kind: AgentKind, kind => "\"command\"";
        /// What its card says in place of what its kind says.
        card: CardConfig, flat;
        /// Whether its answers can be streamed. Without, callers wait for them or ask again.
        streaming: bool, default("true") => "false";
        /// What happens when several messages come to one conversation: they are worked on at the
        /// same time (`parallel`) or one after the other (`queue`), or all but the first are refused
        /// (`reject`).
        contexts: ContextConcurrency, default("\"parallel\"") => "\"queue\"";
        /// How long a caller that waits for the answer is kept waiting before it gets the task as it
        /// stands.
        max_wait: Duration, default("\"10m\"") => "\"1m\"";
        /// How long the agent may work on one message.
        max_turn: Duration, optional("any time") => "\"1h\"";
        /// How long the agent has to stop by itself when its task is canceled.
        cancel_grace: Duration, default("\"5s\"") => "\"30s\"";
        /// For how long a message that comes again gets the answer it got before. `0` means never.
        repeat_window: Duration, default("\"5m\"") => "\"1h\"";
        /// Who may use it. Its card is for all.
        allow: Allow, section;
    }
}

kinds! {
    /// What stands behind an agent.
    pub AgentKind: "`echo`, `command`, `demo`, `a2a`, `mcp` or `model`" {
        /// Says again what was said.
        "echo" => Echo,
        /// A program.
        "command" => Command(keys: CommandKeys),
        /// Reaches every state of a task on request.
        "demo" => Demo(keys: DemoKeys),
        /// An agent elsewhere.
        "a2a" => A2a(keys: Box<A2aKeys>),
        /// A server of the Model Context Protocol. Not available in this version.
        "mcp" => Mcp(keys: McpKeys),
        /// A model with tools. Not available in this version.
        "model" => Model(keys: ModelKeys),
    }
}

section! {
    /// What a card says in place of what an agent's kind says.
    pub CardConfig {
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
    }
}

section! {
    /// Something an agent can do, for its card.
    pub Skill {
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

section! {
    /// Who may use an agent: everybody whom the server lets in, unless something is listed. Whoever
    /// may not is refused with 403.
    pub Allow {
        /// Callers, by their names: `api-key`, `key:NAME`, `jwt:ISSUER#SUBJECT` or `cert:…`. It must
        /// be one of these.
        principals: Vec<String>, default("[]") => "[\"key:ci\"]";
        /// Scopes. It must have all of these.
        scopes: Vec<String>, default("[]") => "[\"deploy\"]";
    }
}

choice! {
    /// What happens when several messages come to one conversation.
    pub ContextConcurrency: "`parallel`, `queue` or `reject`" {
        /// They are worked on at the same time.
        Parallel,
        /// One after the other.
        Queue,
        /// All but the first are refused.
        Reject,
    }
}
