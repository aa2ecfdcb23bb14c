//! Selection of the interface to call from those in a card, by the preferences of the caller.
//!
//! This module does no I/O.

mod candidates;

use std::fmt;

use latimer_protocol::Version;
use latimer_protocol::card::{AgentCard, AgentInterface, ProtocolBinding};

use crate::transport::parse_origin;
pub(crate) use candidates::Candidates;

/// Preferences of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preferences {
    /// Bindings to use, in order of preference. If empty, the order in the card decides.
    pub bindings: Vec<ProtocolBinding>,
    /// Versions to use, in order of preference.
    pub versions: Vec<Version>,
}

impl Default for Preferences {
    /// The preferred binding of the card, in the newest version that both sides support.
    fn default() -> Self {
        Self { bindings: Vec::new(), versions: Version::ALL.to_vec() }
    }
}

/// The interface to call, and the rejected ones with reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedInterface {
    /// Binding to use; never [`ProtocolBinding::Other`].
    pub binding: ProtocolBinding,
    /// Version to use.
    pub version: Version,
    /// URL to call: the one in the card, resolved against the URL where the card was found.
    pub url: String,
    /// Tenant of each call.
    pub tenant: Option<String>,
    /// Interfaces that are not called.
    pub rejected: Vec<RejectedInterface>,
    /// Reason why the card may describe another agent.
    pub mismatch: Option<CardMismatch>,
}

/// Reason why a card may describe another agent than the caller named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CardMismatch {
    /// The card was found above the caller's URL and has no interface there.
    NoInterfaceAtUrl,
}

impl fmt::Display for CardMismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInterfaceAtUrl => out.write_str(
                "the card was found above the URL of the agent and has no interface at that URL: it \
                 may describe another agent",
            ),
        }
    }
}

/// An interface that is not called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedInterface {
    /// The interface.
    pub interface: AgentInterface,
    /// The reason.
    pub reason: RejectReason,
}

/// Reason why an interface is not called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejectReason {
    /// Its version is unknown.
    UnknownVersion,
    /// Its version is not among the preferences.
    UnwantedVersion,
    /// Its binding is unknown.
    UnknownBinding,
    /// Its binding is not among the preferences.
    UnwantedBinding,
    /// Its version does not exist over its binding.
    UnsupportedCombination,
    /// Its URL is invalid.
    InvalidUrl,
    /// The guard does not allow its URL.
    Forbidden(latimer_outbound::Forbidden),
    /// Another interface is preferred.
    LessPreferred,
}

impl fmt::Display for RejectReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownVersion => out.write_str("its version is unknown"),
            Self::UnwantedVersion => out.write_str("its version is not in the preferences"),
            Self::UnknownBinding => out.write_str("its binding is unknown"),
            Self::UnwantedBinding => out.write_str("its binding is not in the preferences"),
            Self::UnsupportedCombination => {
                out.write_str("its version does not exist over its binding")
            }
            Self::InvalidUrl => out.write_str("its URL is invalid"),
            Self::Forbidden(forbidden) => write!(out, "its URL {forbidden}"),
            Self::LessPreferred => out.write_str("another interface is preferred"),
        }
    }
}

impl fmt::Display for RejectedInterface {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AgentInterface { protocol_binding, protocol_version, url, .. } = &self.interface;
        write!(out, "{protocol_binding} {protocol_version}")?;
        match (&self.reason, parse_origin(url)) {
            (RejectReason::Forbidden(forbidden), Some(origin)) => {
                write!(out, ": {origin} {forbidden}")
            }
            (reason, _) => write!(out, ": {reason}"),
        }
    }
}

/// A card has no interface that can be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the card has no interface that can be called: {}", self.reasons_with_advice())]
pub struct NoInterface(
    /// All interfaces of the card, with reasons.
    pub Vec<RejectedInterface>,
);

impl NoInterface {
    /// Returns whether an interface is not called because the guard does not allow its URL.
    pub(crate) fn has_forbidden_url(&self) -> bool {
        self.0.iter().any(|it| matches!(it.reason, RejectReason::Forbidden(_)))
    }

    /// Returns the reasons as text, without advice.
    pub(crate) fn reasons(&self) -> String {
        let reasons: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        if reasons.is_empty() { "it lists none".to_owned() } else { reasons.join("; ") }
    }

    fn reasons_with_advice(&self) -> String {
        match self.has_forbidden_url() {
            true => format!("{} ({FORBIDDEN_URL_ADVICE})", self.reasons()),
            false => self.reasons(),
        }
    }
}

/// Advice for a card whose URLs are forbidden.
const FORBIDDEN_URL_ADVICE: &str = "if the agent does not know its own URL, call the URL that you \
    configured: `ClientBuilder::ignore_card_urls`, `call_url = true` in a configuration file, or \
    `latimer serve --proxy URL --call-url`";

/// Selects the best interface of a card.
///
/// The caller's order of bindings decides first, if there is one; then the order in the card, whose
/// first interface is the preferred one; then, within a binding, the caller's order of versions.
///
/// ```
/// # use latimer_client::negotiate::{Preferences, RejectReason, negotiate};
/// # use latimer_protocol::{Version, card::{AgentCard, AgentInterface, ProtocolBinding}};
/// let url = "https://a.example/a2a";
/// let card = AgentCard {
///     supported_interfaces: vec![
///         AgentInterface::new(url, ProtocolBinding::JsonRpc).with_version(Version::V0_3),
///         AgentInterface::new(url, ProtocolBinding::JsonRpc),
///         AgentInterface::new("a.example:443", ProtocolBinding::Grpc),
///     ],
///     ..AgentCard::default()
/// };
/// let selected = negotiate(&card, &Preferences::default())?;
/// assert_eq!((selected.binding, selected.version), (ProtocolBinding::JsonRpc, Version::V1_0));
/// assert_eq!(selected.rejected[0].reason, RejectReason::LessPreferred);
/// # Ok::<(), latimer_client::negotiate::NoInterface>(())
/// ```
///
/// # Errors
/// [`NoInterface`] with the reason for each interface.
pub fn negotiate(
    card: &AgentCard,
    preferences: &Preferences,
) -> Result<SelectedInterface, NoInterface> {
    Candidates::new(card.supported_interfaces.clone(), preferences).select()
}

#[cfg(test)]
mod tests;
