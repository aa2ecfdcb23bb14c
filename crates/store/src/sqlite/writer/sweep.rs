//! Removing what is too old or too much, a little at a time.

use std::time::{Duration, Instant};

use latimer_protocol::Timestamp;
use rusqlite::{OptionalExtension, params};

use super::{WriteOp, WriterState};
use crate::Error;
use crate::sqlite::event_rowid;

/// How long appends may wait for a sweep. What is left over is for the next time.
const SWEEP_BUDGET: Duration = Duration::from_millis(5);

/// How many rows of a long log to remove at once.
const ROWS_PER_STEP: i64 = 64;

/// Removes some of what is too old or too much.
pub(in crate::sqlite) struct Sweep {
    /// Tasks that finished by then go: milliseconds since the start of 1970.
    pub(in crate::sqlite) finished_by: i64,
    /// Messages that expired by then are forgotten.
    pub(in crate::sqlite) now: Timestamp,
}

/// What came of a sweep.
pub(in crate::sqlite) struct SweepResult {
    /// How many tasks went.
    pub(in crate::sqlite) removed: u64,
    /// Whether there may be more to do.
    pub(in crate::sqlite) more: bool,
}

impl WriteOp for Sweep {
    type Output = SweepResult;

    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<Result<SweepResult, Error>> {
        let start = Instant::now();
        let mut removed = 0;
        while start.elapsed() < SWEEP_BUDGET {
            let Some(candidate) = writer.next_candidate()? else { break };
            if candidate.finished.finished_at > self.finished_by && !writer.capacity.is_over_limit()
            {
                break;
            }
            removed += u64::from(writer.remove_candidate(candidate)?);
        }
        while start.elapsed() < SWEEP_BUDGET && writer.delete_orphaned_events()? {}
        while start.elapsed() < SWEEP_BUDGET && writer.remove_expired_row(self.now.as_millis())? {}
        Ok(Ok(SweepResult { removed, more: start.elapsed() >= SWEEP_BUDGET }))
    }
}

impl WriterState {
    /// Removes a piece of a log whose task is gone; false when there is none.
    fn delete_orphaned_events(&self) -> rusqlite::Result<bool> {
        let connection = &self.connection;
        let first = "SELECT task FROM leftovers ORDER BY task LIMIT 1";
        let task_number =
            connection.prepare_cached(first)?.query_row([], |row| row.get::<_, i64>(0));
        let Some(task_number) = task_number.optional()? else { return Ok(false) };
        let delete = "DELETE FROM events WHERE place IN (SELECT place FROM events
             WHERE place >= ?1 AND place < ?2 ORDER BY place LIMIT ?3)";
        let range = params![
            event_rowid::encode(task_number, Default::default()),
            event_rowid::end_of_log(task_number),
            ROWS_PER_STEP
        ];
        if connection.prepare_cached(delete)?.execute(range)? == 0 {
            connection
                .prepare_cached("DELETE FROM leftovers WHERE task = ?1")?
                .execute([task_number])?;
        }
        Ok(true)
    }
}
