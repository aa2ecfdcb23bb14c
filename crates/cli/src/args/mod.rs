//! Command-line arguments.

mod card;

use std::path::PathBuf;

use clap::builder::UnknownArgumentValueParser;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use card::{Algorithm, CardCommand, CardKeygen, CardSign, CardVerify};

/// Publish agents over every version of A2A
#[derive(Debug, Parser)]
#[command(
    name = "latimer",
    version,
    disable_version_flag = true,
    after_help = "\
Examples:
  latimer serve                        serve an echo agent on 127.0.0.1:50051
  latimer serve --exec 'tr a-z A-Z'    serve a shell command as an agent
  latimer serve --proxy URL            publish a remote agent in every version
  latimer config show                  print effective settings"
)]
pub(crate) struct Cli {
    /// Print the version
    #[arg(short = 'v', short_alias = 'V', long, action = ArgAction::Version)]
    version: Option<bool>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve agents
    #[command(after_help = "\
Examples:
  latimer serve
  latimer serve --listen 127.0.0.1:0
  latimer serve --exec 'tr a-z A-Z'
  latimer serve --exec ./agent.sh --env LANG --env API_KEY
  latimer serve --proxy https://partner.example.com
  latimer serve --proxy URL --listen 127.0.0.1:0 --store two.db
  latimer serve --config latimer.toml --check

Without --config, reads the file that LATIMER_CONFIG names, or the first
latimer.toml in the current directory and its parents in the same repository,
in ~/.config/latimer and in /etc/latimer. Without a file, serves an echo agent.
Options override the configuration.

The command of --exec reads the text of a message from standard input, with a
final line break, and its output is the result. Its environment contains PATH,
a private HOME and TMPDIR, LATIMER_AGENT, LATIMER_TASK_ID, LATIMER_CONTEXT_ID,
and the variables of --env; with --inherit-env all variables, HOME included.")]
    Serve(Serve),

    /// Serve a demo agent that reaches every task state on request
    #[command(after_help = "\
Examples:
  latimer demo-server
  latimer demo-server --listen 127.0.0.1:0 --no-extended-card

The first word of a message is an instruction: echo, say, chunks, wait, ask,
auth, fail, reject, file, url, data, stubborn or burst. The agent card describes
each of them.")]
    DemoServer(DemoServer),

    /// Generate keys, sign and verify agent cards
    #[command(subcommand)]
    Card(CardCommand),

    /// Check and print the configuration
    #[command(subcommand)]
    Config(ConfigCommand),

    /// Administer push notifications
    #[command(subcommand)]
    Push(PushCommand),

    /// Print a shell completion script
    #[command(after_help = "\
Example:
  latimer completion bash > ~/.local/share/bash-completion/completions/latimer")]
    Completion {
        /// Target shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Read this TOML or JSON file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Listen on this address; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,

    /// Store tasks in this SQLite file
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,

    /// Serve an echo agent instead of the configured agents
    #[arg(long, conflicts_with_all = ["exec", "proxy"])]
    pub(crate) echo: bool,

    /// Serve an agent that runs this command per message
    #[arg(long, value_name = "COMMAND", value_parser = parse_exec, conflicts_with = "proxy")]
    pub(crate) exec: Option<String>,

    /// Publish the remote agent at this URL in every version
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Option<String>,

    /// Split the output of --exec into chunks at this string
    #[arg(long, value_name = "DELIMITER", requires = "exec")]
    pub(crate) chunk: Option<String>,

    /// Pass this environment variable to --exec; repeatable
    #[arg(long, value_name = "NAME", requires = "exec")]
    pub(crate) env: Vec<String>,

    /// Pass all variables to --exec, except LATIMER_*
    #[arg(long, requires = "exec")]
    pub(crate) inherit_env: bool,

    /// Send this bearer token to --proxy; visible in ps
    #[arg(long, requires = "proxy", conflicts_with = "token_env")]
    pub(crate) token: Option<String>,

    /// Send the token in this variable to --proxy
    #[arg(long, value_name = "NAME", requires = "proxy")]
    pub(crate) token_env: Option<String>,

    /// Call the URL of --proxy whatever its card lists
    #[arg(long, requires = "proxy")]
    pub(crate) call_url: bool,

    /// Validate configuration and programs, and exit
    #[arg(long)]
    pub(crate) check: bool,

    #[command(flatten)]
    _hints: Hints,
}

/// Options that do not exist, with a hint at the one that does.
#[derive(Debug, Args)]
struct Hints {
    #[arg(
        long, hide = true, value_name = "PORT",
        value_parser = UnknownArgumentValueParser::suggest_arg("--listen")
            .and_suggest("set the port with the address: --listen 127.0.0.1:PORT")
    )]
    port: Option<String>,
}

