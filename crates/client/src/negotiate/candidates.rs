//! The interfaces of a card, in the order of a caller's preferences.

use std::collections::VecDeque;

use latimer_protocol::Version;
use latimer_protocol::card::{AgentInterface, ProtocolBinding};

use super::{Choice, NoInterface, PassedOver, Preferences, Why};
use crate::transport::Endpoint;

/// The interfaces of a card that could be called, the best first, and those that could not.
#[derive(Debug)]
pub(crate) struct Candidates {
    ranked: VecDeque<Candidate>,
    passed_over: Vec<PassedOver>,
}

#[derive(Debug)]
struct Candidate {
    rank: Rank,
    version: Version,
    endpoint: Endpoint,
    interface: AgentInterface,
}

impl Candidates {
    pub(crate) fn of(interfaces: Vec<AgentInterface>, preferences: &Preferences) -> Self {
        let (mut ranked, mut passed_over) = (Vec::new(), Vec::new());
        for (place, interface) in interfaces.iter().enumerate() {
            let interface = interface.clone();
            match usable(&interface, preferences) {
                Ok((version, endpoint)) => {
                    let rank = Rank::of(&interface, version, place, &interfaces, preferences);
                    ranked.push(Candidate { rank, version, endpoint, interface });
                }
                Err(why) => passed_over.push(PassedOver { interface, why }),
            }
        }
        ranked.sort_by_key(|it| it.rank);
        Self { ranked: ranked.into(), passed_over }
    }

    /// Where the best of them is.
    pub(crate) fn best(&self) -> Option<&Endpoint> {
        self.ranked.front().map(|it| &it.endpoint)
    }

    /// Passes over the best of them.
    pub(crate) fn pass_over(&mut self, why: Why) {
        if let Some(Candidate { interface, .. }) = self.ranked.pop_front() {
            self.passed_over.push(PassedOver { interface, why });
        }
    }

    /// The best of them, and why none of the others.
    pub(crate) fn choose(mut self) -> Result<Choice, NoInterface> {
        let Some(best) = self.ranked.pop_front() else {
            return Err(NoInterface(self.passed_over));
        };
        while !self.ranked.is_empty() {
            self.pass_over(Why::LessPreferred);
        }
        let Candidate { version, interface, .. } = best;
        Ok(Choice {
            binding: interface.protocol_binding,
            version,
            url: interface.url,
            tenant: interface.tenant,
            passed_over: self.passed_over,
            doubt: None,
        })
    }
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
