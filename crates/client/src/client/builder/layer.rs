//! Interceptors of a client's calls.

use std::fmt;
use std::sync::Arc;

use crate::transport::Transport;

type Wrap = dyn Fn(Arc<dyn Transport>) -> Arc<dyn Transport> + Send + Sync;

/// A function that wraps a transport. Cheap to clone.
#[derive(Clone)]
pub(super) struct Layer(Arc<Wrap>);

impl Layer {
    pub(super) fn new(
        wrap: impl Fn(Arc<dyn Transport>) -> Arc<dyn Transport> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(wrap))
    }

    pub(super) fn wrap(&self, inner: Arc<dyn Transport>) -> Arc<dyn Transport> {
        (self.0)(inner)
    }
}

impl fmt::Debug for Layer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Layer")
    }
}
