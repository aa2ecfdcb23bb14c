//! `[[agents]]`: keys of one kind.

use std::path::PathBuf;
use std::time::Duration;

use super::upstream::Upstream;
use crate::config::section::{choice, section};
use crate::config::size::ByteSize;

section! {
    /// Keys of an agent that runs a program for each message.
    pub CommandKeys, checked {
        /// Program and arguments to run for each message. A program without a slash is searched on
        /// `PATH`; a relative path is relative to the configuration file, or to `dir` if that is
        /// set. `..` in it is rejected.
        command: Vec<String>, required => "[\"tr\", \"a-z\", \"A-Z\"]";
        /// What the program reads from standard input: `text` is the text parts of the message, one
        /// per line, `json` the complete message as A2A 1.0 JSON. Both end with a line break.
        input: CommandInput, default("\"text\"") => "\"json\"";
        /// Delimiter that ends a chunk of streamed output.
        chunk: String, optional("each write of the program is a chunk") => "\"\\n\"";
        /// Environment variables to pass to the program. It otherwise gets `PATH`, a private `HOME`
        /// and `TMPDIR`, `LATIMER_AGENT`, `LATIMER_TASK_ID`, `LATIMER_CALLER` (the principal of the
        /// caller, empty for an anonymous one) and `LATIMER_CONTEXT_ID` (a UUID derived from caller,
        /// agent and context).
        env: Vec<String>, default("[]") => "[\"LANG\"]";
        /// Whether the program gets all environment variables of the server, except those that start
        /// with `LATIMER_`. `HOME` and `TMPDIR` stay private unless `inherit_home` is set.
        inherit_env: bool, default("false") => "true";
        /// Working directory of the program.
        dir: PathBuf, optional("the working directory of the server") => "\"/srv/shout\"";
        /// Whether the program gets the home directory of the server instead of a private one.
        inherit_home: bool, default("false") => "true";
        /// Time allowed for one run of the program. After this time it is stopped and the task
        /// fails. `0` disables the limit.
        timeout: Duration, optional("`\"1h\"`") => "\"30s\"";
        /// Maximum size of the program's output. A program that writes more is stopped and the task
        /// fails.
        max_output: ByteSize, default("\"16MiB\"") => "\"1MiB\"";
        /// Whether a caller sees the end of the program's standard error if the program fails.
        /// Otherwise only the log contains it.
        show_stderr: bool, default("false") => "true";
    }
}

section! {
    /// Keys of the demo agent.
    pub DemoKeys {
        /// Whether the agent has an extended card. Callers get it only if authentication is
        /// configured.
        extended_card: bool, default("true") => "false";
        /// Whether the agent requires further input after every message that is not one of its
        /// instructions.
        open_ended: bool, default("false") => "true";
    }
}

section! {
    /// Keys of a remote agent that is published.
    pub A2aKeys {
        /// The remote agent, and how to call it.
        upstream: Upstream, flat;
        /// Maximum number of gateways that a message may pass, including this one. A message that
        /// has passed more is rejected.
        hops: u32, default("8") => "3";
        /// Whether to send the caller's principal to the remote agent, as `userId` in the metadata
        /// of each message. Otherwise the remote agent receives no identity of callers.
        forward_user: bool, default("false") => "true";
        /// Whether to reject messages with media types that the input modes of the card do not
        /// cover. Otherwise the remote agent decides which media types it accepts.
        enforce_modes: bool, default("false") => "true";
    }
}

section! {
    /// Keys of an MCP server that is published as an agent.
    pub McpKeys {
        /// Name of the server in `[[mcp_servers]]` to publish.
        server: String, required => "\"filesystem\"";
    }
}

section! {
    /// Keys of a model with tools.
    pub ModelKeys {
        /// Provider of the model.
        provider: String, optional("none") => "\"openai\"";
        /// Name of the model at its provider.
        model: String, required => "\"small\"";
        /// Names of the tools that the model may use; `*` matches any characters.
        tools: Vec<String>, optional("none") => "[\"file_read\", \"mcp_github_*\"]";
    }
}

choice! {
    /// What a program reads from standard input.
    pub CommandInput: "`text` or `json`" {
        /// The text parts of the message, one per line.
        Text,
        /// The complete message as A2A 1.0 JSON.
        Json,
    }
}
