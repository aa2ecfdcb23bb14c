//! What can be said on the command line.

mod card;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use card::{Algorithm, CardCommand, CardKeygen, CardSign, CardVerify};

/// Publishes agents over every version of A2A
#[derive(Debug, Parser)]
#[command(
    name = "latimer",
    version,
    disable_version_flag = true,
    after_help = "\
Examples:
  latimer serve                        an agent that echoes, on 127.0.0.1:50051
  latimer serve --exec 'tr a-z A-Z'    a program as an agent
  latimer serve --proxy URL            an agent elsewhere, in every version
  latimer config show                  what holds, and where it comes from"
)]
pub(crate) struct Cli {
    /// Print the version
    #[arg(short = 'v', long, action = ArgAction::Version)]
    version: Option<bool>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run agents as a server
    #[command(after_help = "\
Examples:
  latimer serve
  latimer serve --listen 127.0.0.1:0
  latimer serve --exec 'tr a-z A-Z'
  latimer serve --proxy https://partner.example.com
  latimer serve --proxy URL --listen 127.0.0.1:0 --store two.db
  latimer serve --config latimer.toml --check

Without --config the configuration is that of LATIMER_CONFIG, or the first of
latimer.toml here or further up in this repository, that of the user and that
of the machine. Without any, one agent is served that echoes.")]
    Serve(Serve),

    /// Run an agent that reaches every state of a task on request
    #[command(after_help = "\
Examples:
  latimer demo-server
  latimer demo-server --listen 127.0.0.1:0 --no-extended-card

The first word of a message says what to do: echo, say, chunks, wait, ask,
auth, fail, reject, file, url, data, stubborn or burst. The card of the agent
explains each.")]
    DemoServer(DemoServer),

    /// Sign cards, and prove who signed them
    #[command(subcommand)]
    Card(CardCommand),

    /// Look at the configuration
    #[command(subcommand)]
    Config(ConfigCommand),

    /// Look after webhooks
    #[command(subcommand)]
    Push(PushCommand),

    /// Print a script that completes commands in a shell
    #[command(after_help = "\
Example:
  latimer completion bash > ~/.local/share/bash-completion/completions/latimer")]
    Completion {
        /// The shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Read this file, TOML or JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Listen at this address; port 0 is any free one
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,

    /// Keep tasks in this file, not the configured one
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,

    /// Serve an agent that echoes, not those of the file
    #[arg(long, conflicts_with_all = ["exec", "proxy"])]
    pub(crate) echo: bool,

    /// Serve a shell command that answers each message
    #[arg(long, value_name = "COMMAND", conflicts_with = "proxy")]
    pub(crate) exec: Option<String>,

    /// Serve the agent at this address, in every version
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Option<String>,

    /// Stream the answer of --exec in pieces that end so
    #[arg(long, value_name = "DELIMITER", requires = "exec")]
    pub(crate) chunk: Option<String>,

    /// Say whether it could be served, and end
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DemoServer {
    /// Listen at this address; port 0 is any free one
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,

    /// Keep tasks in this file; they are forgotten otherwise
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,

    /// Have no extended card
    #[arg(long)]
    pub(crate) no_extended_card: bool,

    /// Stream nothing
    #[arg(long)]
    pub(crate) no_streaming: bool,

    /// Tell no webhooks
    #[arg(long)]
    pub(crate) no_push: bool,

    /// Ask for more after every message that is no command
    #[arg(long)]
    pub(crate) open_ended: bool,

    /// Write the card for callers of 1.0 alone
    #[arg(long)]
    pub(crate) pure_card: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Say what is wrong with a configuration
    #[command(after_help = "\
Examples:
  latimer config check
  latimer config check --config latimer.toml

Exits with 2 when something is wrong. What holds and cannot be served is a
warning: `latimer serve --check` refuses it.")]
    Check(ConfigCheck),

    /// Print what holds, and where it comes from
    #[command(after_help = "\
Examples:
  latimer config show
  latimer config show --output json

Secrets are hidden.")]
    Show(ConfigShow),

    /// Print the digest of a key, as the configuration has it
    #[command(after_help = "\
Examples:
  latimer config hash-key < key.txt
  openssl rand -hex 32 | tee key.txt | latimer config hash-key

The key is read from standard input, without the end of its line. What is
printed goes into `sha256` of [[auth.keys]].")]
    HashKey,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PushCommand {
    /// What could not be delivered
    #[command(subcommand)]
    Dead(DeadLetterCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetterCommand {
    /// Show what could not be delivered
    #[command(after_help = "\
Examples:
  latimer push dead list
  latimer push dead list --output json

The server is asked while it runs, and its store otherwise.")]
    List(ListDeadLetters),

    /// Try once more to deliver
    #[command(after_help = "\
Examples:
  latimer push dead replay 5f1c9a52-8d5e-8c0b-9a51-3d1f6a0c7b21
  latimer push dead replay --all

What arrives is gone from the list. Exits with 1 when something does not.")]
    Replay(DeadLetterSelection),

    /// Forget what could not be delivered
    #[command(after_help = "\
Examples:
  latimer push dead drop 5f1c9a52-8d5e-8c0b-9a51-3d1f6a0c7b21
  latimer push dead drop --all")]
    Drop(DeadLetterSelection),
}

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// Read this file, TOML or JSON: it says where the server or its store is
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Ask the server at this address
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ListDeadLetters {
    #[command(flatten)]
    pub(crate) server: ServerArgs,

    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Args)]
pub(crate) struct DeadLetterSelection {
    #[command(flatten)]
    pub(crate) server: ServerArgs,

    /// Which ones, by their ids
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) ids: Vec<String>,

    /// All of them
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigCheck {
    /// Read this file, TOML or JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShow {
    /// Read this file, TOML or JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// For programs
    Json,
}
