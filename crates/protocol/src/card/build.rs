//! Makes cards that are valid by construction.

use std::fmt;

use super::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill,
    CardFormat, CardProblem, ProtocolBinding, SecurityRequirement, SecurityScheme, Severity,
    validate,
};
use crate::version::Version;

impl AgentCard {
    /// Begins a card. It reads and writes plain text unless told otherwise.
    ///
    /// ```
    /// # use latimer_protocol::card::{AgentCard, AgentInterface, AgentSkill, ProtocolBinding};
    /// let card = AgentCard::builder("weather", "Forecasts for any place", "2.1.0")
    ///     .interface(AgentInterface::new("https://a.example/a2a", ProtocolBinding::JsonRpc))
    ///     .skill(AgentSkill {
    ///         id: "forecast".into(),
    ///         name: "Forecast".into(),
    ///         description: "Tells the weather of the next days".into(),
    ///         tags: vec!["weather".into()],
    ///         ..Default::default()
    ///     })
    ///     .build()?;
    /// assert_eq!(card.default_input_modes, ["text/plain"]);
    ///
    /// let error = AgentCard::builder("weather", "", "2.1.0").build().unwrap_err();
    /// assert_eq!(error.problems()[0].id, "card.interfaces.empty");
    /// # Ok::<(), latimer_protocol::card::InvalidCard>(())
    /// ```
    pub fn builder(
        name: impl Into<String>,
        description: impl Into<String>,
        version: impl Into<String>,
    ) -> AgentCardBuilder {
        let card = Self {
            name: name.into(),
            description: description.into(),
            version: version.into(),
            ..Self::default()
        };
        AgentCardBuilder { card }
    }

    /// The card of a server without agents, which still has to answer whoever asks for one: valid,
    /// reachable at `url`, and without skills.
    pub fn placeholder(url: impl Into<String>) -> Self {
        let interface = AgentInterface::new(url, ProtocolBinding::JsonRpc);
        Self {
            name: "no agent".into(),
            description: "No agent is registered here yet".into(),
            version: "0.0.0".into(),
            supported_interfaces: vec![interface.clone(), interface.with_version(Version::V0_3)],
            ..Self::default()
        }
    }
}

/// A card in the making. See [`AgentCard::builder`].
#[derive(Clone, Debug)]
pub struct AgentCardBuilder {
    card: AgentCard,
}

impl AgentCardBuilder {
    /// Adds a way to call the agent. The first one is preferred.
    #[must_use]
    pub fn interface(mut self, interface: AgentInterface) -> Self {
        self.card.supported_interfaces.push(interface);
        self
    }

    /// Adds something the agent can do.
    #[must_use]
    pub fn skill(mut self, skill: AgentSkill) -> Self {
        self.card.skills.push(skill);
        self
    }

    /// Says which optional parts of the protocol the agent speaks.
    #[must_use]
    pub fn capabilities(mut self, capabilities: AgentCapabilities) -> Self {
        self.card.capabilities = capabilities;
        self
    }

    /// Adds an extension to the capabilities.
    #[must_use]
    pub fn extension(mut self, extension: AgentExtension) -> Self {
        self.card.capabilities.extensions.push(extension);
        self
    }

    /// Says which media types the agent reads, in place of plain text.
    #[must_use]
    pub fn input_modes<S: Into<String>>(mut self, modes: impl IntoIterator<Item = S>) -> Self {
        self.card.default_input_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Says which media types the agent writes, in place of plain text.
    #[must_use]
    pub fn output_modes<S: Into<String>>(mut self, modes: impl IntoIterator<Item = S>) -> Self {
        self.card.default_output_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Says who runs the agent.
    #[must_use]
    pub fn provider(mut self, organization: impl Into<String>, url: impl Into<String>) -> Self {
        let provider = AgentProvider { organization: organization.into(), url: url.into() };
        self.card.provider = Some(provider);
        self
    }

    /// Says where more can be read about the agent.
    #[must_use]
    pub fn documentation_url(mut self, url: impl Into<String>) -> Self {
        self.card.documentation_url = Some(url.into());
        self
    }

    /// Gives the agent a picture.
    #[must_use]
    pub fn icon_url(mut self, url: impl Into<String>) -> Self {
        self.card.icon_url = Some(url.into());
        self
    }

    /// Adds a way to authenticate. Nobody has to use it until it is required.
    #[must_use]
    pub fn security_scheme(mut self, name: impl Into<String>, scheme: SecurityScheme) -> Self {
        self.card.security_schemes.insert(name.into(), scheme);
        self
    }

    /// Adds a combination of schemes that is enough to get in.
    #[must_use]
    pub fn require(mut self, requirement: SecurityRequirement) -> Self {
        self.card.security_requirements.push(requirement);
        self
    }

    /// The card.
    ///
    /// # Errors
    /// When [`validate`] finds errors in it. Warnings do not count.
    pub fn build(self) -> Result<AgentCard, InvalidCard> {
        let mut problems = validate(&self.card.to_json(CardFormat::V1_0));
        problems.retain(|it| it.severity == Severity::Error);
        if problems.is_empty() { Ok(self.card) } else { Err(InvalidCard { problems }) }
    }
}

/// A card that must not be published, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidCard {
    problems: Vec<CardProblem>,
}

impl InvalidCard {
    /// What is wrong with it; at least one thing is.
    #[must_use]
    pub fn problems(&self) -> &[CardProblem] {
        &self.problems
    }
}

impl fmt::Display for InvalidCard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the agent card is not valid")?;
        for (index, problem) in self.problems.iter().enumerate() {
            write!(out, "{} {problem}", if index == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidCard {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_placeholder_is_valid_and_has_no_skills() {
        let card = AgentCard::placeholder("http://127.0.0.1:50051/a2a");
        let problems = validate(&card.to_json(CardFormat::V1_0));
        assert!(problems.iter().all(|it| it.severity == Severity::Warning), "{problems:?}");
        assert_eq!(card.to_json(CardFormat::V1_0)["skills"], serde_json::json!([]));
    }

    #[test]
    fn a_card_with_errors_is_not_built() {
        let error = AgentCard::builder("", "d", "1")
            .interface(AgentInterface::new("/a2a", ProtocolBinding::JsonRpc))
            .require(SecurityRequirement::scheme("missing"))
            .build()
            .unwrap_err();
        let ids: Vec<_> = error.problems().iter().map(|it| it.id).collect();
        assert_eq!(
            ids,
            ["card.name.missing", "card.interface.url.invalid", "card.requirement.undefined"]
        );
        assert!(error.to_string().starts_with("the agent card is not valid: /name: "), "{error}");
    }
}
