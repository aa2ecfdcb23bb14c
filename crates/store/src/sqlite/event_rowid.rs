//! Where the events of a task are: logs lie one behind the other, by the number of their task.

use latimer_protocol::Revision;

/// The most events a task can have.
pub(super) const MAX_EVENTS: u64 = (1 << REVISION_BITS) - 1;

const REVISION_BITS: u32 = 24;

/// The place of the event that has this revision. That of [`Revision::START`] is before the log.
pub(super) fn encode(task_number: i64, revision: Revision) -> i64 {
    // No revision of a stored event is greater, and none that is asked for finds any.
    let revision = i64::try_from(revision.get().min(MAX_EVENTS)).unwrap_or_default();
    (task_number << REVISION_BITS) + revision
}

/// The first place behind the log of a task.
pub(super) fn end_of_log(task_number: i64) -> i64 {
    (task_number + 1) << REVISION_BITS
}

/// The revision of the event at a place.
pub(super) fn revision(rowid: i64) -> Revision {
    Revision::new(u64::try_from(rowid & ((1 << REVISION_BITS) - 1)).unwrap_or_default())
}

/// The number of the task whose event is at a place.
pub(super) fn task_number(rowid: i64) -> i64 {
    rowid >> REVISION_BITS
}
