//! Which of an agent's interfaces is called: card × preferences → one of them, with reasons.
//!
//! Pure: nothing is asked, resolved or connected to in here.

mod candidates;

use std::fmt;

use latimer_protocol::Version;
use latimer_protocol::card::{AgentCard, AgentInterface, ProtocolBinding};

use crate::transport::parse_origin;
pub(crate) use candidates::Candidates;

/// What a caller would rather speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preferences {
    /// The bindings to speak, the best first. None at all leaves the choice to the card.
    pub bindings: Vec<ProtocolBinding>,
    /// The versions to speak, the best first.
    pub versions: Vec<Version>,
}

impl Default for Preferences {
    /// What the card prefers, in the newest version that both speak.
    fn default() -> Self {
        Self { bindings: Vec::new(), versions: Version::ALL.to_vec() }
    }
}

/// An interface to call, and why it is none of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedInterface {
    /// The transport to speak; never [`ProtocolBinding::Other`].
    pub binding: ProtocolBinding,
    /// The version to speak.
    pub version: Version,
    /// The address to call: the one that the card has, as it is meant where the card was found.
    pub url: String,
    /// The tenant to name in each call.
    pub tenant: Option<String>,
    /// The interfaces that were passed over.
    pub rejected: Vec<RejectedInterface>,
    /// Why it may be the wrong agent.
    pub mismatch: Option<CardMismatch>,
}

/// Why an agent may be another one than the caller named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CardMismatch {
    /// Its card was found above the address that the caller named, and it has no interface there.
    NoInterfaceAtUrl,
}

impl fmt::Display for CardMismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInterfaceAtUrl => out.write_str(
                "there is no card at the address that was named, and the one above it names no \
                 address there: it may be that of another agent",
            ),
        }
    }
}

/// An interface that is not called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedInterface {
    /// The interface.
    pub interface: AgentInterface,
    /// Why not.
    pub reason: RejectReason,
}

/// Why an interface is not called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejectReason {
    /// It is of a version that we do not speak.
    UnknownVersion,
    /// It is of a version that is not wanted.
    UnwantedVersion,
    /// It is of a binding that we do not speak.
    UnknownBinding,
    /// It is of a binding that is not wanted.
    UnwantedBinding,
    /// Its version is not spoken over its binding.
    UnsupportedCombination,
    /// Its address cannot be read.
    InvalidUrl,
    /// Its address may not be called.
    Forbidden(latimer_outbound::Forbidden),
    /// Another one is better.
    LessPreferred,
}

impl fmt::Display for RejectReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownVersion => out.write_str("its version is not known here"),
            Self::UnwantedVersion => out.write_str("its version is not wanted"),
            Self::UnknownBinding => out.write_str("its binding is not known here"),
            Self::UnwantedBinding => out.write_str("its binding is not wanted"),
            Self::UnsupportedCombination => {
                out.write_str("its version is not spoken over its binding")
            }
            Self::InvalidUrl => out.write_str("its address cannot be read"),
            Self::Forbidden(forbidden) => write!(out, "its address {forbidden}"),
            Self::LessPreferred => out.write_str("another one is preferred"),
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

/// A card without an interface that could be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the card offers no interface to call: {}", list(.0))]
pub struct NoInterface(
    /// Every interface of the card, with what is wrong with it.
    pub Vec<RejectedInterface>,
);

fn list(rejected: &[RejectedInterface]) -> String {
    let reasons: Vec<String> = rejected.iter().map(ToString::to_string).collect();
    let reasons = if reasons.is_empty() { "it lists none".to_owned() } else { reasons.join("; ") };
    match rejected.iter().any(|it| matches!(it.reason, RejectReason::Forbidden(_))) {
        true => format!("{reasons} ({ADVICE})"),
        false => reasons,
    }
}

/// What to do about a card whose addresses may not be called.
const ADVICE: &str = "if that is not where the agent is, call it at the address that you know: \
    `Builder::at_named_address`, or `call_url = true` in a file";

/// The best interface of a card.
///
/// The caller's order of bindings decides first, where it has one; then the card's, whose first
/// interface is the preferred one; then, within a binding, the caller's order of versions.
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
/// [`NoInterface`], with what is wrong with each.
pub fn negotiate(
    card: &AgentCard,
    preferences: &Preferences,
) -> Result<SelectedInterface, NoInterface> {
    Candidates::new(card.supported_interfaces.clone(), preferences).select()
}

#[cfg(test)]
mod tests;
