//! Stand-in for signatures without the feature `signing`: a keyring cannot be created.

use std::convert::Infallible;

use bytes::Bytes;
use latimer_protocol::card::AgentCard;

/// Uninhabited, because a keyring requires the feature `signing`.
#[derive(Clone, Debug)]
pub(crate) struct Keyring(Infallible);

impl Keyring {
    pub(crate) fn kid(&self) -> String {
        match self.0 {}
    }

    pub(crate) fn jwks(&self) -> Bytes {
        match self.0 {}
    }

    pub(crate) fn sign(&self, _: &mut AgentCard, _: String) -> Result<(), Infallible> {
        match self.0 {}
    }
}
