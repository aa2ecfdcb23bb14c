//! Serialization of list items as another type.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::model::{Metadata, Part, Task, TaskPushNotificationConfig};

/// Serializes each item of a list as a `W`, without copying the list.
pub(super) struct ListAs<'a, T, W> {
    items: &'a [T],
    target: PhantomData<W>,
}

impl<'a, T, W> ListAs<'a, T, W> {
    pub(super) fn new(items: &'a [T]) -> Self {
        Self { items, target: PhantomData }
    }

    /// Returns whether the list is empty, for `skip_serializing_if`.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<'a, T: Item, W: From<&'a T::Model> + Serialize> Serialize for ListAs<'a, T, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items.iter().map(|it| W::from(it.model())))
    }
}

/// List item that contains a model type directly or in an `Arc`.
pub(super) trait Item {
    type Model: 'static;

    fn model(&self) -> &Self::Model;
}

impl<T: 'static> Item for Arc<T> {
    type Model = T;

    fn model(&self) -> &T {
        self
    }
}

macro_rules! items {
    ($($name:ident)+) => {$(
        impl Item for $name {
            type Model = Self;

            fn model(&self) -> &Self {
                self
            }
        }
    )+};
}

items! { Part Task TaskPushNotificationConfig }

/// Returns whether metadata is empty, for `skip_serializing_if`.
pub(super) fn no_metadata(metadata: &Metadata) -> bool {
    metadata.is_empty()
}

/// Returns whether a borrowed list is empty, for `skip_serializing_if`.
pub(super) fn empty<T>(items: &&[T]) -> bool {
    items.is_empty()
}
