//! Taking over what a former process left.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use latimer_protocol::{
    Caller, Error, Event, Message, Revision, SendMessageConfiguration, TaskState,
};
use latimer_store::{Error as StoreError, LoggedEvent, PendingWork as Needed, StoredTask};
use tokio::sync::oneshot;
use tracing::{info, warn};

use super::accept::{Letter, Want};
use super::access::Access;
use super::drive::{Start, failed};
use super::floor::Floor;
use super::live::{Guard, is_settled};
use super::work::Work;
use super::{Engine, ids, unavailable};
use crate::agent::{Agent, Contexts};

/// How many tasks are taken over at once.
const BATCH: usize = 256;

impl Engine {
    /// Takes over the tasks of processes that are gone, and looks after the store from now on. Tasks
    /// that nobody had begun are begun; for the others their agents are asked to go on, or they
    /// fail. Returns how many there were.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn recover(&self) -> Result<u64, Error> {
        self.0.tracker.spawn(self.clone().sweep());
        let mut abandoned = Vec::new();
        loop {
            let more = self.store().claim_abandoned(BATCH).await.map_err(unavailable)?;
            if more.is_empty() {
                break;
            }
            abandoned.extend(more);
        }
        if !abandoned.is_empty() {
            info!(tasks = abandoned.len(), "taking over the tasks of a former process");
        }
        let count = abandoned.len() as u64;
        if let Some(courier) = self.0.courier.get() {
            courier.resume().await.map_err(unavailable)?;
        }
        // What was going on is before what was waiting for it.
        abandoned.sort_by_key(|it| it.header.pending_work == Needed::Queued);
        for stored in abandoned {
            self.take_over(stored).await?;
        }
        Ok(count)
    }

    /// Has the store remove what is too old, now and then.
    async fn sweep(self) {
        let every = self.store().retention().sweep_interval;
        loop {
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = self.halt().draining() => return,
            }
            match self.store().sweep(ids::now()).await {
                Ok(0) => {}
                Ok(tasks) => info!(tasks, "removed old tasks"),
                Err(error) => warn!(%error, "old tasks could not be removed"),
            }
        }
    }

    async fn take_over(&self, stored: StoredTask) -> Result<(), Error> {
        let live = self.0.lives.get(&stored.key);
        live.learn(&stored);
        self.shares().add(&stored.key);
        let Some(agent) = self.0.registry.get(&stored.key.agent).cloned() else {
            let reason = format!("the agent {:?} is not published any more", stored.key.agent);
            self.repair(live, reason);
            return Ok(());
        };
        let Turns { current, pending } = self.turns_of(&stored).await?;
        let letter = |message| recovered(&agent, &stored, message);
        let later: Vec<_> = pending.into_iter().map(letter).collect();
        let now = letter(current);
        live.lock().heard.extend(later.iter().map(|it| it.message.message_id.clone()));
        if let Some(floor) = Floor::take(&live)
            && !is_settled(stored.header.state)
        {
            self.go_on(now, floor, stored);
        }
        for letter in later {
            // Nobody waits for it any more.
            let (done, _) = oneshot::channel();
            self.run(self.clone().further(letter, live.clone(), None, None, done));
        }
        Ok(())
    }

    /// Goes on with the turn that was going on, or begins the one that was waiting.
    fn go_on(&self, letter: Letter, floor: Floor, stored: StoredTask) {
        let waiting = stored.header.pending_work == Needed::Queued;
        let agent = Arc::clone(&letter.agent);
        let (id, context) = (stored.key.id.clone(), stored.header.context.clone());
        let lane = self.0.lanes.lane(&stored.key, &context);
        let turn = self.turn(letter, id, context, (!waiting).then_some(&stored), Vec::new());
        let mut work = Work::resume(self.clone(), agent, floor, turn, stored, None);
        let contexts = work.agent.policy().contexts;
        if waiting && contexts == Contexts::Queue {
            // Nobody waits for it any more.
            return self.queue(work, true).let_go();
        }
        let right = match contexts {
            Contexts::Parallel => None,
            Contexts::Queue | Contexts::Reject => lane.enter().ok(),
        };
        let start = if waiting { Start::Execute } else { Start::Recover };
        if !waiting {
            work.already_started();
        }
        self.run(work.drive(start, waiting, right));
    }

    /// The message of the turn that was going on, and those whose turns had not come.
    async fn turns_of(&self, stored: &StoredTask) -> Result<Turns, Error> {
        let mut turns =
            Turns { current: Message::user(ids::message(), "").into(), pending: VecDeque::new() };
        let mut state = TaskState::Submitted;
        let mut seen = Revision::START;
        loop {
            let events =
                self.store().events(&stored.key, seen, BATCH).await.map_err(unavailable)?;
            let Some(last) = events.last() else { return Ok(turns) };
            seen = last.revision;
            for LoggedEvent { event, .. } in events {
                turns.follow(event, &mut state);
            }
        }
    }

    /// Sees to it that a task whose events could not be stored does not look as if somebody were at
    /// work, as soon as the store works again.
    pub(super) fn repair(&self, live: Guard, reason: String) {
        let (engine, halt) = (self.clone(), self.halt().clone());
        self.0.tracker.spawn(async move {
            let mut pause = Duration::from_millis(100);
            loop {
                match engine.try_repair(&live, &reason).await {
                    Ok(()) => break,
                    Err(error) => warn!(task = %live.key().id, %error, "task is not repaired yet"),
                }
                tokio::select! {
                    () = tokio::time::sleep(pause) => pause = (pause * 2).min(Duration::from_secs(30)),
                    // The next process takes it over.
                    () = halt.stopped() => break,
                }
            }
        });
    }

    async fn try_repair(&self, live: &Guard, reason: &str) -> Result<(), StoreError> {
        // Whoever has the floor now sees to it.
        let Some(_floor) = Floor::wait(live, self.halt()).await else { return Ok(()) };
        let stored = self.store().load(live.key()).await?;
        if let Some(stored) = stored.filter(|it| it.header.pending_work != Needed::None) {
            self.end(live, stored, failed(reason)).await?;
        }
        live.change(|state| state.failure = None);
        Ok(())
    }
}

/// Whose turn it was when a process ended.
struct Turns {
    current: Arc<Message>,
    pending: VecDeque<Arc<Message>>,
}

impl Turns {
    /// Takes note of one more event of the log, in which the task was in `state`.
    fn follow(&mut self, event: Event, state: &mut TaskState) {
        match event {
            Event::Created(task) => {
                *state = task.status.state;
                if let Some(first) = task.history.into_iter().next() {
                    self.current = first;
                }
            }
            Event::Message(message) => self.pending.push_back(message),
            Event::Status(update) => {
                // A task that waited for its caller works again: with what the caller said first.
                let resumes = state.is_interrupted() && update.status.state == TaskState::Working;
                if resumes && let Some(next) = self.pending.pop_front() {
                    self.current = next;
                }
                *state = update.status.state;
            }
            Event::Artifact(_) => {}
        }
    }
}

/// A message as its caller sent it, as far as that is known.
fn recovered(agent: &Arc<Agent>, stored: &StoredTask, message: Arc<Message>) -> Letter {
    Letter {
        configuration: SendMessageConfiguration::default(),
        metadata: message.metadata.clone(),
        caller: match &*stored.key.owner {
            "" => Caller::anonymous(),
            id => Caller::new(id),
        },
        access: Access::again(&stored.key),
        agent: Arc::clone(agent),
        extensions: message.extensions.clone(),
        dialect: stored.header.created_in,
        want: Want::Answer,
        opens: false,
        awaited: false,
        after: None,
        message,
    }
}
