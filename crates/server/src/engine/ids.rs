//! New identifiers, and the time.

use std::time::{SystemTime, UNIX_EPOCH};

use latimer_protocol::{ArtifactId, ContextId, MessageId, PushConfigId, TaskId, Timestamp};
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
    /// A task that did not exist before.
    task -> TaskId
    /// A conversation that did not exist before.
    context -> ContextId
    /// A message that did not exist before.
    message -> MessageId
    /// A webhook that did not exist before.
    webhook -> PushConfigId
    /// An artifact that did not exist before.
    artifact -> ArtifactId
}

/// Now. A clock that is out of the calendar reads as its beginning.
pub(crate) fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let milliseconds = i64::try_from(since_epoch.as_millis()).unwrap_or_default();
    Timestamp::from_millis(milliseconds).unwrap_or(Timestamp::EPOCH)
}
