//! Which of an agent's interfaces is called: card × preferences → one of them, with reasons.
//!
//! Pure: nothing is asked, resolved or connected to in here.

use std::fmt;

use latimer_protocol::Version;
use latimer_protocol::card::{AgentCard, AgentInterface, ProtocolBinding};

use crate::transport::Endpoint;

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
pub struct Choice {
    /// The transport to speak; never [`ProtocolBinding::Other`].
    pub binding: ProtocolBinding,
    /// The version to speak.
    pub version: Version,
    /// The address, as the card has it.
    pub url: String,
    /// The tenant to name in each call.
    pub tenant: Option<String>,
    /// The interfaces that were passed over.
    pub passed_over: Vec<PassedOver>,
}

/// An interface that is not called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// The interface.
    pub interface: AgentInterface,
    /// Why not.
    pub why: Why,
}

/// Why an interface is not called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// It is of a version that we do not speak.
    UnknownVersion,
    /// It is of a version that is not wanted.
    UnwantedVersion,
    /// It is of a binding that we do not speak.
    UnknownBinding,
    /// It is of a binding that is not wanted.
    UnwantedBinding,
    /// Its version is not spoken over its binding.
    NoSuchPair,
    /// Its address cannot be read.
    BadAddress,
    /// Its address may not be called.
    Forbidden(latimer_outbound::Forbidden),
    /// Another one is better.
    LessPreferred,
}

impl fmt::Display for Why {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownVersion => out.write_str("its version is not known here"),
            Self::UnwantedVersion => out.write_str("its version is not wanted"),
            Self::UnknownBinding => out.write_str("its binding is not known here"),
            Self::UnwantedBinding => out.write_str("its binding is not wanted"),
            Self::NoSuchPair => out.write_str("its version is not spoken over its binding"),
            Self::BadAddress => out.write_str("its address cannot be read"),
            Self::Forbidden(forbidden) => write!(out, "its address {forbidden}"),
            Self::LessPreferred => out.write_str("another one is preferred"),
        }
    }
}

impl fmt::Display for PassedOver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AgentInterface { protocol_binding, protocol_version, .. } = &self.interface;
        write!(out, "{protocol_binding} {protocol_version}: {}", self.why)
    }
}

/// A card without an interface that could be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the card offers no interface to call: {}", list(.0))]
pub struct NoInterface(
    /// Every interface of the card, with what is wrong with it.
    pub Vec<PassedOver>,
);

fn list(passed_over: &[PassedOver]) -> String {
    let reasons: Vec<String> = passed_over.iter().map(ToString::to_string).collect();
    if reasons.is_empty() { "it lists none".to_owned() } else { reasons.join("; ") }
}

/// The best interface of a card.
///
/// The caller's order of bindings decides first, where it has one; then the card's, whose first
/// interface is the preferred one; then, within a binding, the caller's order of versions.
///
/// ```
/// # use latimer_client::negotiate::{Preferences, Why, negotiate};
/// # use latimer_protocol::{Version, card::{AgentCard, AgentInterface, ProtocolBinding}};
/// let url = "https://a.example/a2a";
/// let card = AgentCard {
///     supported_interfaces: vec![
///         AgentInterface::new(url, ProtocolBinding::JsonRpc).in_version(Version::V0_3),
///         AgentInterface::new(url, ProtocolBinding::JsonRpc),
///         AgentInterface::new("a.example:443", ProtocolBinding::Grpc),
///     ],
///     ..AgentCard::default()
/// };
/// let choice = negotiate(&card, &Preferences::default())?;
/// assert_eq!((choice.binding, choice.version), (ProtocolBinding::JsonRpc, Version::V1_0));
/// assert_eq!(choice.passed_over[0].why, Why::LessPreferred);
/// # Ok::<(), latimer_client::negotiate::NoInterface>(())
/// ```
///
/// # Errors
/// [`NoInterface`], with what is wrong with each.
pub fn negotiate(card: &AgentCard, preferences: &Preferences) -> Result<Choice, NoInterface> {
    choose(card, preferences, |_| Ok(()))
}

/// The best interface of those whose endpoint `may` be called.
pub(crate) fn choose(
    card: &AgentCard,
    preferences: &Preferences,
    may: impl Fn(&Endpoint) -> Result<(), latimer_outbound::Forbidden>,
) -> Result<Choice, NoInterface> {
    let interfaces = &card.supported_interfaces;
    let mut passed_over = Vec::new();
    let mut best: Option<(Rank, Version, &AgentInterface)> = None;
    let mut pass = |interface: &AgentInterface, why| {
        passed_over.push(PassedOver { interface: interface.clone(), why });
    };
    for (place, interface) in interfaces.iter().enumerate() {
        let usable = usable(interface, preferences).and_then(|(version, endpoint)| {
            may(&endpoint).map_err(Why::Forbidden).map(|()| version)
        });
        let version = match usable {
            Ok(version) => version,
            Err(why) => {
                pass(interface, why);
                continue;
            }
        };
        let rank = Rank::of(interface, version, place, interfaces, preferences);
        match best {
            Some((leading, ..)) if leading <= rank => pass(interface, Why::LessPreferred),
            _ => {
                if let Some((_, _, beaten)) = best.replace((rank, version, interface)) {
                    pass(beaten, Why::LessPreferred);
                }
            }
        }
    }
    let Some((_, version, interface)) = best else { return Err(NoInterface(passed_over)) };
    Ok(Choice {
        binding: interface.protocol_binding.clone(),
        version,
        url: interface.url.clone(),
        tenant: interface.tenant.clone(),
        passed_over,
    })
}

