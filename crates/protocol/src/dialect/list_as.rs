//! Lists in another shape.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::model::{Metadata, Part, Task, TaskPushNotificationConfig};

/// Writes each item of a list as a `W`, without a copy of the list.
pub(super) struct ListAs<'a, T, W> {
    items: &'a [T],
    target: PhantomData<W>,
}

impl<'a, T, W> ListAs<'a, T, W> {
    pub(super) fn new(items: &'a [T]) -> Self {
        Self { items, target: PhantomData }
    }

    /// For `skip_serializing_if`.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<'a, T: Item, W: From<&'a T::Model> + Serialize> Serialize for ListAs<'a, T, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items.iter().map(|it| W::from(it.model())))
    }
}

/// Something of the model in a list, by itself or shared.
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

/// For `skip_serializing_if` on metadata, borrowed or not.
pub(super) fn no_metadata(metadata: &Metadata) -> bool {
    metadata.is_empty()
}

/// For `skip_serializing_if` on a borrowed list.
pub(super) fn empty<T>(items: &&[T]) -> bool {
    items.is_empty()
}
