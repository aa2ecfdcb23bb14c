//! Who asks.

use std::sync::Arc;

use crate::model::{Metadata, Secret};

/// Who makes a call, as whoever let it in found out. Cheap to clone.
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
    /// Somebody who did not say who they are. All of them are one.
    #[must_use]
    pub fn anonymous() -> Self {
        Self(Arc::new(CallerData::default()))
    }

    /// The caller of this name.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(Arc::new(CallerData { id: id.into(), ..CallerData::default() }))
    }

    /// The same caller, who may do this much.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.update(|data| data.scopes = scopes.into_iter().map(Into::into).collect())
    }

    /// The same caller, with the token it showed.
    #[must_use]
    pub fn with_token(self, token: Secret) -> Self {
        self.update(|data| data.token = Some(token))
    }

    /// The same caller, with what else is known about it.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        self.update(|data| data.metadata = metadata)
    }

    fn update(mut self, change: impl FnOnce(&mut CallerData)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Its name: what it made belongs to this. Empty for an anonymous caller.
    #[must_use]
    pub fn id(&self) -> &Arc<str> {
        &self.0.id
    }

    /// Whether it did not say who it is.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.0.id.is_empty()
    }

    /// What it may do.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.0.scopes
    }

    /// The token that it showed, if it is to be kept.
    #[must_use]
    pub fn token(&self) -> Option<&Secret> {
        self.0.token.as_ref()
    }

    /// What else is known about it.
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
