//! Operations that read tasks: get, list and subscribe.

use std::sync::Arc;

use latimer_protocol::{
    CallContext, CallResponse, Caller, DEFAULT_PAGE_SIZE, Error, ErrorKind, GetTaskRequest,
    InvalidField, ListTasksRequest, ListTasksResponse, Operation, Reply, ReplyKind, Revision,
    SubscribeToTaskRequest, Task, TaskId, TaskState,
};
use latimer_store::{PendingWork, StoredTask, TaskKey, TaskQuery};

use super::agent_lookup::{CallRef, authorize};
use super::reader::{Reader, ReaderStart, StreamEnd};
use super::task_scope::TaskScope;
use super::{
    CURSOR_EXTENSION, Engine, StreamGuard, last_messages, page_token, store_error, trim_history,
};
use crate::agent::Agent;

/// Task of a call, and the extensions that are active for the call.
pub(super) struct AuthorizedTask {
    pub(super) agent: Arc<Agent>,
    pub(super) stored: StoredTask,
    pub(super) extensions: Vec<String>,
}

impl Engine {
    /// Handles `GetTask`.
    pub(super) async fn get(
        &self,
        context: CallContext,
        request: GetTaskRequest,
    ) -> Result<CallResponse, Error> {
        let (operation, tenant) = (Operation::GetTask, request.tenant.as_deref());
        let call = CallRef { context: &context, operation, tenant };
        let authorized = self.find_task(call, &request.id).await?;
        let task = trim_history(authorized.stored.task, request.history_length);
        Ok(CallResponse {
            kind: ReplyKind::Single(Reply::Task(task)),
            task_dialect: Some(authorized.stored.header.created_in),
            extensions: authorized.extensions,
        })
    }

    /// Loads a task of the caller. Every operation on an existing task uses it.
    pub(super) async fn find_task(
        &self,
        call: CallRef<'_>,
        id: &TaskId,
    ) -> Result<AuthorizedTask, Error> {
        let scope = call.scope()?;
        let agent = match self.named_agent(call)? {
            Some(agent) => agent,
            None => self.find_task_agent(call, &scope, id).await?,
        };
        self.check_streaming_supported(call.operation, agent)?;
        let extensions = self.active_extensions(call.context, agent)?;
        let key = scope.task_key(agent.name(), id)?;
        let stored = self.load_visible(&key).await?.ok_or_else(|| Error::task_not_found(id))?;
        Ok(AuthorizedTask { agent: Arc::clone(agent), stored, extensions })
    }

    /// Loads a task that its caller can see.
    pub(super) async fn load_visible(&self, key: &TaskKey) -> Result<Option<StoredTask>, Error> {
        let stored = self.store().load(key).await.map_err(store_error)?;
        Ok(stored.filter(|it| it.header.pending_work != PendingWork::Held))
    }

    /// Returns the agent of a task when the call names none. Prefers the primary agent if several
    /// have a task with this id.
    pub(super) async fn find_task_agent(
        &self,
        call: CallRef<'_>,
        scope: &TaskScope,
        id: &TaskId,
    ) -> Result<&Arc<Agent>, Error> {
        let (primary, caller) = (self.primary()?, &call.context.caller);
        if self.0.registry.len() == 1 {
            return authorize(caller, primary);
        }
        let agents = self.store().find_agents(scope.owner()?, id).await.map_err(store_error)?;
        let missing = || Error::task_not_found(id);
        let has_task = |agent: &&Arc<Agent>| agents.iter().any(|it| it == agent.name());
        let first =
            Some(primary).filter(has_task).or_else(|| self.0.registry.iter().find(has_task));
        match first {
            Some(agent) => authorize(caller, agent),
            // Without an agent name the primary agent's card applies, so its missing streaming
            // support outranks the unknown task.
            None => {
                let unsupported = self.check_streaming_supported(call.operation, primary).err();
                Err(unsupported.unwrap_or_else(missing))
            }
        }
    }

