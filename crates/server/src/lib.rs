//! Publishes agents over every A2A version and binding, with tasks that survive.
//!
//! An agent is an [`Executor`]: it gets a [`Turn`], reads what was said, and says what it does about
//! it. Everything else is the server's: transports, versions, streams, cards, and the log that each
//! task is.

mod agent;
mod engine;
mod executor;
mod turn;

pub use agent::{Agent, Contexts, InvalidAgents, Policy, Registry};
pub use engine::{Activity, CURSOR, Engine, Limits};
pub use executor::Executor;
pub use turn::{ArtifactWriter, Failure, Turn, TurnError};
