//! What stands behind an agent.
//!
//! | agent | what it does |
//! | --- | --- |
//! | [`EchoAgent`] | says again what was said |
//! | [`CommandAgent`] | runs a program per turn: the message is its input, its output the answer |
//! | [`RemoteAgent`] | calls an agent elsewhere, of any version, and says again what that one says |
//! | [`DemoAgent`] | reaches every state of a task on request, and goes on after a restart |
//!
//! Each is an [`Executor`](latimer_server::Executor), with a `new_agent` or `into_agent`
//! function that makes it an [`Agent`](latimer_server::Agent) with a card. [`tools`] has what an agent can use: among it, an
//! agent elsewhere as a tool.

mod command;
mod demo;
mod echo;
mod peer;
mod process;
mod remote;
pub mod tools;

pub use command::{CommandAgent, Input, InvalidCommand, shell_command};
pub use demo::DemoAgent;
pub use echo::EchoAgent;
pub use process::create_private_dir;
pub use remote::{DiscoveryHandle, RemoteAgent};

/// The code of the guide, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/using.md")]
mod guide {}
