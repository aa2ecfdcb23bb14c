//! The request that is sent upstream.

use latimer_client::negotiate::SelectedInterface;
use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::{
    Caller, ContextId, Message, Metadata, SendMessageConfiguration, SendMessageRequest, TaskId,
    Version,
};
use latimer_server::{AgentFailure, CURSOR_EXTENSION, Turn};

use crate::peer::context_cache::ContextCache;
use crate::peer::hops::{self, HopPath};
use crate::peer::upstream_ids::{self, UpstreamIds};

/// Metadata key of the caller's principal.
const USER_ID_KEY: &str = "userId";

/// Side that assigns the ids of an agent's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskIdSource {
    /// The upstream agent.
    Server,
    /// Its client, as in JSON-RPC of version 0.1.
    Client,
}

impl TaskIdSource {
    /// Returns the side that assigns task ids over an interface.
    pub(super) fn for_interface(interface: Option<&SelectedInterface>) -> Self {
        let client_assigns_ids = interface.is_some_and(|it| {
            it.version == Version::V0_1 && it.binding == ProtocolBinding::JsonRpc
        });
        if client_assigns_ids { Self::Client } else { Self::Server }
    }
}

/// Request for the upstream agent, and the upstream ids of its task and context.
#[derive(Debug)]
pub(super) struct UpstreamRequest {
    pub(super) request: SendMessageRequest,
    pub(super) ids: UpstreamIds,
}

impl UpstreamRequest {
    /// Builds the request for a turn: maps ids, adds the hop path and removes local metadata.
    ///
    /// # Errors
    /// [`AgentFailure`] when the store cannot be read.
    pub(super) async fn for_turn(
        turn: &Turn,
        hop_path: &HopPath,
        context_cache: &ContextCache,
        task_id_source: TaskIdSource,
    ) -> Result<Self, AgentFailure> {
        let mut ids = turn.note().and_then(UpstreamIds::parse).unwrap_or_default();
        if task_id_source == TaskIdSource::Client && ids.task.is_none() {
            // Known before the response, so that the task can be canceled at any time.
            ids.task = upstream_ids::task_id(turn);
        }
        let context = match &ids.context {
            Some(context) => Some(context.clone()),
            None => upstream_context(turn, context_cache).await?,
        };
        let original = turn.message();
        let mut message = Message {
            message_id: upstream_ids::message_id(turn)
                .unwrap_or_else(|| original.message_id.clone()),
            context_id: context.clone(),
            task_id: ids.task.clone(),
            metadata: forwardable_metadata(&original.metadata),
            reference_task_ids: upstream_references(turn).await?,
            ..original.clone()
        };
        hop_path.write_to(&mut message.metadata);
        let configuration = SendMessageConfiguration {
            accepted_output_modes: turn.accepted_output_modes().to_vec(),
            ..SendMessageConfiguration::default()
        };
        let request = SendMessageRequest {
            tenant: None,
            message,
            configuration: Some(configuration),
            metadata: forwardable_metadata(turn.metadata()),
        };
        Ok(Self { request, ids: UpstreamIds { context, ..ids } })
    }

    /// Sets the caller's principal, and removes any value that the caller sent.
    pub(super) fn set_caller(&mut self, caller: &Caller) {
        self.request.metadata.remove(USER_ID_KEY);
        let metadata = &mut self.request.message.metadata;
        match caller.is_anonymous() {
            true => drop(metadata.remove(USER_ID_KEY)),
            false => drop(metadata.insert(USER_ID_KEY.to_owned(), caller.id().to_string().into())),
        }
    }
}

/// Returns the upstream id of the turn's context: derived for a new context, otherwise the cached
/// one or that of its last task.
async fn upstream_context(
    turn: &Turn,
    context_cache: &ContextCache,
) -> Result<Option<ContextId>, AgentFailure> {
    let derived_id = upstream_ids::context_id(turn);
    if turn.starts_context() {
        return Ok(derived_id);
    }
    let Some(derived_id) = derived_id else { return Ok(None) };
    if let Some(upstream_id) = context_cache.get(&derived_id) {
        return Ok(Some(upstream_id));
    }
    let mut upstream_id = derived_id.clone();
    for task in turn.context_tasks(1).await? {
        let note = turn.note_of(&task.id).await?;
        let ids = note.and_then(|it| UpstreamIds::parse(&it));
        upstream_id = ids.and_then(|it| it.context).unwrap_or(upstream_id);
    }
    context_cache.insert(derived_id, upstream_id.clone());
    Ok(Some(upstream_id))
}

/// Returns the upstream ids of the tasks that the message refers to.
async fn upstream_references(turn: &Turn) -> Result<Vec<TaskId>, AgentFailure> {
    let mut ids = Vec::new();
    for task in turn.referenced_tasks() {
        let note = turn.note_of(&task.id).await?;
        ids.extend(note.and_then(|it| UpstreamIds::parse(&it)).and_then(|it| it.task));
    }
    Ok(ids)
}

/// Metadata keys with a meaning for one server only, which are not forwarded.
const LOCAL_METADATA: [&str; 4] = [hops::PATH_KEY, hops::HOPS_KEY, CURSOR_EXTENSION, "agent"];

/// Returns metadata without local keys, for either direction.
pub(super) fn forwardable_metadata(metadata: &Metadata) -> Metadata {
    let mut forwarded = metadata.clone();
    if LOCAL_METADATA.iter().any(|name| metadata.contains_key(*name)) {
        for name in LOCAL_METADATA {
            forwarded.remove(name);
        }
    }
    forwarded
}
