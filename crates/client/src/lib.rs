//! Calls agents of every A2A version over every binding.
//!
//! [`Client::connect`] finds an agent's card, chooses one of its interfaces ([`negotiate`]), and calls
//! the agent over it. A [`Client`] has a method for each operation, and [`Client::follow`], which stays
//! with a task through lost connections until it is over or asks for something.
//!
//! Beneath it are the transports ([`transport`]), each a [`Service`](latimer_protocol::Service) for one
//! address. They write what the strictest servers want and read whatever real ones send. Every socket
//! is opened by the guarded client of [`outbound`], and every credential stays at the origin it was set
//! up for ([`Credentials`]).
//!
//! ```no_run
//! use latimer_client::{Client, user_message};
//! use latimer_protocol::SendMessageResponse;
//!
//! # async fn run() -> Result<(), latimer_client::Error> {
//! let client = Client::connect("http://127.0.0.1:8080").await?;
//! match client.send(user_message("hello")).await? {
//!     SendMessageResponse::Message(message) => println!("{}", message.text()),
//!     SendMessageResponse::Task(task) => println!("{}: {}", task.status.state, task.text()),
//! }
//! # Ok(())
//! # }
//! ```

mod a2a_client;
mod client;
pub mod credentials;
mod discovery;
mod error;
pub mod negotiate;
pub mod transport;

pub use a2a_client::A2aClient;
pub use client::{
    CallOptions, CardRefresh, Client, ClientBuilder, PollPolicy, RetryPolicy, TaskFollower,
    user_message,
};
pub use credentials::{ApiKeyLocation, CredentialSet, Credentials, OriginCredentials};
pub use discovery::{CardCache, CardSource, CardTrust, StoredCard};
pub use error::Error;
pub use latimer_outbound as outbound;

/// The code of the guide, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/calling.md")]
mod guide {}
