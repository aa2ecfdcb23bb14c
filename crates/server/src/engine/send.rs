//! Sending a message: to a new task, or to one that goes on.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Instant;

use latimer_protocol::{
    Answer, Call, ContextId, Dialect, Error, ErrorKind, Invalid, Message, Reply, Revision,
    SendMessageResponse, Task, TaskId,
};
use latimer_store::{Key, Sent, Stored};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::accept::{Letter, Want};
use super::drive::Start;
use super::live::{Guard, Watch};
use super::outcome::Known;
use super::reader::{From, Reader, Until};
use super::repeat::{Flight, Ticket};
use super::tasks::resume_after;
use super::work::{Floor, Work};
use super::{CURSOR, Engine, ids, trimmed, unavailable};
use crate::agent::Contexts;
use crate::turn::{Emitted, Inner, Outbox, Turn};

/// A message that is being worked on.
pub(super) struct Begun {
    pub(super) live: Place,
    /// The last event before the message.
    pub(super) after: Revision,
    /// The task before the message, when it is not the first.
    pub(super) opening: Option<Box<Task>>,
    pub(super) made_in: Dialect,
}

/// Where the work goes on, and whether its events are kept for a stream.
pub(super) enum Place {
    Waited(Guard),
    Watched(Watch),
}

impl Place {
    pub(super) fn guard(&self) -> &Guard {
        match self {
            Self::Waited(guard) => guard,
            Self::Watched(watch) => watch,
        }
    }
}

impl Engine {
    pub(super) async fn send(&self, call: Call) -> Result<Answer, Error> {
        let letter = self.accept(call).await?;
        let (agent, want) = (letter.agent.clone(), letter.want);
        let (history, extensions) =
            (letter.configuration.history_length, letter.extensions.clone());
        let begun = self.begin(letter).await?;
        let sent = match want {
            Want::Task => self.first_sight(&begun).await?,
            Want::Answer | Want::Events => self.outcome(&begun, &agent).await?,
        };
        let reply = Reply::Sent(match sent {
            SendMessageResponse::Task(task) => SendMessageResponse::Task(trimmed(task, history)),
            message @ SendMessageResponse::Message(_) => message,
        });
        Ok(Answer { reply, made_in: Some(begun.made_in), extensions })
    }

    pub(super) async fn stream(&self, call: Call) -> Result<Answer, Error> {
        let open = self.open_stream()?;
        let letter = self.accept(call).await?;
        let extensions = letter.extensions.clone();
        let resumed = letter.after;
        let begun = self.begin(letter).await?;
        let watch = match begun.live {
            Place::Watched(watch) => watch,
            Place::Waited(guard) => guard.watch(),
        };
        let newest = watch.lock().revision.max(begun.after);
        // Only a message that was sent before has events that could have been seen.
        let seen = resume_after(resumed.filter(|_| begun.after < newest), newest)?;
        let from = From {
            cursor: seen.unwrap_or(begun.after),
            until: Until::Settled,
            opening: begun.opening.filter(|_| seen.is_none()),
            numbered: extensions.iter().any(|it| it == CURSOR),
        };
        let reader = Reader::new(watch, self.store().clone(), self.halt().clone(), open, from);
        let reply = Reply::Stream(Box::pin(reader));
        Ok(Answer { reply, made_in: Some(begun.made_in), extensions })
    }

    /// Has a message worked on.
    async fn begin(&self, letter: Letter) -> Result<Begun, Error> {
        let continues = letter.message.task_id.clone();
        let id = continues.clone().unwrap_or_else(ids::task);
        let key = Key {
            caller: letter.caller.id().clone(),
            agent: letter.agent.name().clone(),
            id: id.clone(),
        };
        let sent = match self.recognise(&letter, &key, continues.is_some()).await? {
            Known::No => None,
            Known::First(sent, ticket) => Some((sent, ticket)),
            Known::Before(begun) => return Ok(begun),
        };
        let Some(id) = continues else { return self.begin_task(letter, key, sent).await };
        match self.store().load(&key).await.map_err(unavailable)? {
            Some(stored) => self.continue_task(letter, stored, sent).await,
            None if letter.dialect.callers_name_tasks() => self.begin_task(letter, key, sent).await,
            None => Err(Error::task_not_found(&id)),
        }
    }

