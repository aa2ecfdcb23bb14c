//! Builds and runs a server with its agents and its store from a configuration.
//!
//! [`LoadedConfig::load`](config::LoadedConfig::load) reads and checks a configuration, and
//! [`Daemon::start`] runs it. [`OperatorClient`] administers a running or stopped daemon.
//!
//! ```no_run
//! use latimer_daemon::Daemon;
//! use latimer_daemon::config::{Environment, LoadRequest, LoadedConfig};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let environment = Environment::current();
//! let loaded = LoadedConfig::load(&LoadRequest { environment, ..LoadRequest::default() })?;
//! let daemon = Daemon::start(&loaded.config).await?;
//! println!("listening on {}", daemon.address());
//! daemon.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod agents;
mod auth;
mod banner;
pub mod config;
mod daemon;
mod error;
mod operator;
mod redact;
mod remote;
mod signing;
mod store;
mod unfinished;

pub use agents::{MissingProgram, missing_programs};
pub use auth::hash_key;
pub use banner::{Banner, PublishedAgent};
pub use daemon::{Daemon, validate};
pub use error::StartError;
pub use latimer_protocol::Secret;
pub use latimer_runtime::shell_command;
pub use latimer_server::ReplayOutcome;
pub use operator::{OperatorClient, OperatorError};
pub use unfinished::UnfinishedTasks;
