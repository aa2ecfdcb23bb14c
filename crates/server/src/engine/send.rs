//! Sending a message: to a new task, or to one that goes on.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Instant;

use latimer_protocol::{
    Answer, Call, Caller, Content, ContextId, Dialect, Error, ErrorKind, Invalid, Message,
    Metadata, Part, Reply, Request, Revision, SendMessageConfiguration, SendMessageRequest,
    SendMessageResponse, Task, TaskId, Timestamp,
};
use latimer_store::{Key, Outcome, Sent, Stored};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::drive::Start;
use super::live::{Guard, State, Watch};
use super::reader::{From, Reader, Until};
use super::repeat::{self, Flight, Seen, Ticket};
use super::tasks::resume_after;
use super::work::{Floor, Work};
use super::{CURSOR, Engine, ids, trimmed, unavailable};
use crate::agent::{Agent, Contexts};
use crate::turn::{Emitted, Inner, Outbox, Turn};

/// What a caller that sends a message waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    /// The end, or a question.
    Answer,
    /// That there is a task.
    Task,
    /// Everything, as it happens.
    Events,
}

/// A message that is to be worked on.
struct Letter {
    message: Message,
    configuration: SendMessageConfiguration,
    metadata: Metadata,
    caller: Caller,
    agent: Arc<Agent>,
    extensions: Vec<String>,
    dialect: Dialect,
    want: Want,
    after: Option<Revision>,
}

/// A message that is being worked on.
struct Begun {
    live: Place,
    /// The last event before the message.
    after: Revision,
    /// The task before the message, when it is not the first.
    opening: Option<Box<Task>>,
    made_in: Dialect,
}

/// Where the work goes on, and whether its events are kept for a stream.
enum Place {
    Waited(Guard),
    Watched(Watch),
}

impl Place {
    fn guard(&self) -> &Guard {
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

    /// Checks a message before anything is done about it.
    async fn accept(&self, mut call: Call) -> Result<Letter, Error> {
        if self.is_draining() {
            let message = "the server is shutting down; try again in a moment";
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        if self.0.turns.load(Ordering::Relaxed) >= self.0.limits.turns {
            let message = "too many tasks are being worked on; try again later";
            return Err(Error::new(ErrorKind::RateLimited, message));
        }
        let agent = Arc::clone(self.recipient(&call).await?);
        let extensions = self.activate(&call, &agent)?;
        let request = std::mem::replace(&mut call.request, Request::GetAgentCard);
        let (request, streams) = match request {
            Request::SendMessage(request) => (request, false),
            Request::SendStreamingMessage(request) => (request, true),
            _ => return Err(Error::internal()),
        };
        let SendMessageRequest { message, configuration, metadata, .. } = request;
        let configuration = configuration.unwrap_or_default();
        if configuration.task_push_notification_config.is_some() {
            return Err(ErrorKind::PushNotificationNotSupported.into());
        }
        check_parts(&message.parts, &agent, self.0.limits.parts)?;
        let want = match (streams, configuration.return_immediately) {
            (true, _) => Want::Events,
            (false, true) => Want::Task,
            (false, false) => Want::Answer,
        };
        Ok(Letter {
            message,
            configuration,
            metadata,
            caller: call.caller,
            agent,
            extensions,
            dialect: call.dialect,
            want,
            after: call.after,
        })
    }

    /// The agent that a message is for: the one that is named, or whose task it continues, or that
    /// its metadata name, or the primary one.
    async fn recipient(&self, call: &Call) -> Result<&Arc<Agent>, Error> {
        let (Request::SendMessage(request) | Request::SendStreamingMessage(request)) =
            &call.request
        else {
            return Err(Error::internal());
        };
        if let Some(agent) = self.named(call)? {
            return Ok(agent);
        }
        let metadata = [&request.metadata, &request.message.metadata];
        let meant = metadata.into_iter().find_map(|it| it.get("agent").and_then(|it| it.as_str()));
        if let Some(agent) = meant.and_then(|name| self.0.registry.get(name)) {
            return Ok(agent);
        }
        match &request.message.task_id {
            Some(id) if !call.dialect.callers_name_tasks() => self.whose(call, id).await,
            Some(id) => self.whose(call, id).await.or_else(|_| self.addressed(call)),
            None => self.addressed(call),
        }
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
        let turn = turn(letter, live.key().id.clone(), context, None, references);
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
        let turn = turn(letter, id, context, Some(Arc::clone(&stored.task)), references);
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

    /// Finds out whether a message was sent before.
    async fn recognise(&self, letter: &Letter, key: &Key, continues: bool) -> Result<Known, Error> {
        let window = letter.agent.policy().repeat_window;
        let exempt = window.is_zero()
            || !letter.dialect.messages_have_ids()
            || letter.agent.executor().may_repeat(&letter.message);
        if exempt {
            return Ok(Known::No);
        }
        let sent = repeat::key(key, continues, &letter.message, &letter.metadata);
        let ticket = match self.0.repeats.enter(sent).await {
            Seen::First(ticket) => ticket,
            Seen::Again(Flight { live, after }) => {
                let live = place(&live, letter.want);
                let made_in = letter.dialect;
                return Ok(Known::Before(Begun { live, after, opening: None, made_in }));
            }
        };
        let now = ids::now();
        let outcome = self.store().sent(&sent, now).await.map_err(unavailable)?;
        Ok(match outcome {
            Some(outcome) => Known::Before(self.again(letter, outcome).await?),
            None => {
                let window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
                let expires = now.as_millis().saturating_add(window);
                let expires = Timestamp::from_millis(expires).unwrap_or(now);
                Known::First(Sent { key: sent, expires }, ticket)
            }
        })
    }

    /// What came of a message that was sent before.
    async fn again(&self, letter: &Letter, outcome: Outcome) -> Result<Begun, Error> {
        let made_in = letter.dialect;
        match outcome {
            Outcome::Task { key, revision } => {
                let live = self.0.lives.get(&key);
                let stored = self.store().load(&key).await.map_err(unavailable)?;
                let stored = stored.ok_or_else(|| Error::task_not_found(&key.id))?;
                live.learn(&stored);
                // The message is in the append that ends here, if not before.
                let after = Revision::new(revision.get() - 1);
                let after = if letter.want == Want::Events { Revision::START } else { after };
                Ok(Begun { live: place(&live, letter.want), after, opening: None, made_in })
            }
            Outcome::Message(message) => {
                let id = ids::task();
                let caller = letter.caller.id().clone();
                let live =
                    self.0.lives.begin(Key { caller, agent: letter.agent.name().clone(), id });
                live.lock().answer = Some(message);
                let live = place(&live, letter.want);
                Ok(Begun { live, after: Revision::START, opening: None, made_in })
            }
        }
    }

    /// Waits for the end, or a question; for so long, and then for the task as it stands.
    async fn outcome(&self, begun: &Begun, agent: &Agent) -> Result<SendMessageResponse, Error> {
        let live = begun.live.guard();
        let settled = |state: &State| match (&state.answer, &state.settled, &state.failure) {
            (Some(answer), _, _) => Some(Ok(SendMessageResponse::Message(answer.clone()))),
            (None, Some(task), _) if state.revision > begun.after => {
                Some(Ok(SendMessageResponse::Task(Arc::clone(task))))
            }
            (None, _, Some(failure)) => Some(Err(failure.clone())),
            (None, _, None) => None,
        };
        let at_once = settled(&live.lock());
        if let Some(outcome) = at_once {
            return outcome;
        }
        tokio::select! {
            outcome = live.until(settled) => return outcome,
            () = tokio::time::sleep(agent.policy().max_wait) => {}
            () = self.halt().stopped() => {}
        }
        self.first_sight(begun).await
    }

    /// Waits until there is a task, whatever its state.
    async fn first_sight(&self, begun: &Begun) -> Result<SendMessageResponse, Error> {
        let live = begun.live.guard();
        if let Some(turn) = live.lock().turn.clone() {
            turn.outbox().force();
        }
        let seen = |state: &State| match (&state.answer, &state.failure) {
            (Some(answer), _) => Some(Ok(Some(answer.clone()))),
            (None, _) if state.revision > Revision::START => Some(Ok(None)),
            (None, Some(failure)) => Some(Err(failure.clone())),
            (None, None) => None,
        };
        if let Some(answer) = live.until(seen).await? {
            return Ok(SendMessageResponse::Message(answer));
        }
        let settled = live.lock().settled.clone();
        if let Some(task) = settled {
            return Ok(SendMessageResponse::Task(task));
        }
        let stored = self.store().load(live.key()).await.map_err(unavailable)?;
        let stored = stored.ok_or_else(|| Error::task_not_found(&live.key().id))?;
        Ok(SendMessageResponse::Task(stored.task))
    }
}

/// How many tasks a message can usefully refer to.
const MAX_REFERENCES: usize = 16;

/// Whether a message was sent before.
enum Known {
    /// Nobody asks.
    No,
    /// It was not.
    First(Sent, Ticket),
    /// It was, and this came of it.
    Before(Begun),
}

/// Counts a turn until it is over.
struct Counted(Engine);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.turns.fetch_sub(1, Ordering::Relaxed);
    }
}

fn place(live: &Guard, want: Want) -> Place {
    match want {
        Want::Events => Place::Watched(live.watch()),
        Want::Answer | Want::Task => Place::Waited(live.clone()),
    }
}

fn turn(
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
    })
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

