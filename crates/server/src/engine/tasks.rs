//! Reading tasks: get, list, subscribe.

use std::sync::Arc;

use latimer_protocol::{
    Call, CallResponse, Caller, DEFAULT_PAGE_SIZE, Error, ErrorKind, InvalidField,
    ListTasksResponse, Reply, Request, Revision, Task, TaskId, TaskState,
};
use latimer_store::{StoredTask, TaskQuery};

use super::access::Access;
use super::reader::{From, Reader, Until};
use super::{CURSOR_EXTENSION, Engine, Open, last, page, permitted, trimmed, unavailable};
use crate::agent::Agent;

/// A task that a call is about, and the extensions that are active for the call.
pub(super) struct Found {
    pub(super) stored: StoredTask,
    pub(super) extensions: Vec<String>,
}

impl Engine {
    pub(super) async fn get(&self, call: Call) -> Result<CallResponse, Error> {
        let Request::GetTask(request) = &call.request else { return Err(Error::internal()) };
        let found = self.find(&call, &request.id).await?;
        let task = trimmed(found.stored.task, request.history_length);
        Ok(CallResponse {
            reply: Reply::Task(task),
            task_dialect: Some(found.stored.header.created_in),
            extensions: found.extensions,
        })
    }

    /// The task of this id that is the caller's. Every operation on a task finds it here.
    pub(super) async fn find(&self, call: &Call, id: &TaskId) -> Result<Found, Error> {
        let access = Access::of(call)?;
        let agent = match self.named(call)? {
            Some(agent) => agent,
            None => self.whose(call, &access, id).await?,
        };
        self.check_offered(call, agent)?;
        let extensions = self.activate(call, agent)?;
        let key = access.task(agent.name(), id)?;
        let stored = self.store().load(&key).await.map_err(unavailable)?;
        let stored = stored.ok_or_else(|| Error::task_not_found(id))?;
        Ok(Found { stored, extensions })
    }

    /// The agent that has a task of this id: the root address knows the tasks of all.
    pub(super) async fn whose(
        &self,
        call: &Call,
        access: &Access,
        id: &TaskId,
    ) -> Result<&Arc<Agent>, Error> {
        let primary = self.primary()?;
        if self.0.registry.len() == 1 {
            return permitted(call, primary);
        }
        let agents = self.store().find_agents(access.owner()?, id).await.map_err(unavailable)?;
        let missing = || Error::task_not_found(id);
        let has = |agent: &&Arc<Agent>| agents.iter().any(|it| it == agent.name());
        let first = Some(primary).filter(has).or_else(|| self.0.registry.iter().find(has));
        match first {
            Some(agent) => permitted(call, agent),
            // Then the card that leads here is the primary one's.
            None => Err(self.check_offered(call, primary).err().unwrap_or_else(missing)),
        }
    }

    pub(super) async fn list(&self, call: Call) -> Result<CallResponse, Error> {
        let Request::ListTasks(request) = &call.request else { return Err(Error::internal()) };
        let owner = Access::of(&call)?.list()?;
        let named = self.named(&call)?;
        let extensions = self.activate(&call, named.map_or_else(|| self.primary(), Ok)?)?;
        // Those of agents that the caller may not use any more are not shown.
        let closed = self.0.registry.iter().filter(|it| permitted(&call, it).is_err());
        let page_size = request.page_size.unwrap_or(DEFAULT_PAGE_SIZE);
        let query = TaskQuery {
            after: request.page_token.as_deref().map(|it| page::place(it, &owner)).transpose()?,
            owner,
            agent: named.map(|it| it.name().clone()),
            excluded_agents: closed.map(|it| it.name().clone()).collect(),
            context: request.context_id.clone(),
            state: request.status.filter(|it| *it != TaskState::Unspecified),
            status_changed_since: request.status_timestamp_after,
            limit: usize::try_from(page_size).unwrap_or(usize::MAX),
        };
        let page = self.store().list(&query).await.map_err(unavailable)?;
        let artifacts = request.include_artifacts == Some(true);
        let shown = |task: Arc<Task>| Task {
            id: task.id.clone(),
            context_id: task.context_id.clone(),
            status: task.status.clone(),
            artifacts: if artifacts { task.artifacts.clone() } else { Vec::new() },
            history: last(&task.history, request.history_length).to_vec(),
            metadata: task.metadata.clone(),
        };
        let reply = Reply::TaskList(ListTasksResponse {
            tasks: page.tasks.into_iter().map(shown).collect(),
            next_page_token: page.next.map(|it| page::token(&it, &query.owner)).unwrap_or_default(),
            page_size,
            total_size: u32::try_from(page.total).unwrap_or(u32::MAX),
        });
        Ok(CallResponse { reply, task_dialect: None, extensions })
    }

    pub(super) async fn subscribe(&self, call: Call) -> Result<CallResponse, Error> {
        let Request::SubscribeToTask(request) = &call.request else {
            return Err(Error::internal());
        };
        let Found { stored, extensions } = self.find(&call, &request.id).await?;
        let open = self.open_stream(&call.caller)?;
        // From here on nothing is missed, and what the store says is at least as new.
        let live = self.0.lives.get(&stored.key).watch();
        let stored = self.store().load(&stored.key).await.map_err(unavailable)?;
        let stored = stored.ok_or_else(|| Error::task_not_found(&request.id))?;
        live.learn(&stored);
        let state = stored.header.state;
        if call.resume_after.is_none() && state.is_terminal() {
            let message = format!("task {} is over ({state}); get it instead", request.id);
            return Err(Error::new(ErrorKind::UnsupportedOperation, message));
        }
        let after = resume_after(call.resume_after, stored.revision)?;
        let from = From {
            cursor: after.unwrap_or(stored.revision),
            since: Revision::START,
            until: Until::Over,
            opening: None,
            numbered: extensions.iter().any(|it| it == CURSOR_EXTENSION),
        };
        let store = self.store().clone();
        let mut reader = Reader::new(live, store, self.halt().clone(), open, from);
        if after.is_none() {
            reader.show(Task::clone(&stored.task));
        }
        Ok(CallResponse {
            reply: Reply::Stream(Box::pin(reader)),
            task_dialect: Some(stored.header.created_in),
            extensions,
        })
    }

    pub(super) fn open_stream(&self, caller: &Caller) -> Result<Open, Error> {
        let own = self.0.shares.open(caller.id())?;
        Open::new(&self.0.streams, self.0.limits.streams, own)
    }
}

/// Where a stream goes on, if it does. An event that has not happened cannot have been seen.
pub(super) fn resume_after(
    after: Option<Revision>,
    newest: Revision,
) -> Result<Option<Revision>, Error> {
    match after {
        Some(after) if after > newest => {
            let problem = format!("is beyond the last event, which is {newest}");
            Err(InvalidField::new("last-event-id", problem).into())
        }
        after => Ok(after),
    }
}
