//! Write operation that removes a held task.

use latimer_protocol::{Message, Revision};
use rusqlite::{OptionalExtension, params};

use super::{PreparedReply, WriteOp, WriterState};
use crate::sqlite::codec;
use crate::{Error, IdempotencyRecord, PendingWork, TaskKey};

/// Removes a held task, and records the direct reply to its message.
pub(in crate::sqlite) struct Retract {
    key: TaskKey,
    expected: Revision,
    reply: Option<PreparedReply>,
}

impl Retract {
    /// Encodes the reply.
    pub(in crate::sqlite) fn new(
        key: &TaskKey,
        expected: Revision,
        reply: Option<(IdempotencyRecord, &Message)>,
    ) -> Result<Self, Error> {
        let reply = reply.map(|(record, reply)| PreparedReply::new(record, reply)).transpose()?;
        Ok(Self { key: key.clone(), expected, reply })
    }
}

impl WriteOp for Retract {
    type Output = ();

    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<Result<(), Error>> {
        let TaskKey { owner, agent, id } = &self.key;
        let find = "SELECT number, revision, work FROM tasks
             WHERE caller = ?1 AND id = ?2 AND agent = ?3";
        let found = writer
            .connection
            .prepare_cached(find)?
            .query_row(params![owner, id.as_str(), agent], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
            });
        let (task_number, revision, work) = found.optional()?.unwrap_or_default();
        let found = Revision::new(revision.unsigned_abs());
        if work != codec::pending_work_number(PendingWork::Held) || found != self.expected {
            let (task, expected) = (id.clone(), self.expected);
            return Ok(Err(Error::Conflict { task, expected, found }));
        }
        writer.remove_task(task_number)?;
        match &mut self.reply {
            Some(reply) => reply.run(writer),
            None => Ok(Ok(())),
        }
    }
}
