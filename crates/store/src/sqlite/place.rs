//! Where the events of a task are: logs lie one behind the other, by the number of their task.

use latimer_protocol::Revision;

/// The most events a task can have.
pub(super) const MAX_EVENTS: u64 = (1 << BITS) - 1;

const BITS: u32 = 24;

/// The place of the event that has this revision. That of [`Revision::START`] is before the log.
pub(super) fn of(task: i64, revision: Revision) -> i64 {
    // No revision of a stored event is greater, and none that is asked for finds any.
    let revision = i64::try_from(revision.get().min(MAX_EVENTS)).unwrap_or_default();
    (task << BITS) + revision
}

/// The first place behind the log of a task.
pub(super) fn end(task: i64) -> i64 {
    (task + 1) << BITS
}

/// The revision of the event at a place.
pub(super) fn revision(place: i64) -> Revision {
    Revision::new(u64::try_from(place & ((1 << BITS) - 1)).unwrap_or_default())
}

/// The number of the task whose event is at a place.
pub(super) fn task(place: i64) -> i64 {
    place >> BITS
}
