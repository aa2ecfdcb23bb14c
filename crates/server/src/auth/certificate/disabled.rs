//! Client certificates without the feature `tls`: no connection has one.

use std::convert::Infallible;

/// The certificate that a caller presented; none exists without the feature `tls`.
#[derive(Clone, Debug)]
pub struct ClientCertificate(Infallible);