    async fn begin_task(
        &self,
        mut letter: Letter,
        key: Key,
        sent: Option<(Sent, Ticket)>,
    ) -> Result<Begun, Error> {
        let context = letter.message.context_id.clone().unwrap_or_else(ids::context);
        let right = match letter.agent.policy().contexts {
            Contexts::Parallel | Contexts::Queue => None,
            Contexts::Reject => match self.0.lanes.lane(&key, &context).enter() {
                Ok(right) => Some(right),
                Err(_) => {
                    let message = "the agent is busy with this conversation; try again later";
                    return Err(Error::new(ErrorKind::Unavailable, message));
                }
            },
        };
        letter.message.task_id = Some(key.id.clone());
        letter.message.context_id = Some(context.clone());
        let references = self.references(&letter).await?;
        let (dialect, want, agent) = (letter.dialect, letter.want, letter.agent.clone());
        let live = self.0.lives.begin(key);
        let place = place(&live, want);
        let turn = self.turn(letter, live.key().id.clone(), context, None, references);
        let mut work = Work::begin(self.clone(), agent, live.clone(), turn, dialect);
        if let Some((sent, ticket)) = sent {
            ticket.flies(Flight { live, after: Revision::START });
            work.remember(sent, ticket);
        }
        let at_once = want == Want::Task || dialect.callers_name_tasks();
        if work.agent.policy().contexts == Contexts::Queue {
            self.queue(work);
        } else {
            let driven = work.drive(Start::Execute, at_once);
            self.run(async move {
                driven.await;
                drop(right);
            });
        }
        Ok(Begun { live: place, after: Revision::START, opening: None, made_in: dialect })
    }

    async fn continue_task(
        &self,
        mut letter: Letter,
        stored: Stored,
        sent: Option<(Sent, Ticket)>,
    ) -> Result<Begun, Error> {
        let context = &stored.header.context;
        if letter.message.context_id.as_ref().is_some_and(|it| it != context) {
            let problem = "is not that of the task; leave it out, or name the task's";
            return Err(Invalid::new("message.contextId", problem).into());
        }
        if stored.header.state.is_terminal() {
            return Err(finished(&stored));
        }
        letter.message.task_id = Some(stored.key.id.clone());
        letter.message.context_id = Some(context.clone());
        let live = self.0.lives.get(&stored.key);
        let place = place(&live, letter.want);
        let after = stored.revision;
        if let Some((_, ticket)) = &sent {
            ticket.flies(Flight { live: live.clone(), after });
        }
        let (made_in, want) = (stored.header.dialect, letter.want);
        let heard = want == Want::Task && hear(&live, &letter.message).await;
        let floor = match Floor::take(&live) {
            Some(floor) if !heard => Some(floor),
            _ => None,
        };
        let (done, begun) = oneshot::channel();
        let engine = self.clone();
        self.run(async move {
            let floor = match floor {
                Some(floor) => Some(floor),
                None => Floor::wait(&live).await,
            };
            match engine.next_turn(letter, live, floor, sent, heard).await {
                Ok((work, opening)) => {
                    // The caller may have gone.
                    let _ = done.send(Ok(opening));
                    work.drive(Start::Execute, want == Want::Task).await;
                }
                Err(error) => {
                    let _ = done.send(Err(error));
                }
            }
        });
        if heard {
            return Ok(Begun { live: place, after, opening: None, made_in });
        }
        let (after, task) = begun.await.unwrap_or_else(|_| Err(Error::internal()))?;
        let opening = (want == Want::Events).then(|| Box::new(Arc::unwrap_or_clone(task)));
        Ok(Begun { live: place, after, opening, made_in })
    }

