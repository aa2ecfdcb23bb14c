//! Puts agents, a store and a server together as a configuration says.
//!
//! [`config::LoadedConfig::load`] finds and checks a configuration, and [`Daemon::start`] runs it.

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

pub use auth::hash_key;
pub use banner::{Banner, PublishedAgent};
pub use daemon::{Daemon, validate};
pub use error::StartError;
pub use latimer_protocol::Secret;
pub use latimer_runtime::shell_command;
pub use latimer_server::ReplayOutcome;
pub use operator::{OperatorClient, OperatorError};
