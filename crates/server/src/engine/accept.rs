//! Taking a message in: for whom it is, and whether it can be taken.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use latimer_protocol::{
    Call, Caller, Content, ContextId, Dialect, Error, ErrorKind, InvalidField, Message, Metadata,
    Part, Request, Revision, SendMessageConfiguration, SendMessageRequest, TaskId,
};

use super::access::Access;
use super::send::stopping;
use super::{Engine, permitted};
use crate::agent::Agent;

/// What a caller that sends a message waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// The end, or a question.
    Answer,
    /// That there is a task.
    Task,
    /// Everything, as it happens.
    Events,
}

/// A message that is to be worked on.
pub(super) struct Letter {
    pub(super) message: Arc<Message>,
    pub(super) configuration: SendMessageConfiguration,
    pub(super) metadata: Metadata,
    pub(super) caller: Caller,
    pub(super) access: Access,
    pub(super) agent: Arc<Agent>,
    pub(super) extensions: Vec<String>,
    pub(super) dialect: Dialect,
    pub(super) want: Want,
    /// Whether it begins its conversation.
    pub(super) opens: bool,
    /// Whether its sender reads nothing but the answer, here or at a webhook.
    pub(super) awaited: bool,
    pub(super) after: Option<Revision>,
}

impl Letter {
    /// Says in the message which task and conversation it belongs to.
    pub(super) fn address(&mut self, task: &TaskId, context: &ContextId) {
        let message = Arc::make_mut(&mut self.message);
        message.task_id = Some(task.clone());
        message.context_id = Some(context.clone());
    }
}

impl Engine {
    /// Checks a message before anything is done about it.
    pub(super) async fn accept(&self, mut call: Call) -> Result<Letter, Error> {
        let access = Access::of(&call)?;
        let agent = Arc::clone(self.recipient(&call, &access).await?);
        self.check_offered(&call, &agent)?;
        if self.is_draining() {
            return Err(stopping());
        }
        if self.0.turns.load(Ordering::Relaxed) >= self.0.limits.turns {
            let message = "too many tasks are being worked on; try again later";
            return Err(Error::new(ErrorKind::RateLimited, message));
        }
        let extensions = self.activate(&call, &agent)?;
        let request = std::mem::replace(&mut call.request, Request::GetAgentCard);
        let (request, streams) = match request {
            Request::SendMessage(request) => (request, false),
            Request::SendStreamingMessage(request) => (request, true),
            _ => return Err(Error::internal()),
        };
        let SendMessageRequest { message, configuration, metadata, .. } = request;
        let configuration = configuration.unwrap_or_default();
        let tells = configuration.task_push_notification_config.is_some();
        if tells {
            self.courier(&agent)?;
        }
        check_parts(&message, &agent, self.0.limits.parts)?;
        let want = match (streams, configuration.return_immediately) {
            (true, _) => Want::Events,
            (false, true) => Want::Task,
            (false, false) => Want::Answer,
        };
        Ok(Letter {
            message: Arc::new(message),
            configuration,
            metadata,
            caller: call.caller,
            access,
            agent,
            extensions,
            dialect: call.dialect,
            want,
            opens: false,
            awaited: want == Want::Answer && !tells,
            after: call.resume_after,
        })
    }

    /// The agent that a message is for: the one that is named, or whose task it continues, or that
    /// its metadata name, or the primary one.
    async fn recipient(&self, call: &Call, access: &Access) -> Result<&Arc<Agent>, Error> {
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
            return permitted(call, agent);
        }
        match &request.message.task_id {
            Some(id) if !call.dialect.clients_assign_task_ids() => {
                self.whose(call, access, id).await
            }
            Some(id) => match self.whose(call, access, id).await {
                Err(error) if error.kind() == ErrorKind::TaskNotFound => self.addressed(call),
                agent => agent,
            },
            None => self.addressed(call),
        }
    }
}

/// §3.3.4: an agent says which media types it reads.
fn check_parts(message: &Message, agent: &Agent, limit: usize) -> Result<(), Error> {
    if message.parts.len() > limit {
        let problem = format!("must not have more than {limit} parts");
        return Err(InvalidField::new("message.parts", problem).into());
    }
    if agent.diverts(message) {
        return Ok(());
    }
    let card = agent.card();
    let skills = card.skills.iter().flat_map(|it| &it.input_modes);
    let modes: Vec<&str> =
        card.default_input_modes.iter().chain(skills).map(String::as_str).collect();
    for (place, part) in message.parts.iter().enumerate() {
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
