//! Connection to the agent of a tool: made at the first call, and again after an error.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use latimer_client::{CardSource, Client, Error as ClientError};
use latimer_protocol::card::AgentCard;
use parking_lot::{Mutex, MutexGuard};
use tokio::task::JoinSet;
use tracing::warn;

use crate::peer::ConfigureClient;
use crate::peer::redaction::{Redactor, new_reference};
use crate::tools::{ToolError, ToolErrorCode};

/// Maximum length of a description; model APIs accept no longer one.
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// One connection attempt, shared by all calls that wait for it.
type ConnectFuture = Shared<BoxFuture<'static, Result<Arc<ConnectedAgent>, ToolError>>>;

/// Connects to an agent and caches the connection.
pub(super) struct AgentConnector {
    tool: Arc<str>,
    source: CardSource,
    pub(super) configure_client: Arc<ConfigureClient>,
    state: Mutex<ConnectorState>,
}

#[derive(Default)]
struct ConnectorState {
    attempt: Option<ConnectFuture>,
    /// Last connected agent. Stays when the connection is invalidated, for the tool's description.
    last_agent: Option<Arc<ConnectedAgent>>,
}

/// An agent whose card was fetched and verified, and the client that calls it.
pub(super) struct ConnectedAgent {
    tool: Arc<str>,
    pub(super) client: Client,
    redactor: Redactor,
    /// Description of the tool, from the agent's card.
    pub(super) description: String,
}

impl AgentConnector {
    /// Creates the connector of a tool. Does not connect yet.
    pub(super) fn new(tool: &str, source: CardSource) -> Self {
        Self { tool: tool.into(), source, configure_client: Arc::new(Ok), state: Mutex::default() }
    }

    /// Returns the connected agent; connects first if necessary. Concurrent calls share one attempt
    /// and its result. A failed attempt is not cached.
    pub(super) async fn connect(&self) -> Result<Arc<ConnectedAgent>, ToolError> {
        let attempt = self.shared_attempt();
        let result = attempt.clone().await;
        let mut state = self.state();
        match &result {
            Ok(agent) => state.last_agent = Some(Arc::clone(agent)),
            Err(_) => {
                state.attempt.take_if(|it| it.ptr_eq(&attempt));
            }
        }
        result
    }

    /// Drops the cached connection if it is still `agent`.
    pub(super) fn invalidate(&self, agent: &Arc<ConnectedAgent>) {
        let is_current = |attempt: &mut ConnectFuture| matches!(attempt.peek(), Some(Ok(current)) if Arc::ptr_eq(current, agent));
        self.state().attempt.take_if(is_current);
    }

    /// Returns the last connected agent, even if it was invalidated.
    pub(super) fn last_agent(&self) -> Option<Arc<ConnectedAgent>> {
        self.state().last_agent.clone()
    }

    fn shared_attempt(&self) -> ConnectFuture {
        let start = || {
            let (tool, configure_client) =
                (Arc::clone(&self.tool), Arc::clone(&self.configure_client));
            // Spawned, so that it continues when the first caller drops its future.
            let mut task = JoinSet::new();
            task.spawn(ConnectedAgent::connect(tool, self.source.clone(), configure_client));
            let connect_failed =
                || ToolError::new(ToolErrorCode::A2aError, "connecting to the agent failed");
            let result = async move {
                match task.join_next().await {
                    Some(Ok(result)) => result,
                    Some(Err(_)) | None => Err(connect_failed()),
                }
            };
            result.boxed().shared()
        };
        self.state().attempt.get_or_insert_with(start).clone()
    }

    fn state(&self) -> MutexGuard<'_, ConnectorState> {
        self.state.lock()
    }
}

