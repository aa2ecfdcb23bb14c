//! Agent cards, except security.
//!
//! Cards follow the rules of JSON: a name and a URL are required, malformed optional members are
//! dropped, and signed cards are kept verbatim. An empty required string counts as missing.

use latimer_pb::v1 as pb;

use crate::card::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentInterface, AgentSkill, ProtocolBinding,
};
use crate::dialect::field::{
    convert_all, convert_valid, convert_valid_values, optional_text, required_text, text_or_empty,
};
use crate::dialect::protobuf::id_and_name;
use crate::dialect::wellknown::to_struct;
use crate::json::InvalidField;
use crate::version::PROTOCOL_VERSION;

impl From<&AgentCard> for pb::AgentCard {
    fn from(card: &AgentCard) -> Self {
        let schemes = card.security_schemes.iter().map(|(name, it)| (name.clone(), it.into()));
        Self {
            name: card.name.clone(),
            description: card.description.clone(),
            supported_interfaces: card.supported_interfaces.iter().map(Into::into).collect(),
            provider: card.provider.as_ref().map(Into::into),
            version: card.version.clone(),
            documentation_url: card.documentation_url.clone(),
            capabilities: Some((&card.capabilities).into()),
            security_schemes: schemes.collect(),
            security_requirements: card.security_requirements.iter().map(Into::into).collect(),
            default_input_modes: card.default_input_modes.clone(),
            default_output_modes: card.default_output_modes.clone(),
            skills: card.skills.iter().map(Into::into).collect(),
            signatures: card.signatures.iter().map(Into::into).collect(),
            icon_url: card.icon_url.clone(),
        }
    }
}

impl TryFrom<pb::AgentCard> for AgentCard {
    type Error = InvalidField;

    fn try_from(card: pb::AgentCard) -> Result<Self, InvalidField> {
        let requirements = card.security_requirements.into_iter().map(Into::into);
        let signatures: Vec<AgentCardSignature> = convert_valid(card.signatures);
        let signed = signatures.iter().any(AgentCardSignature::is_well_formed);
        let skills = card.skills;
        let mut read = Self {
            name: required_text(card.name, "name")?,
            description: card.description,
            supported_interfaces: convert_all(card.supported_interfaces, "supportedInterfaces")?,
            provider: card.provider.map(Into::into),
            version: card.version,
            documentation_url: card.documentation_url,
            capabilities: card.capabilities.unwrap_or_default().into(),
            security_schemes: convert_valid_values(card.security_schemes),
            security_requirements: requirements.collect(),
            default_input_modes: card.default_input_modes,
            default_output_modes: card.default_output_modes,
            skills: if signed {
                skills.into_iter().map(verbatim_skill).collect()
            } else {
                convert_valid(skills)
            },
            signatures,
            icon_url: card.icon_url,
        };
        if read.supported_interfaces.is_empty() {
            return Err(InvalidField::missing("supportedInterfaces"));
        }
        if !signed {
            read.fill_in_versions(PROTOCOL_VERSION);
            read.normalize_modes();
        }
        Ok(read)
    }
}

impl From<&AgentInterface> for pb::AgentInterface {
    fn from(interface: &AgentInterface) -> Self {
        Self {
            url: interface.url.clone(),
            protocol_binding: interface.protocol_binding.to_string(),
            tenant: text_or_empty(interface.tenant.as_deref()),
            protocol_version: interface.protocol_version.clone(),
        }
    }
}

impl TryFrom<pb::AgentInterface> for AgentInterface {
    type Error = InvalidField;

    fn try_from(interface: pb::AgentInterface) -> Result<Self, InvalidField> {
        Ok(Self {
            url: required_text(interface.url, "url")?,
            protocol_binding: ProtocolBinding::from(interface.protocol_binding),
            tenant: optional_text(interface.tenant),
            protocol_version: interface.protocol_version,
        })
    }
}

impl From<&AgentCapabilities> for pb::AgentCapabilities {
    fn from(capabilities: &AgentCapabilities) -> Self {
        Self {
            streaming: capabilities.streaming,
            push_notifications: capabilities.push_notifications,
            extensions: capabilities.extensions.iter().map(Into::into).collect(),
            extended_agent_card: capabilities.extended_agent_card,
        }
    }
}

impl From<pb::AgentCapabilities> for AgentCapabilities {
    fn from(capabilities: pb::AgentCapabilities) -> Self {
        Self {
            streaming: capabilities.streaming,
            push_notifications: capabilities.push_notifications,
            extensions: convert_valid(capabilities.extensions),
            extended_agent_card: capabilities.extended_agent_card,
        }
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
            security_requirements: skill.security_requirements.iter().map(Into::into).collect(),
        }
    }
}

impl TryFrom<pb::AgentSkill> for AgentSkill {
    type Error = InvalidField;

    fn try_from(skill: pb::AgentSkill) -> Result<Self, InvalidField> {
        let skill = verbatim_skill(skill);
        let (id, name) = id_and_name(skill.id, skill.name)?;
        Ok(Self { id, name, ..skill })
    }
}

/// Converts a skill of a signed card without normalization.
fn verbatim_skill(skill: pb::AgentSkill) -> AgentSkill {
    let requirements = skill.security_requirements.into_iter().map(Into::into);
    AgentSkill {
        id: skill.id,
        name: skill.name,
        description: skill.description,
        tags: skill.tags,
        examples: skill.examples,
        input_modes: skill.input_modes,
        output_modes: skill.output_modes,
        security_requirements: requirements.collect(),
    }
}

impl From<&AgentCardSignature> for pb::AgentCardSignature {
    fn from(signature: &AgentCardSignature) -> Self {
        Self {
            protected: signature.protected.clone(),
            signature: signature.signature.clone(),
            header: to_struct(&signature.header),
        }
    }
}
