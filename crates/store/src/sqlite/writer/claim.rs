//! Write operation that claims abandoned tasks.

use rusqlite::params;

use super::{WriteOp, WriterState};
use crate::Error;

/// Claims tasks of ended processes in creation order. Returns their numbers.
pub(in crate::sqlite) struct ClaimAbandoned {
    /// Maximum number of tasks.
    pub(in crate::sqlite) limit: usize,
}

impl WriteOp for ClaimAbandoned {
    type Output = Vec<i64>;

    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<Result<Vec<i64>, Error>> {
        let limit = i64::try_from(self.limit).unwrap_or(i64::MAX);
        let mut select = writer.connection.prepare_cached(
            "SELECT number FROM tasks WHERE work <> 0 AND epoch < ?1 ORDER BY number LIMIT ?2",
        )?;
        let task_numbers = select.query_map(params![writer.epoch, limit], |row| row.get(0))?;
        let task_numbers: Vec<i64> = task_numbers.collect::<rusqlite::Result<_>>()?;
        let mut claim =
            writer.connection.prepare_cached("UPDATE tasks SET epoch = ?2 WHERE number = ?1")?;
        for task_number in &task_numbers {
            claim.execute([*task_number, writer.epoch])?;
        }
        Ok(Ok(task_numbers))
    }
}
