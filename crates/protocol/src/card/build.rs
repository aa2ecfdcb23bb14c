//! Builder for agent cards that are valid by construction.

use std::fmt;

use super::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill,
    CardFormat, CardProblem, ProtocolBinding, SecurityRequirement, SecurityScheme, Severity,
    validate,
};
use crate::version::Version;

impl AgentCard {
    /// Creates a builder. The input and output mode default to plain text.
    ///
    /// ```
    /// # use latimer_protocol::card::{AgentCard, AgentInterface, AgentSkill, ProtocolBinding};
    /// let card = AgentCard::builder("weather", "Forecasts for any place", "2.1.0")
    ///     .interface(AgentInterface::new("https://a.example/a2a", ProtocolBinding::JsonRpc))
    ///     .skill(AgentSkill {
    ///         id: "forecast".into(),
    ///         name: "Forecast".into(),
    ///         description: "Forecasts the weather of the next days".into(),
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

    /// Creates a valid card without skills, reachable at `url`, for a server that has no agents.
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

/// Builder for an [`AgentCard`], created by [`AgentCard::builder`].
#[derive(Clone, Debug)]
pub struct AgentCardBuilder {
    card: AgentCard,
}

impl AgentCardBuilder {
    /// Adds an interface. The first one added is preferred.
    #[must_use]
    pub fn interface(mut self, interface: AgentInterface) -> Self {
        self.card.supported_interfaces.push(interface);
        self
    }

    /// Adds a skill.
    #[must_use]
    pub fn skill(mut self, skill: AgentSkill) -> Self {
        self.card.skills.push(skill);
        self
    }

    /// Sets the capabilities, including the extensions.
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

    /// Sets the accepted media types, replacing plain text.
    #[must_use]
    pub fn input_modes<S: Into<String>>(mut self, modes: impl IntoIterator<Item = S>) -> Self {
        self.card.default_input_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the produced media types, replacing plain text.
    #[must_use]
    pub fn output_modes<S: Into<String>>(mut self, modes: impl IntoIterator<Item = S>) -> Self {
        self.card.default_output_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the operator of the agent.
    #[must_use]
    pub fn provider(mut self, organization: impl Into<String>, url: impl Into<String>) -> Self {
        let provider = AgentProvider { organization: organization.into(), url: url.into() };
        self.card.provider = Some(provider);
        self
    }

    /// Sets the URL of the documentation.
    #[must_use]
    pub fn documentation_url(mut self, url: impl Into<String>) -> Self {
        self.card.documentation_url = Some(url.into());
        self
    }

    /// Sets the URL of the icon.
    #[must_use]
    pub fn icon_url(mut self, url: impl Into<String>) -> Self {
        self.card.icon_url = Some(url.into());
        self
    }

    /// Adds a security scheme. Callers need it only if [`require`](Self::require) refers to it.
    #[must_use]
    pub fn security_scheme(mut self, name: impl Into<String>, scheme: SecurityScheme) -> Self {
        self.card.security_schemes.insert(name.into(), scheme);
        self
    }

    /// Adds a requirement. A caller must satisfy one of the added requirements.
    #[must_use]
    pub fn require(mut self, requirement: SecurityRequirement) -> Self {
        self.card.security_requirements.push(requirement);
        self
    }

    /// Validates and returns the card.
    ///
    /// # Errors
    /// Returns [`InvalidCard`] if [`validate`] reports errors. Warnings are ignored.
    pub fn build(self) -> Result<AgentCard, InvalidCard> {
        let mut problems = validate(&self.card.to_json(CardFormat::V1_0));
        problems.retain(|it| it.severity == Severity::Error);
        if problems.is_empty() { Ok(self.card) } else { Err(InvalidCard { problems }) }
    }
}

/// The card has validation errors and must not be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidCard {
    problems: Vec<CardProblem>,
}

impl InvalidCard {
    /// Returns the validation errors; there is at least one.
    #[must_use]
    pub fn problems(&self) -> &[CardProblem] {
        &self.problems
    }
}

impl fmt::Display for InvalidCard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the agent card is invalid")?;
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
    fn placeholder_card_is_valid_and_has_no_skills() {
        let card = AgentCard::placeholder("http://127.0.0.1:50051/a2a");
        let problems = validate(&card.to_json(CardFormat::V1_0));
        assert!(problems.iter().all(|it| it.severity == Severity::Warning), "{problems:?}");
        assert_eq!(card.to_json(CardFormat::V1_0)["skills"], serde_json::json!([]));
    }

    #[test]
    fn card_with_errors_is_not_built() {
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
        assert!(error.to_string().starts_with("the agent card is invalid: /name: "), "{error}");
    }
}