impl ConnectedAgent {
    async fn connect(
        tool: Arc<str>,
        source: CardSource,
        configure_client: Arc<ConfigureClient>,
    ) -> Result<Arc<Self>, ToolError> {
        let redactor = Redactor::default();
        if let Some(url) = source.url() {
            redactor.add_url(url);
        }
        let client = match configure_client(Client::builder(source)) {
            Ok(client) => client.connect().await,
            Err(error) => Err(error),
        };
        let client = client.map_err(|error| to_tool_error(&tool, error, &redactor))?;
        if let Some(interface) = client.interface() {
            redactor.add_discovered_url(&interface.url);
        }
        let mut description = String::new();
        if let Some(card) = client.card() {
            redactor.add_card(card);
            description = describe_card(card, &redactor);
        }
        Ok(Arc::new(Self { tool, client, redactor, description }))
    }

    /// Logs an error of a call and converts it for the tool's caller.
    pub(super) fn tool_error(&self, error: ClientError) -> ToolError {
        to_tool_error(&self.tool, error, &self.redactor)
    }

    /// Removes upstream hosts from a text of the agent.
    pub(super) fn redact(&self, text: &str) -> String {
        self.redactor.redact(text)
    }
}

/// Logs an error and converts it for the tool's caller, without upstream hosts.
fn to_tool_error(tool: &str, error: ClientError, redactor: &Redactor) -> ToolError {
    let reference = new_reference();
    warn!(tool, reference, %error, "call of a tool's agent failed");
    let is_transient = error.is_transient();
    let unusable = matches!(
        error,
        ClientError::Forbidden { .. }
            | ClientError::NoCard(_)
            | ClientError::UntrustedCard(_)
            | ClientError::NoInterface(_)
            | ClientError::NoCredentials(_)
            | ClientError::InvalidSetup(_)
    );
    if unusable {
        let message = format!(
            "the agent cannot be called as configured; see the server log for the reason \
             (reference {reference})"
        );
        return ToolError::new(ToolErrorCode::A2aError, message);
    }
    let caller_error = redactor.to_caller_error(error, &reference);
    let tool_error = ToolError::new(ToolErrorCode::A2aError, caller_error.message());
    match is_transient {
        true => tool_error.retryable(caller_error.retry_after_seconds().map(Duration::from_secs)),
        false => tool_error,
    }
}

/// Returns the name, description and skills of a card as one line.
fn describe_card(card: &AgentCard, redactor: &Redactor) -> String {
    let single_line = |text: &str| {
        let text = redactor.redact(text);
        let text: Vec<_> = text.split_whitespace().collect();
        text.join(" ").trim_end_matches('.').to_owned()
    };
    let mut text = format!("Asks the agent {}", single_line(&card.name));
    if !card.description.trim().is_empty() {
        text += &format!(": {}", single_line(&card.description));
    }
    let skills: Vec<_> = card.skills.iter().map(|it| single_line(&it.name)).collect();
    if !skills.is_empty() {
        text += &format!(". Its skills: {}", skills.join(", "));
    }
    text.chars().take(MAX_DESCRIPTION_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use latimer_protocol::card::AgentSkill;

    use super::*;

    #[test]
    fn description_summarizes_card_without_hosts() {
        let skill = |name: &str| AgentSkill { name: name.into(), ..AgentSkill::default() };
        let mut card = AgentCard {
            name: "Weather".into(),
            description: "Knows the weather.\n  Lives at 10.0.0.5:9000.".into(),
            skills: vec![skill("Forecast"), skill("Rain radar")],
            ..AgentCard::default()
        };
        let redactor = Redactor::default();
        redactor.add_url("http://10.0.0.5:9000");
        let want = "Asks the agent Weather: Knows the weather. Lives at …. \
                    Its skills: Forecast, Rain radar";
        assert_eq!(describe_card(&card, &redactor), want);
        card.description = "é".repeat(2 * MAX_DESCRIPTION_CHARS);
        assert_eq!(describe_card(&card, &redactor).chars().count(), MAX_DESCRIPTION_CHARS);
    }
}
