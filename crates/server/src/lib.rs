//! Publishes agents over every A2A version and binding, with tasks that survive.
//!
//! An agent is an [`Executor`]: it gets a [`Turn`], reads what was said, and says what it does about
//! it. Everything else is the server's: transports, versions, streams, cards, and the log that each
//! task is.

mod address;
mod agent;
mod auth;
mod binding;
mod engine;
mod error;
mod executor;
mod host;
mod listener;
mod metrics;
mod placard;
mod push;
mod rate;
mod server;
mod settings;
mod signing;
mod swarm;
mod turn;

pub use agent::{Agent, Contexts, InvalidAgents, Policy, Registry};
pub use auth::{
    Access, AnyOf, Authenticate, Certificates, ClientCertificate, Credentials, InvalidCertificate,
    InvalidDigest, InvalidJwt, Jwt, JwtAlgorithm, JwtSettings, KeyDigest, Keys, Name, REASON,
    Security,
};
pub use binding::OPERATOR;
pub use engine::{Activity, CURSOR_EXTENSION, Engine, Limits, PerCaller, Rule};
pub use error::{Error, Result};
pub use executor::{Executor, Health};
pub use latimer_outbound as outbound;
pub use latimer_outbound::{InvalidNetwork, Network};
pub use latimer_store as store;
pub use listener::{ClientCertificates, Tls};
pub use placard::Placard;
pub use push::{Courier, Letter, OlderBody, PushSettings, Replayed};
pub use rate::Rate;
pub use server::{Running, Server};
pub use settings::{HttpLimits, Settings, StreamTerminator};
pub use signing::{Delivery, Keyring, NoRandomness, generate};
pub use turn::{ArtifactWriter, Failure, Turn, TurnError};