/// §3.3.4: an agent says which media types it reads.
fn check_parts(parts: &[Part], agent: &Agent, limit: usize) -> Result<(), Error> {
    if parts.len() > limit {
        let problem = format!("must not have more than {limit} parts");
        return Err(Invalid::new("message.parts", problem).into());
    }
    let card = agent.card();
    let skills = card.skills.iter().flat_map(|it| &it.input_modes);
    let modes: Vec<&str> =
        card.default_input_modes.iter().chain(skills).map(String::as_str).collect();
    for (place, part) in parts.iter().enumerate() {
        let Some(media_type) = media_type(part) else { continue };
        if !modes.iter().any(|mode| accepts(mode, media_type)) {
            let message = format!("the agent does not read {media_type} (message.parts[{place}])");
            return Err(Error::new(ErrorKind::ContentTypeNotSupported, message));
        }
    }
    Ok(())
}

/// The media type of a part, if that is known.
fn media_type(part: &Part) -> Option<&str> {
    let said = part.media_type.as_deref();
    match &part.content {
        // A text is a text whatever its markup.
        Content::Text(_) => None,
        Content::Data(_) => Some(said.unwrap_or("application/json")),
        Content::Raw(_) | Content::Url(_) => said,
    }
}

/// Whether a mode of a card covers a media type; modes were once just `text`, `file` and `data`.
fn accepts(mode: &str, media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let mode = mode.split(';').next().unwrap_or_default().trim();
    match mode.split_once('/') {
        Some(("*", "*")) => true,
        Some((kind, "*")) => {
            essence.split('/').next().is_some_and(|it| it.eq_ignore_ascii_case(kind))
        }
        Some(_) => mode.eq_ignore_ascii_case(essence),
        None => match mode {
            "*" | "file" => true,
            "data" => essence.eq_ignore_ascii_case("application/json"),
            kind => essence.split('/').next().is_some_and(|it| it.eq_ignore_ascii_case(kind)),
        },
    }
}
