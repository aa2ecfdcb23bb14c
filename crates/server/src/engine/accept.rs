//! Validation of inbound messages and selection of their agent.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use latimer_protocol::{
    CallContext, Caller, Content, ContextId, Dialect, Error, ErrorKind, InvalidField, Message,
    Metadata, Operation, Part, Revision, SendMessageConfiguration, SendMessageRequest, TaskId,
};

use super::Engine;
use super::agent_lookup::{CallRef, authorize};
use super::send::shutting_down_error;
use super::task_scope::TaskScope;
use crate::agent::Agent;

/// Condition for the return of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyMode {
    /// The task is settled.
    Blocking,
    /// The task is stored.
    Immediate,
    /// None: the send returns a stream of events.
    Streaming,
}

/// A validated message with its caller, target agent and reply mode, ready to start a turn.
pub(super) struct InboundMessage {
    pub(super) message: Arc<Message>,
    pub(super) configuration: SendMessageConfiguration,
    pub(super) metadata: Metadata,
    pub(super) caller: Caller,
    pub(super) scope: TaskScope,
    pub(super) agent: Arc<Agent>,
    pub(super) extensions: Vec<String>,
    pub(super) dialect: Dialect,
    pub(super) reply_mode: ReplyMode,
    /// Whether the message starts a new context.
    pub(super) starts_context: bool,
    /// Whether no stream and no webhook of this call observes the turn.
    pub(super) result_only: bool,
    pub(super) resume_after: Option<Revision>,
}

impl InboundMessage {
    /// Sets the task and context ids of the message.
    pub(super) fn assign_ids(&mut self, task: &TaskId, context: &ContextId) {
        let message = Arc::make_mut(&mut self.message);
        message.task_id = Some(task.clone());
        message.context_id = Some(context.clone());
    }
}

impl Engine {
    /// Validates a message: agent, authorization, limits, extensions, webhook support and media
    /// types. Changes nothing.
    pub(super) async fn accept(
        &self,
        context: CallContext,
        operation: Operation,
        request: SendMessageRequest,
    ) -> Result<InboundMessage, Error> {
        let call = CallRef { context: &context, operation, tenant: request.tenant.as_deref() };
        let scope = call.scope()?;
        let agent = Arc::clone(self.resolve_agent(call, &scope, &request).await?);
        self.check_streaming_supported(operation, &agent)?;
        if self.is_draining() {
            return Err(shutting_down_error());
        }
        if self.0.turns.load(Ordering::Relaxed) >= self.0.limits.max_turns {
            let message = "too many turns are running; try again later";
            return Err(Error::new(ErrorKind::RateLimited, message));
        }
        let extensions = self.active_extensions(&context, &agent)?;
        let SendMessageRequest { message, configuration, metadata, .. } = request;
        let configuration = configuration.unwrap_or_default();
        let has_webhook = configuration.task_push_notification_config.is_some();
        if has_webhook {
            self.dispatcher(&agent)?;
        }
        check_parts(&message, &agent, self.0.limits.max_parts)?;
        let reply_mode = match (operation.is_streaming(), configuration.return_immediately) {
            (true, _) => ReplyMode::Streaming,
            (false, true) => ReplyMode::Immediate,
            (false, false) => ReplyMode::Blocking,
        };
        Ok(InboundMessage {
            message: Arc::new(message),
            configuration,
            metadata,
            caller: context.caller,
            scope,
            agent,
            extensions,
            dialect: context.dialect,
            reply_mode,
            starts_context: false,
            result_only: reply_mode == ReplyMode::Blocking && !has_webhook,
            resume_after: context.resume_after,
        })
    }

    /// Returns the agent of a message: the one named by the call, else by the metadata member
    /// `agent`, else the agent of the task that the message continues, else the primary one.
    async fn resolve_agent(
        &self,
        call: CallRef<'_>,
        scope: &TaskScope,
        request: &SendMessageRequest,
    ) -> Result<&Arc<Agent>, Error> {
        if let Some(agent) = self.named_agent(call)? {
            return Ok(agent);
        }
        let metadata = [&request.metadata, &request.message.metadata];
        let agent_name =
            metadata.into_iter().find_map(|it| it.get("agent").and_then(|it| it.as_str()));
        if let Some(agent) = agent_name.and_then(|name| self.0.registry.get(name)) {
            return authorize(&call.context.caller, agent);
        }
        match &request.message.task_id {
            Some(id) if !call.context.dialect.clients_assign_task_ids() => {
                self.find_task_agent(call, scope, id).await
            }
            Some(id) => match self.find_task_agent(call, scope, id).await {
                Err(error) if error.kind() == ErrorKind::TaskNotFound => self.target_agent(call),
                agent => agent,
            },
            None => self.target_agent(call),
        }
    }
}

/// Checks the number of parts and, as §3.3.4 requires, their media types against the input modes of
/// the card, unless the policy of the agent leaves that to the agent.
fn check_parts(message: &Message, agent: &Agent, limit: usize) -> Result<(), Error> {
    if message.parts.len() > limit {
        let problem = format!("must not have more than {limit} parts");
        return Err(InvalidField::new("message.parts", problem).into());
    }
    if !agent.policy().enforce_input_modes || agent.is_directive(message) {
        return Ok(());
    }
    let card = agent.card();
    let skills = card.skills.iter().flat_map(|it| &it.input_modes);
    let modes: Vec<&str> =
        card.default_input_modes.iter().chain(skills).map(String::as_str).collect();
    for (index, part) in message.parts.iter().enumerate() {
        let Some(media_type) = media_type(part) else { continue };
        if !modes.iter().any(|mode| accepts(mode, media_type)) {
            let message =
                format!("the agent does not accept {media_type} (message.parts[{index}])");
            return Err(Error::new(ErrorKind::ContentTypeNotSupported, message));
        }
    }
    Ok(())
}

/// Returns the media type of a part. `None` if it needs no check.
fn media_type(part: &Part) -> Option<&str> {
    let declared = part.media_type.as_deref();
    match &part.content {
        // Every agent accepts text, whatever its markup.
        Content::Text(_) => None,
        Content::Data(_) => Some(declared.unwrap_or("application/json")),
        Content::Raw(_) | Content::Url(_) => declared,
    }
}

/// Returns whether an input mode of a card covers a media type. Old cards use the modes `text`,
/// `file` and `data`.
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
