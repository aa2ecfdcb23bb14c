//! The agent card of 1.0 as Rust types. Their serde representation is its ProtoJSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AgentInterface, SecurityRequirement, SecurityScheme};
use crate::model::{Metadata, wire};
use crate::operation::Capability;

/// Self-description of an agent: its identity, skills and interfaces.
///
/// ```
/// # use latimer_protocol::card::{AgentCard, AgentInterface, AgentSkill, CardFormat, ProtocolBinding};
/// let card = AgentCard {
///     name: "weather".into(),
///     description: "Forecasts for any place".into(),
///     version: "2.1.0".into(),
///     supported_interfaces: vec![AgentInterface::new(
///         "https://weather.example.com/a2a",
///         ProtocolBinding::JsonRpc,
///     )],
///     skills: vec![AgentSkill {
///         id: "forecast".into(),
///         name: "Forecast".into(),
///         description: "Forecasts the weather of the next days".into(),
///         tags: vec!["weather".into()],
///         ..Default::default()
///     }],
///     ..Default::default()
/// };
/// let json = card.to_json(CardFormat::V1_0);
/// assert_eq!(json["supportedInterfaces"][0]["protocolBinding"], "JSONRPC");
/// assert_eq!(AgentCard::from_json(&json)?, card);
/// # Ok::<(), latimer_protocol::InvalidField>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard {
    /// Human-readable name.
    pub name: String,
    /// Human-readable description.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub description: String,
    /// Interfaces of the agent, most preferred first.
    #[serde(default, alias = "supported_interfaces", deserialize_with = "wire::nullable")]
    pub supported_interfaces: Vec<AgentInterface>,
    /// Operator of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    /// Version of the agent itself. Each interface declares its protocol version.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub version: String,
    /// URL of the documentation.
    #[serde(default, alias = "documentation_url", skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    /// Optional protocol features that the agent supports.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub capabilities: AgentCapabilities,
    /// Security schemes by name. Requirements refer to these names.
    #[serde(
        default,
        alias = "security_schemes",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// Requirements of which a caller must satisfy one. Empty requires no authentication.
    #[serde(
        default,
        alias = "security_requirements",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub security_requirements: Vec<SecurityRequirement>,
    /// Media types that the agent accepts, unless a skill overrides them.
    #[serde(default, alias = "default_input_modes", deserialize_with = "wire::nullable")]
    pub default_input_modes: Vec<String>,
    /// Media types that the agent produces, unless a skill overrides them.
    #[serde(default, alias = "default_output_modes", deserialize_with = "wire::nullable")]
    pub default_output_modes: Vec<String>,
    /// Skills of the agent.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub skills: Vec<AgentSkill>,
    /// Signatures over the card. One valid signature is sufficient.
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<AgentCardSignature>,
    /// URL of an icon.
    #[serde(default, alias = "icon_url", skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
}

/// Media type of plain text, the default input and output mode.
pub(super) const PLAIN_TEXT: &str = "text/plain";

impl Default for AgentCard {
    /// Creates an empty card whose input and output mode is plain text.
    fn default() -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            supported_interfaces: Vec::new(),
            provider: None,
            version: String::new(),
            documentation_url: None,
            capabilities: AgentCapabilities::default(),
            security_schemes: BTreeMap::new(),
            security_requirements: Vec::new(),
            default_input_modes: vec![PLAIN_TEXT.to_owned()],
            default_output_modes: vec![PLAIN_TEXT.to_owned()],
            skills: Vec::new(),
            signatures: Vec::new(),
            icon_url: None,
        }
    }
}

/// Operator of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProvider {
    /// Website of the organization.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub url: String,
    /// Name of the organization.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub organization: String,
}

/// Optional protocol features that an agent supports.
///
/// `None` and `Some(false)` both mean that the feature is not supported. They are distinct because
/// a card that is written again must not change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// Whether the agent streams events.
    #[serde(default, deserialize_with = "wire::flag", skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    /// Whether the agent posts events to webhooks.
    #[serde(
        default,
        alias = "push_notifications",
        deserialize_with = "wire::flag",
        skip_serializing_if = "Option::is_none"
    )]
    pub push_notifications: Option<bool>,
    /// Protocol extensions that the agent supports.
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<AgentExtension>,
    /// Whether authenticated callers can fetch an extended card.
    #[serde(
        default,
        alias = "extended_agent_card",
        deserialize_with = "wire::flag",
        skip_serializing_if = "Option::is_none"
    )]
    pub extended_agent_card: Option<bool>,
}

