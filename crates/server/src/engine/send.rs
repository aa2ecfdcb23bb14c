//! Sending a message: to a new task, or to one that goes on.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use latimer_protocol::{
    Call, CallResponse, ContextId, Dialect, Error, ErrorKind, Reply, Revision, SendMessageResponse,
    Task, TaskId,
};
use latimer_store::{IdempotencyRecord, StoredTask, TaskKey};
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;

use super::accept::{Letter, Want};
use super::drive::Start;
use super::floor::Floor;
use super::live::{Guard, Watch};
use super::outcome::Known;
use super::reader::{From, Reader, Until};
use super::repeat::{Flight, Ticket};
use super::rest::Rest;
use super::tasks::resume_after;
use super::work::Work;
use super::{CURSOR_EXTENSION, Engine, ids, trimmed, unavailable};
use crate::agent::Contexts;
use crate::turn::{Inner, Outbox, Turn};

/// A message that is being worked on.
pub(super) struct Begun {
    pub(super) live: Place,
    /// The last event before the message.
    pub(super) after: Revision,
    /// The task before the message, when it is not the first.
    pub(super) opening: Option<Box<Task>>,
    pub(super) made_in: Dialect,
    pub(super) how: How,
    /// What is left of the work, if its caller waits for its end.
    pub(super) rest: Option<Rest>,
}

