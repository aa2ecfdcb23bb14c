//! Publishes agents over every A2A version and binding, with tasks that survive.
//!
//! An agent is an [`Executor`]: it gets a [`Turn`], reads what was said, and says what it does about
//! it. Everything else is the server's: transports, versions, streams, cards, and the log that each
//! task is.

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
mod push;
mod rate;
mod server;
mod settings;
mod signing;
mod swarm;
mod sync;
mod turn;

pub use agent::{Agent, AgentRegistry, ContextConcurrency, InvalidAgents, Policy};
pub use auth::{
    Access, AnyOf, ApiKeys, AuthError, Authenticate, CertificateAuth, CertificateName,
    ClientCertificate, InvalidCertificate, InvalidDigest, InvalidJwt, Jwt, JwtAlgorithm,
    JwtSettings, KeyDigest, PresentedCredentials, SecurityDeclaration,
};
pub use binding::OPERATOR_SCOPE;
pub use card_handle::CardHandle;
pub use engine::{AccessRule, Activity, CURSOR_EXTENSION, CallerLimits, Engine, EngineLimits};
pub use error::{Error, Result};
pub use executor::{Executor, Health};
pub use latimer_outbound as outbound;
pub use latimer_outbound::{InvalidNetwork, Network};
pub use latimer_store as store;
pub use listener::{ClientCertificateMode, Tls};
pub use push::{DeadLetterView, PushSettings, ReplayOutcome, V0_3Body, WebhookDispatcher};
pub use rate::RateLimit;
pub use server::{RunningServer, Server};
pub use settings::{HttpLimits, Settings, StreamTerminator};
pub use signing::{DeliveryClaims, KeyGenerationError, Keyring, generate_key};
pub use turn::{AgentFailure, ArtifactWriter, Turn, TurnError};

/// The code of the guide, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/embedding.md")]
mod guide {}