    /// A further turn of a task, now that it is this message's.
    async fn next_turn(
        &self,
        letter: Letter,
        live: Guard,
        floor: Option<Floor>,
        sent: Option<(Sent, Ticket)>,
        heard: bool,
    ) -> Result<(Work, (Revision, Arc<Task>)), Error> {
        let stored = self.store().load(live.key()).await.map_err(unavailable)?;
        let stored = stored.ok_or_else(|| Error::task_not_found(&live.key().id))?;
        live.learn(&stored);
        let Some(floor) = floor.filter(|_| !stored.header.state.is_terminal()) else {
            return Err(finished(&stored));
        };
        let opening = (stored.revision, Arc::clone(&stored.task));
        let references = self.references(&letter).await?;
        let agent = letter.agent.clone();
        let message = (!heard).then(|| letter.message.clone());
        let (id, context) = (stored.key.id.clone(), stored.header.context.clone());
        let turn = self.turn(letter, id, context, Some(Arc::clone(&stored.task)), references);
        let mut work = Work::resume(self.clone(), agent, floor, turn, stored, message);
        if let Some((sent, ticket)) = sent {
            work.remember(sent, ticket);
        }
        Ok((work, opening))
    }

    /// Has a turn worked on behind whatever else its conversation waits for.
    pub(super) fn queue(&self, mut work: Work) {
        let context = work.turn.context_id();
        let waiting = self.0.lanes.lane(work.live.key(), context).wait();
        self.run(async move {
            tokio::pin!(waiting);
            // The place in the queue is taken before anything else happens.
            let right = match now(waiting.as_mut()).await {
                Poll::Ready(right) => right.ok(),
                Poll::Pending => work.wait_for(waiting).await,
            };
            // Otherwise the task came to an end while it waited.
            let Some(right) = right else { return };
            work.drive(Start::Execute, true).await;
            drop(right);
        });
    }

    /// Runs what a caller may or may not wait for: at once as far as it goes, and then by itself.
    pub(super) fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        let engine = self.clone();
        self.0.turns.fetch_add(1, Ordering::Relaxed);
        let mut work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            let _counted = Counted(engine);
            work.await;
        });
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        // Whoever polls it next is told when to.
        if work.as_mut().poll(&mut context).is_pending() {
            self.0.tracker.spawn(work);
        }
    }

    /// A turn about a message.
    fn turn(
        &self,
        letter: Letter,
        task_id: TaskId,
        context_id: ContextId,
        task: Option<Arc<Task>>,
        references: Vec<Arc<Task>>,
    ) -> Turn {
        Turn::new(Inner {
            message: letter.message,
            task_id,
            context_id,
            agent: letter.agent.name().clone(),
            caller: letter.caller,
            task,
            references,
            metadata: letter.metadata,
            accepted_output_modes: letter.configuration.accepted_output_modes,
            extensions: letter.extensions,
            deadline: letter.agent.policy().max_turn.map(|it| Instant::now() + it),
            cancel: CancellationToken::new(),
            outbox: Outbox::default(),
            store: Arc::clone(self.store()),
        })
    }

    /// The tasks that a message refers to, as far as they are the caller's.
    async fn references(&self, letter: &Letter) -> Result<Vec<Arc<Task>>, Error> {
        let mut found = Vec::new();
        let caller = letter.caller.id();
        for id in letter.message.reference_task_ids.iter().take(MAX_REFERENCES) {
            let agents = self.store().locate(caller, id).await.map_err(unavailable)?;
            if let Some(agent) = agents.into_iter().next() {
                let key = Key { caller: caller.clone(), agent, id: id.clone() };
                let stored = self.store().load(&key).await.map_err(unavailable)?;
                found.extend(stored.map(|it| it.task));
            }
        }
        Ok(found)
    }
}

/// How many tasks a message can usefully refer to.
const MAX_REFERENCES: usize = 16;

/// Counts a turn until it is over.
struct Counted(Engine);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.turns.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) fn place(live: &Guard, want: Want) -> Place {
    match want {
        Want::Events => Place::Watched(live.watch()),
        Want::Answer | Want::Task => Place::Waited(live.clone()),
    }
}

/// Has a message written down that comes while a turn goes on, so that it can be acknowledged before
/// its own turn. False when no turn goes on.
async fn hear(live: &Guard, message: &Message) -> bool {
    let Some(turn) = live.lock().turn.clone() else { return false };
    let outbox = turn.outbox();
    outbox.emit(Emitted::Heard(message.clone())).await.is_ok() && outbox.flush().await.is_ok()
}

fn finished(stored: &Stored) -> Error {
    let message = format!("task {} is over ({})", stored.key.id, stored.header.state);
    Error::new(ErrorKind::TaskFinished, message)
}

/// Polls once.
async fn now<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}