/// Parses the value of `--exec`.
fn parse_exec(line: &str) -> Result<String, &'static str> {
    match line.trim().is_empty() {
        true => Err("the command is empty"),
        false => Ok(line.to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct DemoServer {
    /// Listen on this address; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,

    /// Store tasks in this SQLite file instead of in memory
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,

    /// Publish no extended card
    #[arg(long)]
    pub(crate) no_extended_card: bool,

    /// Disable streaming
    #[arg(long)]
    pub(crate) no_streaming: bool,

    /// Disable push notifications
    #[arg(long)]
    pub(crate) no_push: bool,

    /// Request more input after messages without instruction
    #[arg(long)]
    pub(crate) open_ended: bool,

    /// Omit the 0.3 compatibility members from the card
    #[arg(long)]
    pub(crate) pure_card: bool,

    #[command(flatten)]
    _hints: Hints,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Report errors and warnings in the configuration
    #[command(after_help = "\
Examples:
  latimer config check
  latimer config check --config latimer.toml

Exits with code 2 if the configuration has errors. A configuration without
errors that cannot be served is a warning; `latimer serve --check` rejects it.")]
    Check(ConfigCheck),

    /// Print effective settings and the source of each
    #[command(after_help = "\
Examples:
  latimer config show
  latimer config show --output json

Secrets are hidden.")]
    Show(ConfigShow),

    /// Print the SHA-256 digest of an API key
    #[command(after_help = "\
Examples:
  latimer config hash-key < key.txt
  openssl rand -hex 32 | tee key.txt | latimer config hash-key

Reads the key from standard input, without the final line break. The digest is
the value of `sha256` in [[auth.keys]].")]
    HashKey,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PushCommand {
    /// List, replay and delete dead letters
    #[command(subcommand)]
    Dead(DeadLetterCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetterCommand {
    /// List dead letters
    #[command(after_help = "\
Examples:
  latimer push dead list
  latimer push dead list --output json

A dead letter is a webhook delivery that failed in every attempt. Reads dead
letters from the server while it runs, otherwise from its store.")]
    List(ListDeadLetters),

    /// Retry delivery of dead letters
    #[command(after_help = "\
Examples:
  latimer push dead replay 5f1c9a52-8d5e-8c0b-9a51-3d1f6a0c7b21
  latimer push dead replay --all

Delivered dead letters are deleted. Exits with code 1 if a delivery fails.")]
    Replay(DeadLetterSelection),

    /// Delete dead letters
    #[command(after_help = "\
Examples:
  latimer push dead drop 5f1c9a52-8d5e-8c0b-9a51-3d1f6a0c7b21
  latimer push dead drop --all

A deleted dead letter cannot be replayed.")]
    Drop(DeadLetterSelection),
}

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// Locate the server and its store by this TOML or JSON file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Connect to the server at this URL
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ListDeadLetters {
    #[command(flatten)]
    pub(crate) server: ServerArgs,

    /// Print in this format
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Args)]
pub(crate) struct DeadLetterSelection {
    #[command(flatten)]
    pub(crate) server: ServerArgs,

    /// Ids of dead letters
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) ids: Vec<String>,

    /// Select all dead letters
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigCheck {
    /// Read this TOML or JSON file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShow {
    /// Read this TOML or JSON file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print in this format
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Human-readable
    Text,
    /// Machine-readable
    Json,
}
