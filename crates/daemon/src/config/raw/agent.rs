//! `[[agents]]`: keys of every kind, and the kinds.

use std::time::Duration;

use super::agent_kind::{A2aKeys, CommandKeys, DemoKeys, McpKeys, ModelKeys};
use crate::config::section::{choice, kinds, section};

section! {
    /// An agent to serve.
    pub AgentConfig, checked {
        /// Name of the agent, unique in the configuration. It is part of the agent's URL and its
        /// tenant: letters, digits, `-`, `_` and `.`.
        name: String, required => "\"shout\"";
        /// Kind of executor that runs the agent's turns: `echo` returns the text of the message,
        /// `command` runs a program for each message, `demo` reaches every task state on request,
        /// `a2a` publishes a remote agent. `mcp` and `model` are accepted in a file, but this
        /// version cannot serve them.
        kind: AgentKind, kind => "\"command\"";
        /// What the agent's card contains in place of the defaults of its kind.
        card: CardConfig, flat;
        /// Whether the agent's card offers streaming. If `false`, callers can only block or poll.
        streaming: bool, default("true") => "false";
        /// Whether the agent may reply with a message instead of a task. If `false`, every reply is
        /// a task, which callers see as soon as the agent has to wait for something. If `true`,
        /// callers see a task once the agent has done anything but reply with a message.
        direct_replies: bool, optional("`true` for `a2a` and `demo`, otherwise `false`") => "true";
        /// How the agent handles concurrent messages in one context: `parallel` runs them
        /// concurrently, `queue` in arrival order, `reject` refuses all but the first. Messages to
        /// a task that requires input are always accepted.
        contexts: ContextConcurrency, default("\"parallel\"") => "\"queue\"";
        /// Maximum number of messages that the agent processes at the same time, for all callers.
        /// Further messages are queued, and rejected with 429 once 256 are queued; one caller can
        /// fill half of the queue. `0` disables the limit.
        max_concurrent: u64, optional("`64` for `command`, otherwise no limit") => "8";
        /// How long a blocking send may wait for the agent. After this time the caller receives the
        /// task in its current state.
        max_wait: Duration, default("\"10m\"") => "\"1m\"";
        /// Time allowed for the agent to process one message. After this time the task fails.
        max_turn: Duration, optional("no limit") => "\"1h\"";
        /// How long a canceled agent may take to stop by itself before it is aborted.
        cancel_grace: Duration, default("\"5s\"") => "\"30s\"";
        /// How long an identical message is treated as a retry and returns the original result. `0`
        /// disables deduplication.
        repeat_window: Duration, default("\"5m\"") => "\"1h\"";
        /// Callers that may use this agent. Empty lists allow every caller that the server accepts;
        /// others are rejected with 403. The agent's card stays readable. Requires authentication.
        allow: AllowKeys, section;
    }
}

kinds! {
    /// What runs the turns of an agent, with the keys of its kind.
    pub AgentKind: "`echo`, `command`, `demo`, `a2a`, `mcp` or `model`" {
        /// Returns the text of the message.
        "echo" => Echo,
        /// Runs a program for each message. Its standard input is the message, its standard output
        /// the result.
        "command" => Command(keys: CommandKeys),
        /// Reaches every task state on request, for demonstrations and tests.
        "demo" => Demo(keys: DemoKeys),
        /// Publishes a remote agent over every version and binding. The server acts as a gateway in
        /// front of it.
        "a2a" => A2a(keys: Box<A2aKeys>),
        /// Publishes an MCP server as an agent. Not available in this version.
        "mcp" => Mcp(keys: McpKeys),
        /// Runs a language model with tools. Not available in this version.
        "model" => Model(keys: ModelKeys),
    }
}

section! {
    /// Card members that replace the defaults of an agent's kind.
    pub CardConfig {
        /// What the agent does, for its card.
        description: String, optional("the description of its kind") => "\"Says it louder\"";
        /// Version of the agent itself, for its card.
        version: String, optional("the version of the server") => "\"2.1.0\"";
        /// Media types that the agent accepts, for its card.
        input_modes: Vec<String>, optional("those of its kind") => "[\"text/plain\"]";
        /// Media types that the agent produces, for its card.
        output_modes: Vec<String>, optional("those of its kind") => "[\"text/plain\"]";
        /// Skills for the agent's card. They replace the skills of its kind.
        skills: Vec<Skill>, section;
    }
}

section! {
    /// A skill in an agent's card.
    pub Skill {
        /// Identifier of the skill, unique within the agent.
        id: String, required => "\"shout\"";
        /// Human-readable name of the skill.
        name: String, optional("the value of `id`") => "\"Shout\"";
        /// What the skill does.
        description: String, default("\"\"") => "\"Turns letters into capitals\"";
        /// Keywords of the skill, for search.
        tags: Vec<String>, default("[]") => "[\"text\"]";
        /// Example messages for the skill.
        examples: Vec<String>, default("[]") => "[\"hello\"]";
    }
}

section! {
    /// Callers that may use an agent; every caller if both lists are empty.
    pub AllowKeys {
        /// Principals that may use the agent: `api-key`, `key:NAME`, `jwt:ISSUER#SUBJECT` or
        /// `cert:…`. An empty list allows every principal.
        principals: Vec<String>, default("[]") => "[\"key:ci\"]";
        /// Scopes that a caller needs to use the agent, all of them. An empty list requires none.
        scopes: Vec<String>, default("[]") => "[\"deploy\"]";
    }
}

choice! {
    /// How concurrent messages in one context are handled.
    pub ContextConcurrency: "`parallel`, `queue` or `reject`" {
        /// Concurrently.
        Parallel,
        /// One after the other, in arrival order.
        Queue,
        /// Only the first; others are rejected while it runs.
        Reject,
    }
}
