//! The agent of a tool: looked for at the first call, kept, and looked for again after an error.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use latimer_client::{CardSource, Client, Error as ClientError};
use latimer_protocol::card::AgentCard;
use tracing::warn;

use crate::remote::{SetUp, Words};
use crate::tools::{Code, ToolError};

/// How long a description may be: model APIs take no more.
const MAX_DESCRIPTION: usize = 1024;

/// One look for an agent, which all wait for who need it.
type Look = Shared<BoxFuture<'static, Result<Arc<Found>, ToolError>>>;

/// Where the agent is, and what is kept of it.
pub(super) struct Finder {
    tool: Arc<str>,
    source: CardSource,
    pub(super) set_up: Arc<SetUp>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    look: Option<Look>,
    /// What was found last, be it forgotten since.
    last: Option<Arc<Found>>,
}

/// An agent whose card was read and trusted.
pub(super) struct Found {
    tool: Arc<str>,
    pub(super) client: Client,
    words: Words,
    /// What the agent says about itself.
    pub(super) description: String,
}

impl Finder {
    /// Finds the agent of the tool of this name.
    pub(super) fn new(tool: &str, source: CardSource) -> Self {
        Self { tool: tool.into(), source, set_up: Arc::new(Ok), kept: Mutex::default() }
    }

    /// The agent. Whoever comes while it is looked for waits for the same look, and for what came of
    /// it.
    pub(super) async fn find(&self) -> Result<Arc<Found>, ToolError> {
        let look = self.look();
        let found = look.clone().await;
        let mut kept = self.kept();
        match &found {
            Ok(found) => kept.last = Some(Arc::clone(found)),
            Err(_) => {
                kept.look.take_if(|it| it.ptr_eq(&look));
            }
        }
        found
    }

    /// Forgets what was found, unless it is something else by now.
    pub(super) fn forget(&self, found: &Arc<Found>) {
        let is_it =
            |look: &mut Look| matches!(look.peek(), Some(Ok(kept)) if Arc::ptr_eq(kept, found));
        self.kept().look.take_if(is_it);
    }

    /// What was found last.
    pub(super) fn last(&self) -> Option<Arc<Found>> {
        self.kept().last.clone()
    }

    fn look(&self) -> Look {
        let begin = || {
            let (tool, set_up) = (Arc::clone(&self.tool), Arc::clone(&self.set_up));
            // It goes on without whoever asked for it first.
            let look = tokio::spawn(Found::look(tool, self.source.clone(), set_up));
            let broken = || ToolError::new(Code::A2aError, "the agent cannot be looked for");
            async move { look.await.unwrap_or_else(|_| Err(broken())) }.boxed().shared()
        };
        self.kept().look.get_or_insert_with(begin).clone()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Its members are replaced whole.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Found {
    async fn look(
        tool: Arc<str>,
        source: CardSource,
        set_up: Arc<SetUp>,
    ) -> Result<Arc<Self>, ToolError> {
        let words = Words::default();
        if let Some(url) = source.url() {
            words.hide(url);
        }
        let client = match set_up(Client::builder(source)) {
            Ok(client) => client.connect().await,
            Err(error) => Err(error),
        };
        let client = client.map_err(|error| failure(&tool, error, &words))?;
        if let Some(choice) = client.interface() {
            words.hide(&choice.url);
        }
        let mut description = String::new();
        if let Some(card) = client.card() {
            words.hide_all(card);
            description = described(card, &words);
        }
        Ok(Arc::new(Self { tool, client, words, description }))
    }

    /// What may be read of a call that failed.
    pub(super) fn failure(&self, error: ClientError) -> ToolError {
        failure(&self.tool, error, &self.words)
    }

    /// What may be read of what the agent says went wrong.
    pub(super) fn clean(&self, text: &str) -> String {
        self.words.clean(text)
    }
}

/// An error as it may be read. Whether it passes is the client's to know.
fn failure(tool: &str, error: ClientError, words: &Words) -> ToolError {
    warn!(tool, %error, "the agent of a tool failed");
    let passing = error.is_transient();
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
        let message = "the agent cannot be called as it is set up: the log says why";
        return ToolError::new(Code::A2aError, message);
    }
    let said = words.error(error);
    let failure = ToolError::new(Code::A2aError, said.message());
    match passing {
        true => failure.passing(said.retry_after_seconds().map(Duration::from_secs)),
        false => failure,
    }
}

/// What an agent says about itself, in a few sentences without line breaks.
fn described(card: &AgentCard, words: &Words) -> String {
    let plain = |text: &str| {
        let text = words.clean(text);
        let text: Vec<_> = text.split_whitespace().collect();
        text.join(" ").trim_end_matches('.').to_owned()
    };
    let mut text = format!("Asks the agent {}", plain(&card.name));
    if !card.description.trim().is_empty() {
        text += &format!(": {}", plain(&card.description));
    }
    let skills: Vec<_> = card.skills.iter().map(|it| plain(&it.name)).collect();
    if !skills.is_empty() {
        text += &format!(". Its skills: {}", skills.join(", "));
    }
    text.chars().take(MAX_DESCRIPTION).collect()
}

#[cfg(test)]
mod tests {
    use latimer_protocol::card::AgentSkill;

    use super::*;

    #[test]
    fn a_description_has_what_the_card_says_and_no_address() {
        let skill = |name: &str| AgentSkill { name: name.into(), ..AgentSkill::default() };
        let mut card = AgentCard {
            name: "Weather".into(),
            description: "Knows the weather.\n  Lives at 10.0.0.5:9000.".into(),
            skills: vec![skill("Forecast"), skill("Rain radar")],
            ..AgentCard::default()
        };
        let words = Words::default();
        words.hide("http://10.0.0.5:9000");
        let want = "Asks the agent Weather: Knows the weather. Lives at …. \
                    Its skills: Forecast, Rain radar";
        assert_eq!(described(&card, &words), want);
        card.description = "é".repeat(2 * MAX_DESCRIPTION);
        assert_eq!(described(&card, &words).chars().count(), MAX_DESCRIPTION);
    }
}
