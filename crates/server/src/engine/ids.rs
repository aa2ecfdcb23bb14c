//! New identifiers and the current time.

use std::time::{SystemTime, UNIX_EPOCH};

#[cfg(feature = "push")]
use latimer_protocol::PushConfigId;
use latimer_protocol::{ArtifactId, ContextId, MessageId, TaskId, Timestamp};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

macro_rules! id_functions {
    ($($(#[$doc:meta])* $name:ident -> $id:ident)+) => {$(
        $(#[$doc])*
        pub(crate) fn $name() -> $id {
            let mut text = Uuid::encode_buffer();
            let text = Hyphenated::from_uuid(Uuid::now_v7()).encode_lower(&mut text);
            $id::new(&*text).expect("a UUID is an id")
        }
    )+};
}

id_functions! {
    /// Creates a task id.
    task -> TaskId
    /// Creates a context id.
    context -> ContextId
    /// Creates a message id.
    message -> MessageId
    /// Creates a webhook id.
    #[cfg(feature = "push")]
    webhook -> PushConfigId
    /// Creates an artifact id.
    artifact -> ArtifactId
}

/// Returns the current time; the epoch if the system clock is out of range.
pub(crate) fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let milliseconds = i64::try_from(since_epoch.as_millis()).unwrap_or_default();
    Timestamp::from_millis(milliseconds).unwrap_or(Timestamp::EPOCH)
}
