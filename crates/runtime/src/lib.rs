//! Ready-made executors for agents, and tools that agents can call.
//!
//! | agent | behavior |
//! | --- | --- |
//! | [`EchoAgent`] | returns the parts of the message |
//! | [`CommandAgent`] | runs a program for each turn: the message is its input, its output the result |
//! | [`RemoteAgent`] | calls a remote agent of any protocol version and relays its events |
//! | [`DemoAgent`] | reaches every task state on request, and resumes after a restart |
//!
//! Each is an [`Executor`](latimer_server::Executor), and its `new_agent` or `into_agent` function
//! creates an [`Agent`](latimer_server::Agent) with a card. [`tools`] contains the
//! [`Tool`](tools::Tool) trait and [`AgentTool`](tools::AgentTool), which calls a remote agent as a
//! tool.
//!
//! | module | contents |
//! | --- | --- |
//! | `echo`, `command`, `demo`, `remote` | the agents |
//! | `tools` | tools, and remote agents as tools |
//! | `peer` | code that calls of remote agents share: hop paths, redaction, derived ids |
//! | `process` | child processes and private directories |

mod command;
mod demo;
mod echo;
mod peer;
mod process;
mod remote;
pub mod tools;

pub use latimer_protocol as protocol;

pub use command::{CommandAgent, InputFormat, InvalidCommand, shell_command};
pub use demo::DemoAgent;
pub use echo::EchoAgent;
pub use process::create_private_dir;
pub use remote::{DiscoveryHandle, RemoteAgent};

/// Compiles the code of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/using.md")]
mod guide {}
