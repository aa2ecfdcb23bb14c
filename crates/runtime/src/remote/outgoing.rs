//! A message on its way to the agent behind.

use latimer_client::negotiate::SelectedInterface;
use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::{
    Caller, ContextId, Message, Metadata, SendMessageConfiguration, SendMessageRequest, TaskId,
    Version,
};
use latimer_server::{AgentFailure, CURSOR_EXTENSION, Turn};

use super::contexts::{self, Contexts};
use super::note::Note;
use super::path::{self, Path};

/// The member of a message's metadata that says who calls.
const USER: &str = "userId";

/// Who names the tasks of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// The agent.
    Agent,
    /// Whoever calls it.
    Caller,
}

impl Naming {
    /// Who names tasks where an agent is called like this.
    pub(super) fn of(choice: Option<&SelectedInterface>) -> Self {
        let named = choice.is_some_and(|it| {
            it.version == Version::V0_1 && it.binding == ProtocolBinding::JsonRpc
        });
        if named { Self::Caller } else { Self::Agent }
    }
}

/// A message as the agent behind gets it, and which task and conversation of its it is about.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) request: SendMessageRequest,
    pub(super) note: Note,
}

impl Outgoing {
    /// The message of a turn, for an agent whose callers name tasks, or not.
    pub(super) async fn of(
        turn: &Turn,
        path: &Path,
        known: &Contexts,
        naming: Naming,
    ) -> Result<Self, AgentFailure> {
        let mut note = turn.note().and_then(Note::read).unwrap_or_default();
        if naming == Naming::Caller && note.task.is_none() {
            // So that it can be canceled before there is an answer.
            note.task = contexts::task(turn);
        }
        let context = match &note.context {
            Some(context) => Some(context.clone()),
            None => conversation(turn, known).await?,
        };
        let said = turn.message();
        let mut message = Message {
            message_id: contexts::message(turn).unwrap_or_else(|| said.message_id.clone()),
            context_id: context.clone(),
            task_id: note.task.clone(),
            metadata: passed_on(&said.metadata),
            reference_task_ids: references(turn).await?,
            ..said.clone()
        };
        path.mark(&mut message.metadata);
        let configuration = SendMessageConfiguration {
            accepted_output_modes: turn.accepted_output_modes().to_vec(),
            ..SendMessageConfiguration::default()
        };
        let request = SendMessageRequest {
            tenant: None,
            message,
            configuration: Some(configuration),
            metadata: passed_on(turn.metadata()),
        };
        Ok(Self { request, note: Note { context, ..note } })
    }

    /// Says who calls, and lets nobody else say so.
    pub(super) fn tell(&mut self, caller: &Caller) {
        self.request.metadata.remove(USER);
        let metadata = &mut self.request.message.metadata;
        match caller.is_anonymous() {
            true => drop(metadata.remove(USER)),
            false => drop(metadata.insert(USER.to_owned(), caller.id().to_string().into())),
        }
    }
}

/// What the agent behind calls the conversation.
async fn conversation(turn: &Turn, known: &Contexts) -> Result<Option<ContextId>, AgentFailure> {
    let ours = contexts::context(turn);
    if turn.starts_context() {
        return Ok(ours);
    }
    let Some(ours) = ours else { return Ok(None) };
    if let Some(theirs) = known.get(&ours) {
        return Ok(Some(theirs));
    }
    let mut theirs = ours.clone();
    for task in turn.context_tasks(1).await? {
        let note = turn.note_of(&task.id).await?;
        let note = note.and_then(|it| Note::read(&it));
        theirs = note.and_then(|it| it.context).unwrap_or(theirs);
    }
    known.learn(ours, theirs.clone());
    Ok(Some(theirs))
}

/// The tasks that the message refers to, as the agent behind knows them.
async fn references(turn: &Turn) -> Result<Vec<TaskId>, AgentFailure> {
    let mut found = Vec::new();
    for task in turn.referenced_tasks() {
        let note = turn.note_of(&task.id).await?;
        found.extend(note.and_then(|it| Note::read(&it)).and_then(|it| it.task));
    }
    Ok(found)
}

/// Members that are for one server only: they choose its agent, or are its own.
const OWN: [&str; 4] = [path::PATH, path::HOPS, CURSOR_EXTENSION, "agent"];

/// Free-form members as they are passed on, in either direction.
pub(super) fn passed_on(metadata: &Metadata) -> Metadata {
    let mut passed = metadata.clone();
    if OWN.iter().any(|name| metadata.contains_key(*name)) {
        for name in OWN {
            passed.remove(name);
        }
    }
    passed
}
