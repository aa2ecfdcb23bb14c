//! Location of an agent's card.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use latimer_protocol::card::AgentCard;
use url::Url;

use crate::error::Error;

/// Well-known paths of cards, newest first.
const WELL_KNOWN_PATHS: [&str; 2] = [".well-known/agent-card.json", ".well-known/agent.json"];

/// Location of an agent's card.
///
/// A string is the URL of a card if its path ends in `.json`, otherwise that of an agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CardSource {
    /// At a well-known path below the URL of an agent, or at the root of its host.
    Agent(String),
    /// At this URL.
    CardUrl(String),
    /// In this file.
    File(PathBuf),
    /// The card itself.
    Card(Arc<AgentCard>),
}

impl CardSource {
    /// Returns the URL that the caller gave, which is trusted.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Agent(url) | Self::CardUrl(url) => Some(url),
            Self::File(_) | Self::Card(_) => None,
        }
    }
}

impl From<&str> for CardSource {
    fn from(url: &str) -> Self {
        let path = url.split(['?', '#']).next().unwrap_or_default();
        match path.ends_with(".json") {
            true => Self::CardUrl(url.to_owned()),
            false => Self::Agent(url.to_owned()),
        }
    }
}

impl From<String> for CardSource {
    fn from(url: String) -> Self {
        url.as_str().into()
    }
}

impl From<&String> for CardSource {
    fn from(url: &String) -> Self {
        url.as_str().into()
    }
}

impl From<AgentCard> for CardSource {
    fn from(card: AgentCard) -> Self {
        Self::Card(Arc::new(card))
    }
}

impl From<PathBuf> for CardSource {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl From<&Path> for CardSource {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

/// Returns the URLs where the card of the agent at `url` may be, in groups: those below it, then
/// those at the root of its host.
pub(super) fn well_known_urls(url: &str) -> Result<Vec<Vec<String>>, Error> {
    let invalid_url =
        || Error::InvalidSetup("the URL of the agent is not an http or https URL".into());
    let mut base = Url::parse(url).map_err(|_| invalid_url())?;
    base.set_query(None);
    base.set_fragment(None);
    if !base.path().ends_with('/') {
        base.set_path(&format!("{}/", base.path()));
    }
    let root = base.join("/").map_err(|_| invalid_url())?;
    let candidates =
        |base: &Url| WELL_KNOWN_PATHS.map(|path| base.join(path).map(String::from)).into_iter();
    let bases = if base == root { vec![root] } else { vec![base, root] };
    bases
        .iter()
        .map(|base| candidates(base).collect::<Result<_, _>>().map_err(|_| invalid_url()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_urls_cover_agent_path_and_root() {
        let root = |path: &str| format!("https://a.example/{path}");
        assert_eq!(well_known_urls("https://a.example").unwrap(), [WELL_KNOWN_PATHS.map(root)]);
        for url in ["https://a.example/x/y", "https://a.example/x/y/?z#w"] {
            let below = WELL_KNOWN_PATHS.map(|path| root(&format!("x/y/{path}")));
            assert_eq!(well_known_urls(url).unwrap(), [below, WELL_KNOWN_PATHS.map(root)], "{url}");
        }
    }

    #[test]
    fn url_ending_in_json_is_a_card_url() {
        assert!(matches!(
            CardSource::from("https://a.example/cards/a.json?v=1"),
            CardSource::CardUrl(_)
        ));
        assert!(matches!(CardSource::from("https://a.example/json"), CardSource::Agent(_)));
    }
}
