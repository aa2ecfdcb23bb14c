//! Selection of the agent of a call, its authorization, and its cards.

use std::sync::Arc;

use latimer_protocol::{
    CallContext, Caller, Dialect, Error, ErrorKind, GetExtendedAgentCardRequest, Operation, Reply,
};

use super::task_scope::TaskScope;
use super::{CURSOR_EXTENSION, Engine};
use crate::agent::Agent;

/// The parts of a call that select its agent and its task, borrowed from the call.
#[derive(Clone, Copy)]
pub(super) struct CallRef<'a> {
    pub(super) context: &'a CallContext,
    pub(super) operation: Operation,
    /// The tenant that the request names.
    pub(super) tenant: Option<&'a str>,
}

impl CallRef<'_> {
    /// Returns the tasks that the call may access.
    ///
    /// # Errors
    /// Fails if the operation has no access rule.
    pub(super) fn scope(&self) -> Result<TaskScope, Error> {
        TaskScope::for_operation(self.operation, &self.context.caller)
    }
}

impl Engine {
    /// Returns the agent that a call names, if it names one, without checking the caller.
    fn named_agent_unchecked(&self, call: CallRef<'_>) -> Result<Option<&Arc<Agent>>, Error> {
        let Some(name) = call.context.agent.as_deref().or(call.tenant) else { return Ok(None) };
        let unknown =
            || Error::new(ErrorKind::InvalidParams, format!("there is no agent {name:?}"));
        self.0.registry.get(name).map(Some).ok_or_else(unknown)
    }

    /// Returns the agent that serves calls which name none, without checking the caller.
    pub(super) fn primary(&self) -> Result<&Arc<Agent>, Error> {
        let missing = || Error::new(ErrorKind::Unavailable, "no agent is published");
        self.0.registry.primary().ok_or_else(missing)
    }

    /// Returns the agent that a call names, if it names one and the caller may use it.
    pub(super) fn named_agent(&self, call: CallRef<'_>) -> Result<Option<&Arc<Agent>>, Error> {
        let agent = self.named_agent_unchecked(call)?;
        agent.map(|agent| authorize(&call.context.caller, agent)).transpose()
    }

    /// Returns the agent that a call names, or else the primary one, if the caller may use it.
    pub(super) fn target_agent(&self, call: CallRef<'_>) -> Result<&Arc<Agent>, Error> {
        match self.named_agent(call)? {
            Some(agent) => Ok(agent),
            None => authorize(&call.context.caller, self.primary()?),
        }
    }

    /// Returns the extensions that are active for a call.
    ///
    /// # Errors
    /// Fails if the agent requires an extension that the caller did not request.
    pub(super) fn active_extensions(
        &self,
        context: &CallContext,
        agent: &Agent,
    ) -> Result<Vec<String>, Error> {
        let is_requested = |uri: &str| context.extensions.iter().any(|it| it == uri);
        let card = agent.card();
        let supported = &card.capabilities.extensions;
        if let Some(missing) = supported.iter().find(|it| it.required && !is_requested(&it.uri)) {
            let message = format!("the agent requires the extension {}", missing.uri);
            return Err(Error::new(ErrorKind::ExtensionSupportRequired, message));
        }
        let is_supported =
            |uri: &str| uri == CURSOR_EXTENSION || supported.iter().any(|it| it.uri == uri);
        Ok(context.extensions.iter().filter(|it| is_supported(it)).cloned().collect())
    }

    /// Rejects streaming operations if the agent's card disables streaming. §3.3.4 requires this
    /// check before the parameters of the request are validated.
    pub(super) fn check_streaming_supported(
        &self,
        operation: Operation,
        agent: &Agent,
    ) -> Result<(), Error> {
        if operation.is_streaming() && !agent.supports_streaming() {
            let message = "the agent does not support streaming; use SendMessage and GetTask";
            return Err(Error::new(ErrorKind::UnsupportedOperation, message));
        }
        Ok(())
    }

    /// Returns the public card, which is not restricted to the callers that may use the agent.
    pub(super) fn card(&self, context: &CallContext) -> Result<Reply, Error> {
        let call = CallRef { context, operation: Operation::GetAgentCard, tenant: None };
        call.scope()?.check_card_access()?;
        let agent = self.named_agent_unchecked(call)?.map_or_else(|| self.primary(), Ok)?;
        Ok(Reply::Card(Box::new((*agent.card()).clone())))
    }

    pub(super) fn extended_card(
        &self,
        context: &CallContext,
        request: &GetExtendedAgentCardRequest,
    ) -> Result<Reply, Error> {
        let (operation, tenant) = (Operation::GetExtendedAgentCard, request.tenant.as_deref());
        let call = CallRef { context, operation, tenant };
        call.scope()?.check_card_access()?;
        let agent = self.target_agent(call)?;
        match agent.extended_card() {
            Some(card) => Ok(Reply::Card(Box::new(card.clone()))),
            // §3.3.4: in 1.0 the operation is unsupported without the capability.
            None if context.dialect == Dialect::V1_0 => {
                Err(Error::new(ErrorKind::UnsupportedOperation, "the agent has no extended card"))
            }
            None => Err(ErrorKind::ExtendedAgentCardNotConfigured.into()),
        }
    }
}

/// Returns the agent if the caller may use it. Every operation on an agent or its tasks passes this
/// check.
pub(super) fn authorize<'a>(
    caller: &Caller,
    agent: &'a Arc<Agent>,
) -> Result<&'a Arc<Agent>, Error> {
    agent.access().check(caller)?;
    Ok(agent)
}
