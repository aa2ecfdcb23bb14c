//! Write operation that removes expired tasks and records, in small steps.

use std::time::{Duration, Instant};

use latimer_protocol::Timestamp;
use rusqlite::{OptionalExtension, params};

use super::{WriteOp, WriterState};
use crate::Error;
use crate::sqlite::event_rowid;

/// Maximum duration of one step, for which appends wait.
const SWEEP_BUDGET: Duration = Duration::from_millis(5);

/// Number of event rows to delete at once.
const ROWS_PER_STEP: i64 = 64;

/// One step of a sweep.
pub(in crate::sqlite) struct Sweep {
    /// Removes tasks that finished at or before this time, in milliseconds since the Unix epoch.
    pub(in crate::sqlite) finished_by: i64,
    /// Removes idempotency records that have expired at this time.
    pub(in crate::sqlite) now: Timestamp,
}

/// Result of one step.
pub(in crate::sqlite) struct SweepResult {
    /// Number of removed tasks.
    pub(in crate::sqlite) removed: u64,
    /// Whether another step may remove more.
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
    /// Deletes some events of a removed task. Returns `false` if there are none.
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
