//! The card of 1.0, as Rust types. Their serde form is its ProtoJSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AgentInterface, SecurityRequirement, SecurityScheme};
use crate::model::{Metadata, wire};
use crate::operation::Capability;

/// What an agent says about itself: who it is, what it can do, and how it is called.
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
///         description: "Tells the weather of the next days".into(),
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
    /// Its name, for people.
    pub name: String,
    /// What it is for.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub description: String,
    /// How it is called, the preferred way first.
    #[serde(default, alias = "supported_interfaces", deserialize_with = "wire::nullable")]
    pub supported_interfaces: Vec<AgentInterface>,
    /// Who runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    /// The agent's own version. That of the protocol stands in each interface.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub version: String,
    /// Where more can be read about it.
    #[serde(default, alias = "documentation_url", skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    /// Which optional parts of the protocol it speaks.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub capabilities: AgentCapabilities,
    /// Ways to authenticate, by a name that requirements refer to.
    #[serde(
        default,
        alias = "security_schemes",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// What a caller needs: any one of these.
    #[serde(
        default,
        alias = "security_requirements",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub security_requirements: Vec<SecurityRequirement>,
    /// Media types it reads, unless a skill says otherwise.
    #[serde(default, alias = "default_input_modes", deserialize_with = "wire::nullable")]
    pub default_input_modes: Vec<String>,
    /// Media types it writes, unless a skill says otherwise.
    #[serde(default, alias = "default_output_modes", deserialize_with = "wire::nullable")]
    pub default_output_modes: Vec<String>,
    /// What it can do.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub skills: Vec<AgentSkill>,
    /// Signatures over the card; any valid one proves it.
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<AgentCardSignature>,
    /// A picture of it.
    #[serde(default, alias = "icon_url", skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
}

/// The media type of plain text, which every agent reads and writes unless it says otherwise.
pub(super) const PLAIN_TEXT: &str = "text/plain";

impl Default for AgentCard {
    /// An empty card that reads and writes plain text.
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

/// Who runs an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProvider {
    /// Their website.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub url: String,
    /// Their name.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub organization: String,
}

/// Which optional parts of the protocol an agent speaks.
///
/// Not said is not the same as `false` on the wire, though it means the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// Answers as a stream of events.
    #[serde(default, deserialize_with = "wire::flag", skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    /// Posts events to webhooks.
    #[serde(
        default,
        alias = "push_notifications",
        deserialize_with = "wire::flag",
        skip_serializing_if = "Option::is_none"
    )]
    pub push_notifications: Option<bool>,
    /// Extensions of the protocol.
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<AgentExtension>,
    /// Shows authenticated callers another card.
    #[serde(
        default,
        alias = "extended_agent_card",
        deserialize_with = "wire::flag",
        skip_serializing_if = "Option::is_none"
    )]
    pub extended_agent_card: Option<bool>,
}

impl AgentCapabilities {
    /// Whether the agent declares `capability`.
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

/// An extension of the protocol that an agent speaks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentExtension {
    /// What identifies it.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub uri: String,
    /// How the agent uses it.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// Whether a caller must speak it too.
    #[serde(
        default,
        deserialize_with = "wire::bool_or_false",
        skip_serializing_if = "wire::is_false"
    )]
    pub required: bool,
    /// Settings, of which the extension says what they mean.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub params: Metadata,
}

/// Something an agent can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSkill {
    /// Its identifier within the card.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// What it does.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub description: String,
    /// Words to find it by.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub tags: Vec<String>,
    /// What a caller might say.
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Media types it reads; those of the card when empty.
    #[serde(
        default,
        alias = "input_modes",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub input_modes: Vec<String>,
    /// Media types it writes; those of the card when empty.
    #[serde(
        default,
        alias = "output_modes",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub output_modes: Vec<String>,
    /// What a caller needs for this skill, in place of what the card says.
    #[serde(
        default,
        alias = "security_requirements",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub security_requirements: Vec<SecurityRequirement>,
}

/// A signature over a card: a JWS whose payload is the card itself and is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentCardSignature {
    /// The signed header, as base64url of its JSON.
    pub protected: String,
    /// The signature, as base64url.
    pub signature: String,
    /// A header that is not signed, and therefore proves nothing.
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