impl AgentCapabilities {
    /// Returns whether the agent declares support for `capability`.
    #[must_use]
    pub fn declares(&self, capability: Capability) -> bool {
        let declared = match capability {
            Capability::Streaming => self.streaming,
            Capability::PushNotifications => self.push_notifications,
            Capability::ExtendedAgentCard => self.extended_agent_card,
        };
        declared == Some(true)
    }
}

/// Protocol extension that an agent supports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentExtension {
    /// URI that identifies the extension.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub uri: String,
    /// Description of how the agent uses the extension.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// Whether callers must support the extension.
    #[serde(
        default,
        deserialize_with = "wire::bool_or_false",
        skip_serializing_if = "wire::is_false"
    )]
    pub required: bool,
    /// Parameters, defined by the extension.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub params: Metadata,
}

/// Something that an agent can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSkill {
    /// Identifier, unique within the card.
    pub id: String,
    /// Human-readable name.
    pub name: String,
    /// Human-readable description.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub description: String,
    /// Keywords for search.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub tags: Vec<String>,
    /// Example prompts.
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Media types that the skill accepts; empty means those of the card.
    #[serde(
        default,
        alias = "input_modes",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub input_modes: Vec<String>,
    /// Media types that the skill produces; empty means those of the card.
    #[serde(
        default,
        alias = "output_modes",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub output_modes: Vec<String>,
    /// Requirements of this skill; they replace those of the card.
    #[serde(
        default,
        alias = "security_requirements",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub security_requirements: Vec<SecurityRequirement>,
}

/// Signature over a card: a JWS with detached payload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentCardSignature {
    /// Protected header, base64url-encoded JSON.
    pub protected: String,
    /// Signature, base64url-encoded.
    pub signature: String,
    /// Unprotected header. It is not covered by the signature.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub header: Metadata,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn cards_of_the_python_sdk_survive_a_round_trip() {
        for text in [
            include_str!("../../fixtures/1.0/python-1.3.0/card/get_agent_card-full.json"),
            include_str!("../../fixtures/1.0/python-1.3.0/card/get_agent_card-bare.json"),
        ] {
            let fixture: Value = serde_json::from_str(text).unwrap();
            let body = &fixture["response"]["body"];
            let card: AgentCard = crate::json::from_value(body).unwrap();
            assert_eq!(json!(card), *body, "{}", fixture["case"]);
        }
    }

    #[test]
    fn required_members_are_always_written_and_others_only_when_set() {
        let card: AgentCard = serde_json::from_value(json!({"name": "n"})).unwrap();
        assert_eq!(
            json!(card),
            json!({
                "name": "n", "description": "", "supportedInterfaces": [], "version": "",
                "capabilities": {}, "defaultInputModes": [], "defaultOutputModes": [], "skills": [],
            })
        );
        for (wire, written) in [
            (json!({"streaming": false}), json!({"streaming": false})),
            (json!({"streaming": null, "extensions": []}), json!({})),
            (json!({"push_notifications": true}), json!({"pushNotifications": true})),
            (json!({"unknown": 1, "extendedAgentCard": true}), json!({"extendedAgentCard": true})),
            (
                json!({"extensions": [{"uri": "u", "description": "", "required": false, "params": {}}]}),
                json!({"extensions": [{"uri": "u"}]}),
            ),
        ] {
            let read: AgentCapabilities = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(json!(read), written, "{wire}");
        }
    }

    #[test]
    fn declares_is_true_only_for_declared_capabilities() {
        let capabilities = AgentCapabilities {
            streaming: Some(true),
            push_notifications: Some(false),
            ..Default::default()
        };
        for (capability, want) in [
            (Capability::Streaming, true),
            (Capability::PushNotifications, false),
            (Capability::ExtendedAgentCard, false),
        ] {
            assert_eq!(capabilities.declares(capability), want, "{capability:?}");
        }
    }
}
