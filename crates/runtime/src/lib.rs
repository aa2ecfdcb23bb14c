//! What stands behind an agent.
//!
//! | agent | what it does |
//! | --- | --- |
//! | [`Echo`] | says again what was said |
//! | [`Command`] | runs a program per turn: the message is its input, its output the answer |
//! | [`Remote`] | calls an agent elsewhere, of any version, and says again what that one says |
//! | [`Demo`] | reaches every state of a task on request, and goes on after a restart |
//!
//! Each is an [`Executor`](latimer_server::Executor), with an `agent` function that makes it an
//! [`Agent`](latimer_server::Agent) with a card. [`tools`] has what an agent can use: among it, an
//! agent elsewhere as a tool.

mod command;
mod demo;
mod echo;
mod process;
mod remote;
pub mod tools;

pub use command::{Command, Input, InvalidCommand, shell};
pub use demo::Demo;
pub use echo::Echo;
pub use remote::{Lookout, Remote};

/// The code of the guide, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/using.md")]
mod guide {}
