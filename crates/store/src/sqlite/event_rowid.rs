//! Row ids of events: task number and revision in one integer, so that a log is stored
//! contiguously.

use latimer_protocol::Revision;

/// Maximum number of events of a task.
pub(super) const MAX_EVENTS: u64 = (1 << REVISION_BITS) - 1;

/// Number of low bits that contain the revision.
const REVISION_BITS: u32 = 24;

/// Returns the row id of the event with a revision. [`Revision::START`] yields the id before the
/// first event.
pub(super) fn encode(task_number: i64, revision: Revision) -> i64 {
    // Stored events have no greater revision, so a lookup with a greater one finds nothing.
    let revision = i64::try_from(revision.get().min(MAX_EVENTS)).unwrap_or_default();
    (task_number << REVISION_BITS) + revision
}

/// Returns the first row id after the log of a task.
pub(super) fn end_of_log(task_number: i64) -> i64 {
    (task_number + 1) << REVISION_BITS
}

/// Returns the revision of the event with a row id.
pub(super) fn revision(rowid: i64) -> Revision {
    Revision::new(u64::try_from(rowid & ((1 << REVISION_BITS) - 1)).unwrap_or_default())
}

/// Returns the number of the task whose event has a row id.
pub(super) fn task_number(rowid: i64) -> i64 {
    rowid >> REVISION_BITS
}
