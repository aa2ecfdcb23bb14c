//! Messages that were answered without a task.

use latimer_protocol::{Message, Timestamp};
use rusqlite::params;

use super::{Desk, Work};
use crate::sqlite::codec;
use crate::sqlite::failure::unavailable;
use crate::{Error, Sent, SentKey};

/// A direct answer to remember.
pub(in crate::sqlite) struct NewAnswer {
    sent: Sent,
    answer: Vec<u8>,
}

impl NewAnswer {
    /// Spells out an answer.
    pub(in crate::sqlite) fn new(sent: Sent, answer: &Message) -> Result<Self, Error> {
        let answer = codec::write_message(answer).map_err(unavailable)?;
        Ok(Self { sent, answer })
    }
}

impl Work for NewAnswer {
    type Answer = ();

    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<Result<(), Error>> {
        let mut replace = desk.connection.prepare_cached(
            "REPLACE INTO sent (key, expires, format, answer) VALUES (?1, ?2, ?3, ?4)",
        )?;
        let Sent { key, expires } = &self.sent;
        replace.execute(params![key.0, expires.as_millis(), codec::FORMAT, self.answer])?;
        Ok(Ok(()))
    }
}

/// Messages to forget, as far as they have expired.
pub(in crate::sqlite) struct Forget {
    pub(in crate::sqlite) keys: Vec<SentKey>,
    pub(in crate::sqlite) now: Timestamp,
}

impl Work for Forget {
    type Answer = ();

    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<Result<(), Error>> {
        // Somebody may have sent one of them again since they were looked up.
        let delete = "DELETE FROM sent WHERE key = ?1 AND expires <= ?2";
        let mut delete = desk.connection.prepare_cached(delete)?;
        for key in &self.keys {
            delete.execute(params![key.0, self.now.as_millis()])?;
        }
        Ok(Ok(()))
    }
}