    /// Handles `ListTasks`: returns a page of the caller's tasks.
    pub(super) async fn list(
        &self,
        context: CallContext,
        request: ListTasksRequest,
    ) -> Result<CallResponse, Error> {
        let (operation, tenant) = (Operation::ListTasks, request.tenant.as_deref());
        let call = CallRef { context: &context, operation, tenant };
        let owner = call.scope()?.list_owner()?;
        let named = self.named_agent(call)?;
        let extensions =
            self.active_extensions(&context, named.map_or_else(|| self.primary(), Ok)?)?;
        // Tasks of agents that the caller may no longer use are not listed.
        let inaccessible =
            self.0.registry.iter().filter(|it| authorize(&context.caller, it).is_err());
        let page_size = request.page_size.unwrap_or(DEFAULT_PAGE_SIZE);
        let query = TaskQuery {
            after: request
                .page_token
                .as_deref()
                .map(|it| page_token::decode(it, &owner))
                .transpose()?,
            owner,
            agent: named.map(|it| it.name().clone()),
            excluded_agents: inaccessible.map(|it| it.name().clone()).collect(),
            context: request.context_id,
            state: request.status.filter(|it| *it != TaskState::Unspecified),
            status_changed_since: request.status_timestamp_after,
            limit: usize::try_from(page_size).unwrap_or(usize::MAX),
        };
        let page = self.store().list(&query).await.map_err(store_error)?;
        let artifacts = request.include_artifacts == Some(true);
        let to_list_entry = |task: Arc<Task>| Task {
            id: task.id.clone(),
            context_id: task.context_id.clone(),
            status: task.status.clone(),
            artifacts: if artifacts { task.artifacts.clone() } else { Vec::new() },
            history: last_messages(&task.history, request.history_length).to_vec(),
            metadata: task.metadata.clone(),
        };
        let page = ListTasksResponse {
            tasks: page.tasks.into_iter().map(to_list_entry).collect(),
            next_page_token: page
                .next
                .map(|it| page_token::encode(&it, &query.owner))
                .unwrap_or_default(),
            page_size,
            total_size: u32::try_from(page.total).unwrap_or(u32::MAX),
        };
        Ok(CallResponse { extensions, ..Reply::TaskList(page).into() })
    }

    /// Handles `SubscribeToTask`: returns the task and its further events as a stream, or the events
    /// after the revision that the caller resumes from.
    pub(super) async fn subscribe(
        &self,
        context: CallContext,
        request: SubscribeToTaskRequest,
    ) -> Result<CallResponse, Error> {
        let (operation, tenant) = (Operation::SubscribeToTask, request.tenant.as_deref());
        let call = CallRef { context: &context, operation, tenant };
        let AuthorizedTask { stored, extensions, .. } = self.find_task(call, &request.id).await?;
        let stream_guard = self.open_stream(&context.caller)?;
        // Subscribed before the load, so that no event between the two is missed.
        let live = self.0.live_tasks.get_or_create(&stored.key).subscribe();
        let stored = self.store().load(&stored.key).await.map_err(store_error)?;
        let stored = stored.ok_or_else(|| Error::task_not_found(&request.id))?;
        live.sync_from_store(&stored);
        let state = stored.header.state;
        if context.resume_after.is_none() && state.is_terminal() {
            let message = format!("task {} has already ended ({state}); use GetTask", request.id);
            return Err(Error::new(ErrorKind::UnsupportedOperation, message));
        }
        let after = check_resume_cursor(context.resume_after, stored.revision)?;
        let start = ReaderStart {
            cursor: after.unwrap_or(stored.revision),
            ignore_end_through: Revision::START,
            stream_end: StreamEnd::Terminal,
            initial_task: None,
            history_length: None,
            revision_in_metadata: extensions.iter().any(|it| it == CURSOR_EXTENSION),
            turn_start: None,
        };
        let store = self.store().clone();
        let mut reader = Reader::new(live, store, self.shutdown().clone(), stream_guard, start);
        if after.is_none() {
            reader.push_snapshot(Task::clone(&stored.task));
        }
        Ok(CallResponse {
            kind: ReplyKind::Stream(Box::pin(reader)),
            task_dialect: Some(stored.header.created_in),
            extensions,
        })
    }

    pub(super) fn open_stream(&self, caller: &Caller) -> Result<StreamGuard, Error> {
        let caller_stream = self.0.quota.open_stream(caller.id())?;
        StreamGuard::new(&self.0.streams, self.0.limits.max_streams, caller_stream)
    }
}

/// Validates the revision after which a stream resumes.
///
/// # Errors
/// Fails if it is later than the last event.
pub(super) fn check_resume_cursor(
    after: Option<Revision>,
    newest: Revision,
) -> Result<Option<Revision>, Error> {
    match after {
        Some(after) if after > newest => {
            let problem = format!("is after the last event, which is {newest}");
            Err(InvalidField::new("last-event-id", problem).into())
        }
        after => Ok(after),
    }
}
