//! Publishes agents over every A2A version and binding, and stores their tasks.
//!
//! ```toml
//! [dependencies]
//! latimer-server = { version = "0.1", features = ["grpc", "push", "tls"] }
//! latimer-store = { version = "0.1", features = ["sqlite"] }
//! ```
//!
//! | feature | adds | without it |
//! | --- | --- | --- |
//! | `grpc` | the gRPC binding, with health checks and reflection | JSON-RPC and HTTP+JSON only |
//! | `jwt` | callers authenticated by tokens of an identity provider, which publishes its keys | API keys, certificates or your implementation of [`Authenticate`] |
//! | `push` | webhooks | cards declare no push notifications |
//! | `signing` | signatures of cards and webhook deliveries | cards are not signed |
//! | `tls` | TLS listeners and client certificates | plain HTTP, behind a proxy or on loopback |
//!
//! No feature is on by default, and a card lists only what is compiled in. All features but `grpc`
//! need a C compiler. Tasks are stored in memory unless the server has another store; the one for
//! SQLite is the feature `sqlite` of [`latimer-store`](store). The feature table of the README
//! describes the `latimer` binary, which is built with every feature.
//!
//! An agent is an [`Executor`], or a function that takes a [`Turn`]: it reads the message of the
//! caller from the turn and reports progress, artifacts and replies through it. The server adds
//! transports, protocol versions, streams, cards, authentication and the log of each task.

mod address;
mod agent;
mod auth;
mod binding;
mod card_handle;
mod engine;
mod error;
mod executor;
mod host;
mod listener;
mod metrics;
#[cfg_attr(not(feature = "push"), path = "push/disabled.rs")]
mod push;
mod rate;
mod server;
mod settings;
#[cfg_attr(not(feature = "signing"), path = "signing/disabled.rs")]
mod signing;
mod swarm;
mod sync;
mod turn;

pub use agent::{Agent, AgentRegistry, ContextConcurrency, InvalidAgents, Policy, Record};
pub use auth::{
    Access, AnyOf, ApiKeys, AuthError, Authenticate, ClientCertificate, CredentialSource,
    InvalidDigest, KeyDigest, OPERATOR_SCOPE, PresentedCredentials, SecurityDeclaration,
};
#[cfg(feature = "tls")]
pub use auth::{CertificateAuth, CertificateName, InvalidCertificate};
#[cfg(feature = "jwt")]
pub use auth::{InvalidJwt, JwtAlgorithm, JwtAuth, JwtSettings};
pub use card_handle::CardHandle;
pub use engine::{AccessRule, Activity, CURSOR_EXTENSION, CallerLimits, Engine, EngineLimits};
pub use error::{Error, Result};
pub use executor::{Executor, Health};
pub use latimer_outbound as outbound;
pub use latimer_outbound::{InvalidNetwork, Network};
pub use latimer_protocol as protocol;
pub use latimer_store as store;
#[cfg(feature = "tls")]
pub use listener::{ClientCertificateMode, Tls};
pub use push::WebhookDispatcher;
#[cfg(feature = "push")]
pub use push::{DeadLetterView, PushSettings, ReplayOutcome, V0_3Body};
pub use rate::RateLimit;
pub use server::{AssembledServer, RunningServer, Server, ServerHandle};
pub use settings::{HttpLimits, Settings, StreamTerminator};
#[cfg(feature = "signing")]
pub use signing::{DeliveryClaims, KeyGenerationError, Keyring, generate_key};
pub use turn::{AgentFailure, ArtifactWriter, Turn, TurnError};

/// Tests of the code in the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/embedding.md")]
mod guide {}
