//! Taking over what a former process left.

use std::sync::Arc;
use std::time::Duration;

use latimer_protocol::{Caller, Error, Message, Role};
use latimer_store::{Stored, Work as Needed};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::drive::{Start, failed};
use super::live::Guard;
use super::work::{Floor, Work};
use super::{Engine, ids, unavailable};
use crate::agent::{Agent, Contexts};
use crate::turn::{Inner, Turn};

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
        let mut count = 0;
        loop {
            let abandoned = self.store().take_abandoned(BATCH).await.map_err(unavailable)?;
            if abandoned.is_empty() {
                break;
            }
            for stored in abandoned {
                count += 1;
                self.take_over(stored).await;
            }
        }
        if count > 0 {
            info!(tasks = count, "took over the tasks of a former process");
        }
        Ok(count)
    }

    /// Has the store remove what is too old, now and then.
    async fn sweep(self) {
        let every = self.store().retention().sweep_every;
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

    async fn take_over(&self, stored: Stored) {
        let live = self.0.lives.get(&stored.key);
        live.learn(&stored);
        let Some(agent) = self.0.registry.get(&stored.key.agent).cloned() else {
            let reason = format!("the agent {:?} is not published any more", stored.key.agent);
            if let Err(error) = self.end(&live, stored, failed(reason)).await {
                warn!(%error, "task of an unknown agent could not be failed");
            }
            return;
        };
        let Some(floor) = Floor::take(&live) else { return };
        let waiting = stored.header.work == Needed::Waiting;
        let turn = self.recovered_turn(&agent, &stored, waiting);
        let mut work = Work::resume(self.clone(), agent, floor, turn, stored, None);
        if waiting {
            self.start_recovered(work);
        } else {
            work.already_started();
            self.run(work.drive(Start::Recover, false));
        }
    }

    /// Begins what was accepted and not begun, behind what else its conversation waits for.
    fn start_recovered(&self, work: Work) {
        match work.agent.policy().contexts {
            Contexts::Queue => self.queue(work),
            Contexts::Parallel | Contexts::Reject => {
                self.run(work.drive(Start::Execute, true));
            }
        }
    }

    /// The turn that was going on: its message is the last that the caller said.
    fn recovered_turn(&self, agent: &Agent, stored: &Stored, waiting: bool) -> Turn {
        let task = &stored.task;
        let said = |it: &&Message| it.role == Role::User;
        let message = task.history.iter().rev().find(said).cloned();
        // Every task begins with a message.
        let message = message.unwrap_or_else(|| Message::user(ids::message(), ""));
        let fresh = waiting && task.history.len() <= 1;
        Turn::new(Inner {
            task_id: stored.key.id.clone(),
            context_id: stored.header.context.clone(),
            agent: agent.name().clone(),
            caller: match &*stored.key.caller {
                "" => Caller::anonymous(),
                id => Caller::new(id),
            },
            task: (!fresh).then(|| Arc::clone(task)),
            references: Vec::new(),
            metadata: message.metadata.clone(),
            accepted_output_modes: Vec::new(),
            extensions: message.extensions.clone(),
            deadline: agent.policy().max_turn.map(|it| std::time::Instant::now() + it),
            cancel: CancellationToken::new(),
            outbox: crate::turn::Outbox::default(),
            store: Arc::clone(self.store()),
            message,
        })
    }

    /// Sees to it that a task whose events could not be stored does not look as if somebody were at
    /// work, as soon as the store works again.
    pub(super) fn repair(&self, live: Guard) {
        let (engine, halt) = (self.clone(), self.halt().clone());
        self.0.tracker.spawn(async move {
            let mut pause = Duration::from_millis(100);
            loop {
                match engine.try_repair(&live).await {
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

    async fn try_repair(&self, live: &Guard) -> Result<(), latimer_store::Error> {
        let stored = self.store().load(live.key()).await?;
        let Some(stored) = stored.filter(|it| it.header.work != Needed::None) else {
            return Ok(());
        };
        let reason = "what the agent did could not be stored";
        self.end(live, stored, failed(reason)).await?;
        live.change(|state| state.failure = None);
        Ok(())
    }
}