/// How a message came to be worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// It came, and is.
    New,
    /// It came before, and is or was.
    Again,
    /// It came, and waits for its turn for so long that its caller is told how the task stands.
    Later,
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
    pub(super) async fn send(&self, call: Call) -> Result<CallResponse, Error> {
        let letter = self.accept(call).await?;
        let (agent, want) = (letter.agent.clone(), letter.want);
        let (history, extensions) =
            (letter.configuration.history_length, letter.extensions.clone());
        let mut begun = self.begin(letter).await?;
        let sent = match (want, begun.how) {
            (Want::Task, _) | (_, How::Later) => Box::pin(self.first_sight(&begun)).await?,
            (Want::Answer | Want::Events, _) => self.outcome(&mut begun, &agent).await?,
        };
        let reply = Reply::SendMessage(match sent {
            SendMessageResponse::Task(task) => SendMessageResponse::Task(trimmed(task, history)),
            message @ SendMessageResponse::Message(_) => message,
        });
        Ok(CallResponse { reply, task_dialect: Some(begun.made_in), extensions })
    }

    pub(super) async fn stream(&self, call: Call) -> Result<CallResponse, Error> {
        let letter = self.accept(call).await?;
        let open = self.open_stream(&letter.caller)?;
        let extensions = letter.extensions.clone();
        let resumed = letter.after;
        let begun = self.begin(letter).await?;
        let watch = match begun.live {
            Place::Watched(watch) => watch,
            Place::Waited(guard) => guard.watch(),
        };
        let mut from = From {
            cursor: begun.after,
            since: begun.after,
            until: Until::Settled,
            opening: begun.opening,
            numbered: extensions.iter().any(|it| it == CURSOR_EXTENSION),
        };
        let mut shown = None;
        // Only a message that was sent before has events that could have been seen.
        if begun.how == How::Again
            && let Some(stored) = self.store().load(watch.key()).await.map_err(unavailable)?
        {
            watch.learn(&stored);
            let seen = resume_after(resumed, stored.revision)?;
            from.cursor = seen.unwrap_or(stored.revision);
            shown = seen.is_none().then_some(stored.task);
        }
        let mut reader = Reader::new(watch, self.store().clone(), self.halt().clone(), open, from);
        if let Some(task) = shown {
            reader.show(Arc::unwrap_or_clone(task));
        }
        let reply = Reply::Stream(Box::pin(reader));
        Ok(CallResponse { reply, task_dialect: Some(begun.made_in), extensions })
    }

    /// Has a message worked on.
    async fn begin(&self, letter: Letter) -> Result<Begun, Error> {
        let continues = letter.message.task_id.clone();
        let agent = letter.agent.name();
        let key = match &continues {
            Some(id) => letter.access.task(agent, id)?,
            None => letter.access.new_task(agent, ids::task())?,
        };
        let sent = match self.recognise(&letter, &key, continues.is_some()).await? {
            Known::No => None,
            Known::First(sent, ticket) => Some((sent, ticket)),
            Known::Before(begun) => return Ok(begun),
        };
        let Some(id) = continues else {
            let floor = Floor::of_new(self.0.lives.begin(key));
            return self.begin_task(letter, floor, sent).await;
        };
        match self.store().load(&key).await.map_err(unavailable)? {
            Some(stored) => Box::pin(self.continue_task(letter, stored, sent)).await,
            None if letter.dialect.clients_assign_task_ids() => {
                Box::pin(self.begin_named(letter, key, sent)).await
            }
            None => Err(Error::task_not_found(&id)),
        }
    }

    /// Begins a task whose caller chose the name, unless somebody else did meanwhile.
    async fn begin_named(&self, letter: Letter, key: TaskKey, sent: Told) -> Result<Begun, Error> {
        let live = self.0.lives.get(&key);
        let floor = match Floor::take(&live) {
            Some(floor) => Some(floor),
            None => Floor::wait(&live, self.halt()).await,
        };
        let stored = self.store().load(&key).await.map_err(unavailable)?;
        match (stored, floor) {
            (Some(stored), floor) => {
                drop(floor);
                self.continue_task(letter, stored, sent).await
            }
            (None, Some(floor)) => self.begin_task(letter, floor, sent).await,
            (None, None) => Err(stopping()),
        }
    }

    async fn begin_task(
        &self,
        mut letter: Letter,
        floor: Floor,
        sent: Told,
    ) -> Result<Begun, Error> {
        let key = floor.key();
        let context = letter.message.context_id.clone().unwrap_or_else(ids::context);
        let right = match letter.agent.policy().contexts {
            Contexts::Parallel | Contexts::Queue => None,
            Contexts::Reject => match self.0.lanes.lane(key, &context).enter() {
                Ok(right) => Some(right),
                Err(_) => {
                    let message = "the agent is busy with this conversation; try again later";
                    return Err(Error::new(ErrorKind::Unavailable, message));
                }
            },
        };
        letter.opens = letter.message.context_id.is_none();
        letter.address(&key.id, &context);
        let references = self.references(&letter).await?;
        let webhook = self.inline_webhook(&mut letter, key, Revision::START).await?;
        let (dialect, want, agent) = (letter.dialect, letter.want, letter.agent.clone());
        self.shares().begin(key)?;
        let live = Guard::clone(&floor);
        let place = place(&live, want);
        let turn = self.turn(letter, live.key().id.clone(), context, None, references);
        let mut work = Work::begin(self.clone(), agent, floor, turn, dialect);
        if let Some(webhook) = webhook {
            work.register(webhook);
        }
        if let Some((sent, ticket)) = sent {
            ticket.flies(Flight { live, after: Revision::START });
            work.remember(sent, ticket);
        }
        let at_once = want == Want::Task || dialect.clients_assign_task_ids();
        let rest = if work.agent.policy().contexts == Contexts::Queue {
            self.queue(work, at_once)
        } else {
            self.start(work.drive(Start::Execute, at_once, right))
        };
        let rest = match want {
            Want::Answer => Some(rest),
            Want::Events | Want::Task => {
                rest.let_go();
                None
            }
        };
        let (after, how) = (Revision::START, How::New);
        Ok(Begun { live: place, after, opening: None, made_in: dialect, how, rest })
    }

    /// Has a turn worked on behind whatever else its conversation waits for.
    pub(super) fn queue(&self, mut work: Work, at_once: bool) -> Rest {
        let context = work.turn.context_id();
        let waiting = self.0.lanes.lane(work.live.key(), context).wait();
        self.start(async move {
            tokio::pin!(waiting);
            // The place in the queue is taken before anything else happens.
            let right = match now(waiting.as_mut()).await {
                Poll::Ready(right) => right.ok(),
                Poll::Pending => work.wait_for(waiting).await,
            };
            // Otherwise the task came to an end while it waited.
            let Some(right) = right else { return };
            let at_once = at_once || work.exists();
            work.drive(Start::Execute, at_once, Some(right)).await;
        })
    }

    /// A turn about a message.
    pub(super) fn turn(
        &self,
        letter: Letter,
        task_id: TaskId,
        context_id: ContextId,
        before: Option<&StoredTask>,
        references: Vec<Arc<Task>>,
    ) -> Turn {
        Turn::new(Inner {
            message: letter.message,
            task_id,
            context_id,
            agent: letter.agent.name().clone(),
            caller: letter.caller,
            task: before.map(|it| Arc::clone(&it.task)),
            note: before.and_then(|it| it.header.note.clone()),
            opens: letter.opens,
            awaited: letter.awaited,
            references,
            metadata: letter.metadata,
            accepted_output_modes: letter.configuration.accepted_output_modes,
            extensions: letter.extensions,
            deadline: letter.agent.policy().max_turn.map(|it| Instant::now() + it),
            cancel: CancellationToken::new(),
            declined: SetOnce::new(),
            outbox: Outbox::default(),
            store: Arc::clone(self.store()),
        })
    }

    /// The tasks that a message refers to, as far as they are the caller's.
    pub(super) async fn references(&self, letter: &Letter) -> Result<Vec<Arc<Task>>, Error> {
        let mut found = Vec::new();
        let access = &letter.access;
        for id in letter.message.reference_task_ids.iter().take(MAX_REFERENCES) {
            let agents =
                self.store().find_agents(access.owner()?, id).await.map_err(unavailable)?;
            if let Some(agent) = agents.into_iter().next() {
                let key = access.task(&agent, id)?;
                let stored = self.store().load(&key).await.map_err(unavailable)?;
                found.extend(stored.map(|it| it.task));
            }
        }
        Ok(found)
    }
}

/// What to remember of a message, if it is to be recognised.
pub(super) type Told = Option<(IdempotencyRecord, Arc<Ticket>)>;

/// How many tasks a message can usefully refer to.
const MAX_REFERENCES: usize = 16;

pub(super) fn place(live: &Guard, want: Want) -> Place {
    match want {
        Want::Events => Place::Watched(live.watch()),
        Want::Answer | Want::Task => Place::Waited(live.clone()),
    }
}

/// The answer to those who come when the engine is about to stop.
pub(super) fn stopping() -> Error {
    Error::new(ErrorKind::Unavailable, "the server is shutting down; try again in a moment")
}

/// Polls once.
pub(super) async fn now<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}
