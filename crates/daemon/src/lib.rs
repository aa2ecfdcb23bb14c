//! Puts agents, a store and a server together as a configuration says.
//!
//! [`config::Loaded::load`] finds and checks a configuration, and [`Daemon::start`] runs it.

mod agents;
mod auth;
mod banner;
pub mod config;
mod daemon;
mod error;
mod files;
mod operator;
mod remote;
mod signing;
mod store;
mod veil;

pub use auth::hash_key;
pub use banner::{Banner, Published};
pub use daemon::{Daemon, check};
pub use error::StartError;
pub use latimer_protocol::Secret;
pub use latimer_runtime::shell_command;
pub use latimer_server::ReplayOutcome;
pub use operator::{Operator, OperatorError};
