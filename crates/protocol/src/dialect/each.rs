//! Lists in another shape.

use std::marker::PhantomData;

use serde::{Serialize, Serializer};

use crate::model::Metadata;

/// Writes each item of a list as a `W`, without a copy of the list.
pub(super) struct Each<'a, T, W> {
    items: &'a [T],
    shape: PhantomData<W>,
}

impl<'a, T, W> Each<'a, T, W> {
    pub(super) fn of(items: &'a [T]) -> Self {
        Self { items, shape: PhantomData }
    }

    /// For `skip_serializing_if`.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<'a, T, W: From<&'a T> + Serialize> Serialize for Each<'a, T, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items.iter().map(W::from))
    }
}

/// For `skip_serializing_if` on metadata, borrowed or not.
pub(super) fn no_metadata(metadata: &Metadata) -> bool {
    metadata.is_empty()
}

/// For `skip_serializing_if` on a borrowed list.
pub(super) fn empty<T>(items: &&[T]) -> bool {
    items.is_empty()
}
