//! Identity of the caller.

use std::sync::Arc;

use crate::model::{Metadata, Secret};

/// Identity of the caller of a call, as authentication determined it. Cheap to clone.
///
/// ```
/// # use latimer_protocol::Caller;
/// assert_eq!(**Caller::new("alice").id(), *"alice");
/// assert!(Caller::anonymous().is_anonymous());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Caller(Arc<CallerData>);

#[derive(Clone, Debug, Default, PartialEq)]
struct CallerData {
    /// Empty for an anonymous caller.
    id: Arc<str>,
    scopes: Vec<String>,
    token: Option<Secret>,
    metadata: Metadata,
}

impl Caller {
    /// Returns the anonymous caller. All anonymous callers are equal.
    #[must_use]
    pub fn anonymous() -> Self {
        Self(Arc::new(CallerData::default()))
    }

    /// Creates a caller with an id. An empty id is anonymous.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(Arc::new(CallerData { id: id.into(), ..CallerData::default() }))
    }

    /// Sets the scopes that the caller was granted.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.update(|data| data.scopes = scopes.into_iter().map(Into::into).collect())
    }

    /// Sets the token that the caller presented.
    #[must_use]
    pub fn with_token(self, token: Secret) -> Self {
        self.update(|data| data.token = Some(token))
    }

    /// Sets further attributes, such as claims of a token.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        self.update(|data| data.metadata = metadata)
    }

    fn update(mut self, change: impl FnOnce(&mut CallerData)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Returns the id, which owns the tasks that the caller creates. Empty for an anonymous caller.
    #[must_use]
    pub fn id(&self) -> &Arc<str> {
        &self.0.id
    }

    /// Returns whether the caller is anonymous.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.0.id.is_empty()
    }

    /// Returns the granted scopes.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.0.scopes
    }

    /// Returns the presented token, if authentication recorded it.
    #[must_use]
    pub fn token(&self) -> Option<&Secret> {
        self.0.token.as_ref()
    }

    /// Returns the further attributes.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.0.metadata
    }
}

impl Default for Caller {
    fn default() -> Self {
        Self::anonymous()
    }
}
