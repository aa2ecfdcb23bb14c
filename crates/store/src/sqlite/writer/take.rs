//! Taking over what processes left behind that are gone.

use rusqlite::params;

use super::{Desk, Work};
use crate::Error;

/// Takes over some tasks, the earliest created first, and answers with their numbers.
pub(in crate::sqlite) struct Take {
    /// At most so many.
    pub(in crate::sqlite) limit: usize,
}

impl Work for Take {
    type Answer = Vec<i64>;

    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<Result<Vec<i64>, Error>> {
        let limit = i64::try_from(self.limit).unwrap_or(i64::MAX);
        let mut select = desk.connection.prepare_cached(
            "SELECT number FROM tasks WHERE work <> 0 AND epoch < ?1 ORDER BY number LIMIT ?2",
        )?;
        let numbers = select.query_map(params![desk.epoch, limit], |row| row.get(0))?;
        let numbers: Vec<i64> = numbers.collect::<rusqlite::Result<_>>()?;
        let mut take =
            desk.connection.prepare_cached("UPDATE tasks SET epoch = ?2 WHERE number = ?1")?;
        for number in &numbers {
            take.execute([*number, desk.epoch])?;
        }
        Ok(Ok(numbers))
    }
}
