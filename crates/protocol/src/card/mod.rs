//! Agent cards: what an agent says about itself.
//!
//! [`AgentCard`] is the card of 1.0. [`AgentCard::read`] understands the cards of every version and
//! [`AgentCard::to_json`] writes them; [`validate`] looks at a card as somebody published it, and
//! [`sign`] and [`verify`] prove who did. Fetching cards, keys and addresses is for others to do.

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
