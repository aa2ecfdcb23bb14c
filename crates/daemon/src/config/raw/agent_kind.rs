//! `[[agents]]`: keys of one kind.

use std::path::PathBuf;
use std::time::Duration;

use super::upstream::Upstream;
use crate::config::section::{choice, section};
use crate::config::size::ByteSize;

section! {
    /// A program that is run for each message.
    pub CommandKeys, checked {
        /// The program and its arguments. A program without a slash is looked for on the `PATH`; `..` is
        /// refused.
        command: Vec<String>, required => "[\"tr\", \"a-z\", \"A-Z\"]";
        /// What the program reads from its standard input. `text` is the texts of the message, `json`
        /// the whole message as the JSON of A2A 1.0.
        input: CommandInput, default("\"text\"") => "\"json\"";
        /// Ends a piece of the streamed answer behind each of these.
        chunk: String, optional("a piece is what was written at a time") => "\"\\n\"";
        /// Variables of the environment that the program gets, besides `PATH`.
        env: Vec<String>, default("[]") => "[\"LANG\"]";
        /// The folder that it runs in.
        dir: PathBuf, optional("that of the server") => "\"/srv/shout\"";
        /// Gives the program the home folder of the server in place of one of its own.
        inherit_home: bool, default("false") => "true";
        /// How long the program may run.
        timeout: Duration, optional("any time") => "\"30s\"";
        /// How much the program may write.
        max_output: ByteSize, default("\"16MiB\"") => "\"1MiB\"";
        /// Tells the caller the end of what the program wrote to its standard error, when it fails.
        /// Otherwise only the log has that.
        show_stderr: bool, default("false") => "true";
    }
}

section! {
    /// An agent for demonstrations and tests.
    pub DemoKeys {
        /// Has an extended card, too.
        extended_card: bool, default("true") => "false";
        /// Asks for more after every message that is no command.
        open_ended: bool, default("false") => "true";
    }
}

section! {
    /// An agent elsewhere that is published here.
    pub A2aKeys {
        /// The agent, and how it is called.
        upstream: Upstream, flat;
        /// How many agents a message may pass, this one included, before it is rejected.
        hops: u32, default("8") => "3";
        /// Tells the agent who calls, by the name they have here, in the member `userId` of the metadata
        /// of each message. Otherwise it learns nothing of callers but what they say.
        forward_user: bool, default("false") => "true";
    }
}

section! {
    /// A server of the Model Context Protocol.
    pub McpKeys {
        /// The server of `[[mcp_servers]]`.
        server: String, required => "\"filesystem\"";
    }
}

section! {
    /// A model with tools.
    pub ModelKeys {
        /// Who runs the model.
        provider: String, optional("none") => "\"openai\"";
        /// Which model.
        model: String, required => "\"small\"";
        /// The tools it may use.
        tools: Vec<String>, optional("none") => "[\"file_read\", \"mcp_github_*\"]";
    }
}

choice! {
    /// What a program reads.
    pub CommandInput: "`text` or `json`" {
        /// The texts of the message.
        Text,
        /// The whole message.
        Json,
    }
}
