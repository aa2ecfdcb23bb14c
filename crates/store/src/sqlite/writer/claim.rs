//! Write operations that claim abandoned tasks.

use rusqlite::{OptionalExtension, params};

use super::{WriteOp, WriterState};
use crate::sqlite::codec;
use crate::{Error, PendingWork, TaskKey};

/// Kinds of pending work in the order of recovery: queued turns may wait for started ones.
const RECOVERY_ORDER: [PendingWork; 3] =
    [PendingWork::Running, PendingWork::Held, PendingWork::Queued];

/// Claims tasks of ended processes in the order of recovery. Returns their numbers.
pub(in crate::sqlite) struct ClaimAbandoned {
    /// Maximum number of tasks.
    pub(in crate::sqlite) limit: usize,
}

impl WriteOp for ClaimAbandoned {
    type Output = Vec<i64>;

    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<Result<Vec<i64>, Error>> {
        let mut task_numbers: Vec<i64> = Vec::new();
        let mut select = writer.connection.prepare_cached(
            "SELECT number FROM tasks WHERE work <> 0 AND work = ?1 AND epoch < ?2
             ORDER BY number LIMIT ?3",
        )?;
        for work in RECOVERY_ORDER {
            let remaining = i64::try_from(self.limit - task_numbers.len()).unwrap_or(i64::MAX);
            let work = codec::pending_work_number(work);
            let numbers = select
                .query_map(params![work, writer.epoch, remaining], |row| row.get::<_, i64>(0))?;
            task_numbers.extend(numbers.collect::<rusqlite::Result<Vec<_>>>()?);
            if task_numbers.len() == self.limit {
                break;
            }
        }
        drop(select);
        for task_number in &task_numbers {
            writer.claim(*task_number)?;
        }
        Ok(Ok(task_numbers))
    }
}

/// Claims one task of an ended process. Returns its number; `None` if it is not abandoned.
pub(in crate::sqlite) struct ClaimTask {
    pub(in crate::sqlite) key: TaskKey,
}

impl WriteOp for ClaimTask {
    type Output = Option<i64>;

    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<Result<Option<i64>, Error>> {
        let TaskKey { owner, agent, id } = &self.key;
        let find = "SELECT number FROM tasks
             WHERE caller = ?1 AND id = ?2 AND agent = ?3 AND work <> 0 AND epoch < ?4";
        let number = writer
            .connection
            .prepare_cached(find)?
            .query_row(params![owner, id.as_str(), agent, writer.epoch], |row| row.get(0))
            .optional()?;
        if let Some(number) = number {
            writer.claim(number)?;
        }
        Ok(Ok(number))
    }
}

impl WriterState {
    fn claim(&self, task_number: i64) -> rusqlite::Result<()> {
        let claim = "UPDATE tasks SET epoch = ?2 WHERE number = ?1";
        self.connection.prepare_cached(claim)?.execute([task_number, self.epoch]).map(drop)
    }
}
