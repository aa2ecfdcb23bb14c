//! What becomes of tasks whose turns are stopped before they end.

use latimer_server::ServerHandle;

use crate::config::{AgentKind, Config, StoreLocation};

/// What the next start does with unfinished tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NextStart {
    /// The store is in memory and does not survive the process.
    LosesTasks,
    /// The store is a file.
    ClaimsTasks {
        /// Kinds of the published agents that can resume a task, in the order of the configuration.
        resumable_kinds: Vec<&'static str>,
    },
}

impl NextStart {
    pub(crate) fn new(config: &Config) -> Self {
        if config.store.location == StoreLocation::Memory {
            return Self::LosesTasks;
        }
        let mut resumable_kinds = Vec::new();
        for agent in config.agents.iter().filter(|it| can_resume(&it.kind)) {
            if !resumable_kinds.contains(&agent.kind.name()) {
                resumable_kinds.push(agent.kind.name());
            }
        }
        Self::ClaimsTasks { resumable_kinds }
    }

    fn outcome(&self, turns: usize) -> String {
        let tasks = match turns {
            0 => return "no task was unfinished".to_owned(),
            1 => "1 unfinished task".to_owned(),
            turns => format!("{turns} unfinished tasks"),
        };
        match self {
            Self::LosesTasks => format!("lost {tasks}, because the store is in memory"),
            Self::ClaimsTasks { resumable_kinds } if resumable_kinds.is_empty() => format!(
                "{tasks} in the store: the next start runs queued messages, and fails the tasks \
                 that were running, naming the restart"
            ),
            Self::ClaimsTasks { resumable_kinds } => format!(
                "{tasks} in the store: the next start runs queued messages, resumes tasks of agents \
                 that can continue ({}), and fails the others, naming the restart",
                resumable_kinds.join(", ")
            ),
        }
    }
}

/// Returns whether agents of a kind may resume an interrupted turn.
fn can_resume(kind: &AgentKind) -> bool {
    match kind {
        AgentKind::Echo | AgentKind::Demo(_) | AgentKind::A2a(_) => true,
        AgentKind::Command(_) | AgentKind::Mcp(_) | AgentKind::Model(_) => false,
    }
}

/// Unfinished tasks of a [`Daemon`](crate::Daemon), and what becomes of them when it stops.
#[derive(Clone, Debug)]
pub struct UnfinishedTasks {
    handle: ServerHandle,
    next_start: NextStart,
}

impl UnfinishedTasks {
    pub(crate) fn new(handle: ServerHandle, next_start: NextStart) -> Self {
        Self { handle, next_start }
    }

    /// Returns the number of running and queued turns.
    #[must_use]
    pub fn count(&self) -> usize {
        self.handle.activity().turns
    }

    /// Describes what becomes of the tasks of this number of turns if they are stopped, by the store
    /// in use and the kinds of the agents.
    #[must_use]
    pub fn outcome(&self, turns: usize) -> String {
        self.next_start.outcome(turns)
    }
}