/// How good an interface is: less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    binding: usize,
    version: usize,
    place: usize,
}

impl Rank {
    fn of(
        interface: &AgentInterface,
        version: Version,
        place: usize,
        interfaces: &[AgentInterface],
        preferences: &Preferences,
    ) -> Self {
        let binding = &interface.protocol_binding;
        let binding = match preferences.bindings.iter().position(|it| it == binding) {
            Some(wanted) => wanted,
            None => {
                interfaces.iter().position(|it| it.protocol_binding == *binding).unwrap_or(place)
            }
        };
        let versions = &preferences.versions;
        let version = versions.iter().position(|it| *it == version).unwrap_or(versions.len());
        Self { binding, version, place }
    }
}

/// The version and endpoint of an interface that can be called.
fn usable(
    interface: &AgentInterface,
    preferences: &Preferences,
) -> Result<(Version, Endpoint), Why> {
    let version = interface.version().ok_or(Why::UnknownVersion)?;
    if !preferences.versions.contains(&version) {
        return Err(Why::UnwantedVersion);
    }
    let binding = &interface.protocol_binding;
    if matches!(binding, ProtocolBinding::Other(_)) {
        return Err(Why::UnknownBinding);
    }
    if !preferences.bindings.is_empty() && !preferences.bindings.contains(binding) {
        return Err(Why::UnwantedBinding);
    }
    let endpoint = match binding {
        ProtocolBinding::Grpc if version == Version::V0_1 => return Err(Why::NoSuchPair),
        ProtocolBinding::Grpc => Endpoint::grpc(&interface.url, version),
        ProtocolBinding::JsonRpc | ProtocolBinding::HttpJson | ProtocolBinding::Other(_) => {
            Endpoint::new(&interface.url, version)
        }
    };
    Ok((version, endpoint.map_err(|_| Why::BadAddress)?.for_tenant(interface.tenant.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(interfaces: &[(&str, &str, &str)]) -> AgentCard {
        let interface = |(binding, version, url): &(&str, &str, &str)| AgentInterface {
            url: (*url).into(),
            protocol_binding: (*binding).into(),
            tenant: Some("acme".into()),
            protocol_version: (*version).into(),
        };
        AgentCard {
            supported_interfaces: interfaces.iter().map(interface).collect(),
            ..AgentCard::default()
        }
    }

    const URL: &str = "https://a.example/x";

    #[test]
    fn the_cards_order_decides_unless_the_caller_has_one() {
        use ProtocolBinding::{Grpc, HttpJson, JsonRpc};
        let card = card(&[
            ("GRPC", "0.3.0", "a.example:443"),
            ("JSONRPC", "0.3.0", URL),
            ("JSONRPC", "1.0", URL),
            ("HTTP+JSON", "1.0", URL),
        ]);
        let all = Version::ALL.to_vec();
        for (bindings, versions, want) in [
            (vec![], all.clone(), (Grpc, Version::V0_3)),
            (vec![], vec![Version::V1_0], (JsonRpc, Version::V1_0)),
            (vec![HttpJson, JsonRpc], all.clone(), (HttpJson, Version::V1_0)),
            (vec![JsonRpc], all, (JsonRpc, Version::V1_0)),
            (vec![JsonRpc], vec![Version::V0_3, Version::V1_0], (JsonRpc, Version::V0_3)),
        ] {
            let preferences = Preferences { bindings, versions };
            let choice = negotiate(&card, &preferences).unwrap();
            assert_eq!((choice.binding, choice.version), want, "{preferences:?}");
            assert_eq!(choice.tenant.as_deref(), Some("acme"));
            assert_eq!(choice.passed_over.len(), 3, "{preferences:?}");
        }
    }

    #[test]
    fn each_interface_that_is_not_called_has_its_reason() {
        let card = card(&[
            ("JSONRPC", "2.0", URL),
            ("urn:pigeon", "1.0", URL),
            ("GRPC", "0.1", "a.example:443"),
            ("JSONRPC", "1.0", "/a2a"),
            ("JSONRPC", "0.3", URL),
            ("HTTP+JSON", "1.0", URL),
        ]);
        let preferences = Preferences {
            bindings: vec![ProtocolBinding::JsonRpc, ProtocolBinding::Grpc],
            versions: vec![Version::V1_0, Version::V0_1],
        };
        let NoInterface(passed_over) = negotiate(&card, &preferences).unwrap_err();
        let whys: Vec<_> = passed_over.iter().map(|it| it.why.clone()).collect();
        assert_eq!(
            whys,
            [
                Why::UnknownVersion,
                Why::UnknownBinding,
                Why::NoSuchPair,
                Why::BadAddress,
                Why::UnwantedVersion,
                Why::UnwantedBinding,
            ]
        );
        let error = NoInterface(passed_over).to_string();
        assert!(error.contains("JSONRPC 2.0: its version is not known here; "), "{error}");
    }

    #[test]
    fn an_address_that_may_not_be_called_is_passed_over() {
        let card = card(&[("JSONRPC", "1.0", "http://10.0.0.7/"), ("JSONRPC", "1.0", URL)]);
        let may = |endpoint: &Endpoint| match endpoint.origin() {
            "https://a.example:443" => Ok(()),
            _ => Err(latimer_outbound::Forbidden::Address),
        };
        let choice = choose(&card, &Preferences::default(), may).unwrap();
        assert_eq!(choice.url, URL);
        let why = Why::Forbidden(latimer_outbound::Forbidden::Address);
        assert_eq!(choice.passed_over[0].why, why);
    }
}
