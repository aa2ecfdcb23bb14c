//! Further turns of a task: one at a time, in the order in which their messages came.

use std::sync::Arc;

use latimer_protocol::{Error, ErrorKind, InvalidField, Message, Revision, Task};
use latimer_store::StoredTask;
use tokio::sync::oneshot;

use super::accept::{Letter, Want};
use super::drive::Start;
use super::floor::Floor;
use super::live::Guard;
use super::repeat::Flight;
use super::send::{Begun, How, Told, place, stopping};
use super::work::Work;
use super::{Engine, unavailable};
use crate::turn::Emitted;

/// Tells how a further turn began: behind which event, and with which task.
type Beginning = oneshot::Sender<Result<(Revision, Arc<Task>), Error>>;

impl Engine {
    /// Has a message to a task worked on, when it is its turn.
    pub(super) async fn continue_task(
        &self,
        mut letter: Letter,
        stored: StoredTask,
        sent: Told,
    ) -> Result<Begun, Error> {
        let context = &stored.header.context;
        if letter.message.context_id.as_ref().is_some_and(|it| it != context) {
            let problem = "is not that of the task; leave it out, or name the task's";
            return Err(InvalidField::new("message.contextId", problem).into());
        }
        if stored.header.state.is_terminal() {
            return Err(finished(&stored));
        }
        letter.address(&stored.key.id, context);
        if let Some(webhook) =
            self.inline_webhook(&mut letter, &stored.key, stored.revision).await?
        {
            self.register(webhook).await?;
        }
        let live = self.0.lives.get(&stored.key);
        let (want, message) = (letter.want, letter.message.clone());
        let max_wait = letter.agent.policy().max_wait;
        let later = Begun {
            live: place(&live, want),
            after: stored.revision,
            opening: None,
            made_in: stored.header.created_in,
            how: How::Later,
            rest: None,
        };
        let floor = Floor::take(&live);
        let waits = floor.is_none();
        let ticket = sent.as_ref().map(|(_, ticket)| Arc::clone(ticket));
        let (done, mut begun) = oneshot::channel();
        self.run(self.clone().further(letter, live.clone(), floor, sent, done));
        let written_down = async || {
            let heard = hear(&live, &message).await;
            if let (true, Some(ticket)) = (heard, &ticket) {
                ticket.flies(Flight { live: live.clone(), after: later.after });
            }
            heard
        };
        if waits && want == Want::Task && written_down().await {
            return Ok(later);
        }
        if waits && want == Want::Answer {
            tokio::select! {
                begun = &mut begun => return self.begun(begun, want, later),
                () = tokio::time::sleep(max_wait) => {}
            }
            if written_down().await {
                return Ok(later);
            }
        }
        self.begun(begun.await, want, later)
    }

    fn begun(
        &self,
        begun: Result<Result<(Revision, Arc<Task>), Error>, oneshot::error::RecvError>,
        want: Want,
        later: Begun,
    ) -> Result<Begun, Error> {
        let (after, task) = begun.unwrap_or_else(|_| Err(stopping()))?;
        let opening = (want == Want::Events).then(|| Box::new(Arc::unwrap_or_clone(task)));
        Ok(Begun { after, opening, how: How::New, ..later })
    }

    /// Takes a further turn as soon as it can.
    pub(super) async fn further(
        self,
        letter: Letter,
        live: Guard,
        floor: Option<Floor>,
        sent: Told,
        done: Beginning,
    ) {
        let floor = match floor {
            Some(floor) => Some(floor),
            None => Floor::wait(&live, self.halt()).await,
        };
        let want = letter.want;
        // Whoever asked may have gone.
        match self.next_turn(letter, live, floor, sent).await {
            Ok((work, opening)) => {
                let _ = done.send(Ok(opening));
                work.drive(Start::Execute, want == Want::Task, None).await;
            }
            Err(error) => {
                let _ = done.send(Err(error));
            }
        }
    }

    async fn next_turn(
        &self,
        letter: Letter,
        live: Guard,
        floor: Option<Floor>,
        sent: Told,
    ) -> Result<(Work, (Revision, Arc<Task>)), Error> {
        let stored = self.store().load(live.key()).await.map_err(unavailable)?;
        let stored = stored.ok_or_else(|| Error::task_not_found(&live.key().id))?;
        live.learn(&stored);
        let floor = match floor {
            _ if stored.header.state.is_terminal() => return Err(finished(&stored)),
            None => return Err(stopping()),
            Some(_) if self.halt().is_stopped() => return Err(stopping()),
            Some(floor) => floor,
        };
        let opening = (stored.revision, Arc::clone(&stored.task));
        let references = self.references(&letter).await?;
        let agent = letter.agent.clone();
        let heard = live.lock().serve(&letter.message.message_id);
        let message = (!heard).then(|| letter.message.clone());
        let (id, context) = (stored.key.id.clone(), stored.header.context.clone());
        let turn = self.turn(letter, id, context, Some(&stored), references);
        if let Some((_, ticket)) = &sent {
            ticket.flies(Flight { live, after: stored.revision });
        }
        let mut work = Work::resume(self.clone(), agent, floor, turn, stored, message);
        if let Some((sent, ticket)) = sent {
            work.remember(sent, ticket);
        }
        Ok((work, opening))
    }
}

/// Has a message written down that comes while a turn goes on, so that it can be acknowledged before
/// its own turn. False when no turn goes on.
async fn hear(live: &Guard, message: &Arc<Message>) -> bool {
    let Some(turn) = live.lock().turn.clone() else { return false };
    let outbox = turn.outbox();
    outbox.emit(Emitted::Heard(Arc::clone(message))).await.is_ok() && outbox.flush().await.is_ok()
}

fn finished(stored: &StoredTask) -> Error {
    let message = format!("task {} is over ({})", stored.key.id, stored.header.state);
    Error::new(ErrorKind::TaskFinished, message)
}
