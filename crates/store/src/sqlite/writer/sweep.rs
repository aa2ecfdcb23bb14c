//! Removing what is too old or too much, a little at a time.

use std::time::{Duration, Instant};

use latimer_protocol::Timestamp;
use rusqlite::{OptionalExtension, params};

use super::{Desk, Work};
use crate::Error;
use crate::sqlite::place;

/// How long appends may wait for a sweep. What is left over is for the next time.
const SHARE: Duration = Duration::from_millis(5);

/// How many rows of a long log to remove at once.
const PIECE: i64 = 64;

/// Removes some of what is too old or too much.
pub(in crate::sqlite) struct Sweep {
    /// Tasks that finished by then go: milliseconds since the start of 1970.
    pub(in crate::sqlite) oldest: i64,
    /// Messages that expired by then are forgotten.
    pub(in crate::sqlite) now: Timestamp,
}

/// What came of a sweep.
pub(in crate::sqlite) struct Swept {
    /// How many tasks went.
    pub(in crate::sqlite) removed: u64,
    /// Whether there may be more to do.
    pub(in crate::sqlite) more: bool,
}

impl Work for Sweep {
    type Answer = Swept;

    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<Result<Swept, Error>> {
        let start = Instant::now();
        let mut removed = 0;
        while start.elapsed() < SHARE {
            let Some(oldest) = desk.oldest()? else { break };
            if oldest.finished.updated > self.oldest && !desk.room.is_too_full() {
                break;
            }
            removed += u64::from(desk.remove(oldest)?);
        }
        while start.elapsed() < SHARE && desk.clear_leftovers()? {}
        while start.elapsed() < SHARE && desk.forget_expired(self.now.as_millis())? {}
        Ok(Ok(Swept { removed, more: start.elapsed() >= SHARE }))
    }
}

impl Desk {
    /// Removes a piece of a log whose task is gone; false when there is none.
    fn clear_leftovers(&self) -> rusqlite::Result<bool> {
        let connection = &self.connection;
        let first = "SELECT task FROM leftovers ORDER BY task LIMIT 1";
        let task = connection.prepare_cached(first)?.query_row([], |row| row.get::<_, i64>(0));
        let Some(task) = task.optional()? else { return Ok(false) };
        let delete = "DELETE FROM events WHERE place IN (SELECT place FROM events
             WHERE place >= ?1 AND place < ?2 ORDER BY place LIMIT ?3)";
        let piece = params![place::of(task, Default::default()), place::end(task), PIECE];
        if connection.prepare_cached(delete)?.execute(piece)? == 0 {
            connection.prepare_cached("DELETE FROM leftovers WHERE task = ?1")?.execute([task])?;
        }
        Ok(true)
    }
}
