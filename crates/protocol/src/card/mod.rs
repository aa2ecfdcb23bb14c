//! Agent cards: how an agent describes itself and how it is called.
//!
//! [`AgentCard`] is the card of 1.0. [`AgentCard::read`] reads cards of every version, and
//! [`AgentCard::to_json`] writes them. [`validate`] checks the JSON of a published card. [`sign`]
//! and [`verify`] create and check its signatures. The module does no I/O: the caller fetches cards
//! and keys.
//!
//! | module | content |
//! | --- | --- |
//! | `build` | builder for valid cards |
//! | `interface` | interfaces: URL, binding, version and tenant |
//! | `jws` | algorithms and syntax of signatures |
//! | `manifest` | cards generated from an agent manifest |
//! | `model` | the card of 1.0 and its capabilities and skills |
//! | `oauth` | OAuth 2.0 flows |
//! | `read` | reader for cards of every version |
//! | `security` | security schemes and requirements |
//! | `signature` | signing and verification |
//! | `validate` | validation rules for published cards |
//! | `write` | writer for cards of every version |

mod build;
mod interface;
mod jws;
mod manifest;
mod model;
mod oauth;
mod read;
mod security;
#[cfg(feature = "signature")]
mod signature;
mod validate;
mod write;

pub use build::{AgentCardBuilder, InvalidCard};
pub use interface::{AgentInterface, ProtocolBinding};
pub use jws::{JwsAlgorithm, UnknownAlgorithm};
pub use manifest::{DefaultSkills, Manifest, ManifestTool, build_agent_card};
pub use model::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentProvider, AgentSkill,
};
pub use oauth::{
    AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow, ImplicitOAuthFlow,
    OAuthFlows, PasswordOAuthFlow,
};
pub(crate) use read::major_minor;
pub use security::{
    ApiKeySecurityScheme, HttpAuthSecurityScheme, MutualTlsSecurityScheme, OAuth2SecurityScheme,
    OpenIdConnectSecurityScheme, SecurityRequirement, SecurityScheme,
};
#[cfg(feature = "signature")]
pub use signature::{
    AcceptedForms, CanonicalForm, InvalidKey, KeySet, ProtectedHeader, SignatureError,
    SignatureRejection, SigningKey, VerifiedCard, VerifyPolicy, VerifyingKey, sign, verify,
};
pub use validate::{CardProblem, CardRule, RULES, Severity, validate};
pub(crate) use write::V0_3_CARD_VERSION;
pub use write::{CardFormat, TransitionHistory, list_to_json};
