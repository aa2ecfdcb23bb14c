//! Agent cards, except security.
//!
//! Cards follow the rules of 0.3 JSON: a name and a URL are required, and malformed optional
//! members are dropped. An empty required string counts as missing.

use latimer_pb::v0_3 as pb;

use crate::card::{
    AgentCapabilities, AgentCard, AgentInterface, AgentSkill, ProtocolBinding, TransitionHistory,
    V0_3_CARD_VERSION, major_minor,
};
use crate::dialect::field::{
    convert_valid, convert_valid_values, optional_text, required_text, text_or_empty,
};
use crate::dialect::protobuf::id_and_name;
use crate::json::InvalidField;
use crate::version::Version;

/// Converts a card; `history` is the value of `stateTransitionHistory`, which only cards before 1.0
/// contain.
///
/// Omits the same members as [`CardFormat::V0_3`](crate::card::CardFormat::V0_3). In addition,
/// `false` and empty values equal absence, PKCE cannot be required, and a scheme with the device
/// code flow has no flow.
#[must_use]
pub fn card(card: &AgentCard, history: TransitionHistory) -> pb::AgentCard {
    let mut interfaces = card.v0_3_interfaces().into_iter().map(pb::AgentInterface::from);
    let main = interfaces.next().unwrap_or_default();
    let schemes = card.security_schemes.iter().map(|(name, it)| (name.clone(), it.into()));
    pb::AgentCard {
        protocol_version: V0_3_CARD_VERSION.to_owned(),
        name: card.name.clone(),
        description: card.description.clone(),
        url: main.url,
        preferred_transport: main.transport,
        additional_interfaces: interfaces.collect(),
        provider: card.provider.as_ref().map(Into::into),
        version: card.version.clone(),
        documentation_url: text_or_empty(card.documentation_url.as_deref()),
        capabilities: Some(capabilities(&card.capabilities, history)),
        security_schemes: schemes.collect(),
        security: card.security_requirements.iter().map(Into::into).collect(),
        default_input_modes: card.default_input_modes.clone(),
        default_output_modes: card.default_output_modes.clone(),
        skills: card.skills.iter().map(Into::into).collect(),
        supports_authenticated_extended_card: is_true(card.capabilities.extended_agent_card),
        // Signatures cover the 1.0 format.
        signatures: Vec::new(),
        icon_url: text_or_empty(card.icon_url.as_deref()),
    }
}

fn capabilities(declared: &AgentCapabilities, history: TransitionHistory) -> pb::AgentCapabilities {
    pb::AgentCapabilities {
        streaming: is_true(declared.streaming),
        push_notifications: is_true(declared.push_notifications),
        extensions: declared.extensions.iter().map(Into::into).collect(),
        state_transition_history: history == TransitionHistory::Recorded,
    }
}

fn is_true(flag: Option<bool>) -> bool {
    flag == Some(true)
}

impl TryFrom<pb::AgentCard> for AgentCard {
    type Error = InvalidField;

    fn try_from(mut card: pb::AgentCard) -> Result<Self, InvalidField> {
        let name = required_text(std::mem::take(&mut card.name), "name")?;
        let supported_interfaces = interfaces(&mut card)?;
        let declared = card.capabilities.unwrap_or_default();
        let capabilities = AgentCapabilities {
            streaming: declared.streaming.then_some(true),
            push_notifications: declared.push_notifications.then_some(true),
            extensions: convert_valid(declared.extensions),
            extended_agent_card: card.supports_authenticated_extended_card.then_some(true),
        };
        let mut read = Self {
            name,
            description: card.description,
            supported_interfaces,
            provider: card.provider.map(Into::into),
            version: card.version,
            documentation_url: optional_text(card.documentation_url),
            capabilities,
            security_schemes: convert_valid_values(card.security_schemes),
            security_requirements: card.security.into_iter().map(Into::into).collect(),
            default_input_modes: card.default_input_modes,
            default_output_modes: card.default_output_modes,
            skills: convert_valid(card.skills),
            signatures: convert_valid(card.signatures),
            icon_url: optional_text(card.icon_url),
        };
        read.drop_repeated_interfaces();
        read.fill_in_modes();
        read.normalize_modes();
        Ok(read)
    }
}

/// Converts the main URL and the additional interfaces, all in the version of the card.
fn interfaces(card: &mut pb::AgentCard) -> Result<Vec<AgentInterface>, InvalidField> {
    let version = match card.protocol_version.as_str() {
        "" => Version::V0_3.as_str(),
        declared => major_minor(declared),
    };
    let main = pb::AgentInterface {
        url: std::mem::take(&mut card.url),
        transport: std::mem::take(&mut card.preferred_transport),
    };
    let others = std::mem::take(&mut card.additional_interfaces);
    let with_url = std::iter::once(main).chain(others).filter(|it| !it.url.is_empty());
    let interfaces = with_url.map(|it| AgentInterface {
        url: it.url,
        protocol_binding: ProtocolBinding::from(it.transport),
        tenant: None,
        protocol_version: version.to_owned(),
    });
    let interfaces: Vec<_> = interfaces.collect();
    if interfaces.is_empty() { Err(InvalidField::missing("url")) } else { Ok(interfaces) }
}

impl From<&AgentInterface> for pb::AgentInterface {
    fn from(interface: &AgentInterface) -> Self {
        Self { url: interface.url.clone(), transport: interface.protocol_binding.to_string() }
    }
}

impl From<&AgentSkill> for pb::AgentSkill {
    fn from(skill: &AgentSkill) -> Self {
        Self {
            id: skill.id.clone(),
            name: skill.name.clone(),
            description: skill.description.clone(),
            tags: skill.tags.clone(),
            examples: skill.examples.clone(),
            input_modes: skill.input_modes.clone(),
            output_modes: skill.output_modes.clone(),
            security: skill.security_requirements.iter().map(Into::into).collect(),
        }
    }
}

impl TryFrom<pb::AgentSkill> for AgentSkill {
    type Error = InvalidField;

    fn try_from(skill: pb::AgentSkill) -> Result<Self, InvalidField> {
        let (id, name) = id_and_name(skill.id, skill.name)?;
        Ok(Self {
            id,
            name,
            description: skill.description,
            tags: skill.tags,
            examples: skill.examples,
            input_modes: skill.input_modes,
            output_modes: skill.output_modes,
            security_requirements: skill.security.into_iter().map(Into::into).collect(),
        })
    }
}
