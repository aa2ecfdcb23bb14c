//! Interfaces of a card in order of preference.

use std::collections::VecDeque;

use latimer_protocol::Version;
use latimer_protocol::card::{AgentInterface, ProtocolBinding};

use super::{NoInterface, Preferences, RejectReason, RejectedInterface, SelectedInterface};
use crate::transport::{Endpoint, GRPC_ENABLED};

/// Usable interfaces of a card, best first, and the rejected ones.
#[derive(Debug)]
pub(crate) struct Candidates {
    ranked: VecDeque<Candidate>,
    rejected: Vec<RejectedInterface>,
}

#[derive(Debug)]
struct Candidate {
    rank: Rank,
    version: Version,
    endpoint: Endpoint,
    interface: AgentInterface,
}

impl Candidates {
    pub(crate) fn new(interfaces: Vec<AgentInterface>, preferences: &Preferences) -> Self {
        let (mut ranked, mut rejected) = (Vec::new(), Vec::new());
        for (index, interface) in interfaces.iter().enumerate() {
            let interface = interface.clone();
            match check_usable(&interface, preferences) {
                Ok((version, endpoint)) => {
                    let rank = Rank::new(&interface, version, index, &interfaces, preferences);
                    ranked.push(Candidate { rank, version, endpoint, interface });
                }
                Err(reason) => rejected.push(RejectedInterface { interface, reason }),
            }
        }
        ranked.sort_by_key(|it| it.rank);
        Self { ranked: ranked.into(), rejected }
    }

    /// Returns the endpoint of the best interface.
    pub(crate) fn best(&self) -> Option<&Endpoint> {
        self.ranked.front().map(|it| &it.endpoint)
    }

    /// Rejects the best interface.
    pub(crate) fn reject_best(&mut self, reason: RejectReason) {
        if let Some(Candidate { interface, .. }) = self.ranked.pop_front() {
            self.rejected.push(RejectedInterface { interface, reason });
        }
    }

    /// Selects the best interface and rejects the others.
    pub(crate) fn select(mut self) -> Result<SelectedInterface, NoInterface> {
        let Some(best) = self.ranked.pop_front() else {
            return Err(NoInterface(self.rejected));
        };
        while !self.ranked.is_empty() {
            self.reject_best(RejectReason::LessPreferred);
        }
        let Candidate { version, interface, .. } = best;
        Ok(SelectedInterface {
            binding: interface.protocol_binding,
            version,
            url: interface.url,
            tenant: interface.tenant,
            rejected: self.rejected,
            mismatch: None,
        })
    }
}

/// Rank of an interface; the lowest is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    binding: usize,
    version: usize,
    index: usize,
}

impl Rank {
    fn new(
        interface: &AgentInterface,
        version: Version,
        index: usize,
        interfaces: &[AgentInterface],
        preferences: &Preferences,
    ) -> Self {
        let binding = &interface.protocol_binding;
        let binding = match preferences.bindings.iter().position(|it| it == binding) {
            Some(position) => position,
            None => {
                interfaces.iter().position(|it| it.protocol_binding == *binding).unwrap_or(index)
            }
        };
        let versions = &preferences.versions;
        let version = versions.iter().position(|it| *it == version).unwrap_or(versions.len());
        Self { binding, version, index }
    }
}

/// Returns version and endpoint of an interface, or the reason why it cannot be called.
fn check_usable(
    interface: &AgentInterface,
    preferences: &Preferences,
) -> Result<(Version, Endpoint), RejectReason> {
    let version = interface.version().ok_or(RejectReason::UnknownVersion)?;
    if !preferences.versions.contains(&version) {
        return Err(RejectReason::UnwantedVersion);
    }
    let binding = &interface.protocol_binding;
    let is_known = match binding {
        ProtocolBinding::JsonRpc | ProtocolBinding::HttpJson => true,
        ProtocolBinding::Grpc => GRPC_ENABLED,
        ProtocolBinding::Other(_) => false,
    };
    if !is_known {
        return Err(RejectReason::UnknownBinding);
    }
    if !preferences.bindings.is_empty() && !preferences.bindings.contains(binding) {
        return Err(RejectReason::UnwantedBinding);
    }
    let endpoint = match binding {
        ProtocolBinding::Grpc if version == Version::V0_1 => {
            return Err(RejectReason::UnsupportedCombination);
        }
        ProtocolBinding::Grpc => Endpoint::grpc(&interface.url, version),
        ProtocolBinding::JsonRpc | ProtocolBinding::HttpJson | ProtocolBinding::Other(_) => {
            Endpoint::new(&interface.url, version)
        }
    };
    Ok((
        version,
        endpoint.map_err(|_| RejectReason::InvalidUrl)?.with_tenant(interface.tenant.clone()),
    ))
}
