//! Stand-in for client certificates without the feature `tls`: connections have none.

use std::convert::Infallible;

/// Certificate that a client presented. Uninhabited, because TLS requires the feature `tls`.
#[derive(Clone, Debug)]
pub struct ClientCertificate(Infallible);
