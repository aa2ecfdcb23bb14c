//! An agent elsewhere that is published here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::{Secret, Version};

/// An agent elsewhere that is published here.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpstreamConfig {
    /// Where it is.
    pub url: String,
    /// Where its card is, if not at a well-known place.
    pub card_url: Option<String>,
    /// Whether `url` itself is called, whatever address the card names.
    pub ignore_card_urls: bool,
    /// The file of the certificates that it may be vouched for by, beside those of the system.
    pub root_certificates: Option<PathBuf>,
    /// The certificate that is shown to it.
    pub identity: Option<IdentityConfig>,
    /// Headers that go with every call.
    pub headers: BTreeMap<String, Secret>,
    /// A bearer token that goes with every call.
    pub token: Option<Secret>,
    /// The file that has the token.
    pub token_file: Option<PathBuf>,
    /// What an authorization server knows us as.
    pub oauth: Option<OAuthConfig>,
    /// How long a call may take.
    pub timeout: Duration,
    /// How long a stream may be silent.
    pub idle_timeout: Duration,
    /// Whether its streams are used.
    pub use_streams: bool,
    /// Which of several agents at that address.
    pub tenant: Option<String>,
    /// The version of A2A to speak; what its card offers if there is none.
    pub version: Option<Version>,
    /// The transport to speak; what its card offers if there is none.
    pub binding: Option<ProtocolBinding>,
    /// Whose cards are believed.
    pub signature_policy: SignaturePolicy,
    /// The files of the keys that cards are signed with.
    pub trusted_keys: Vec<PathBuf>,
    /// How many agents a message may pass.
    pub max_hops: u32,
    /// Whether it is told who calls.
    pub forward_user: bool,
    /// What we call ourselves there, if not what everybody does.
    pub user_agent: Option<HeaderValue>,
}

/// The certificate that is shown to an agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IdentityConfig {
    /// The file that has it.
    pub certificate: PathBuf,
    /// The file that has its key.
    pub key: PathBuf,
}

/// What an authorization server knows us as.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OAuthConfig {
    /// Our name there.
    pub client_id: String,
    /// What proves it.
    pub client_secret: Option<Secret>,
    /// What to ask for.
    pub scopes: Vec<String>,
    /// The servers that may be shown the secret, besides that of the agent.
    pub trusted_servers: Vec<String>,
}

/// Whose cards are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignaturePolicy {
    /// Everybody's.
    Ignore,
    /// Everybody's, but what is signed must be signed by a trusted key.
    IfSigned,
    /// Only what is signed by a trusted key.
    Required,
}
