//! Writer for cards of every version.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::model::PLAIN_TEXT;
use super::security::SCHEME_KINDS;
use super::{
    AgentCard, AgentInterface, AgentSkill, ProtocolBinding, SecurityRequirement, SecurityScheme,
};
use crate::version::Version;

/// Value of `protocolVersion` in cards of 0.3.
pub(crate) const V0_3_CARD_VERSION: &str = "0.3.0";

/// JSON format of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardFormat {
    /// 1.0 only. Lossless.
    V1_0,
    /// 1.0 merged with the members of 0.3, so that clients of both versions can read it. Lossless.
    /// Equal to [`CardFormat::V1_0`] if the card has no interface of 0.3.
    Superset(TransitionHistory),
    /// 0.3, also readable by 0.2 clients.
    ///
    /// Omits tenants and signatures; signatures cover the 1.0 format. Writes only the interfaces of
    /// 0.3, or all interfaces if there is none of 0.3.
    V0_3(TransitionHistory),
    /// 0.1, with `text` as input and output mode instead of `text/plain`.
    ///
    /// Omits all interfaces except one, extensions, the extended card, the icon, signatures, the
    /// media types and requirements of skills, and all security details except scheme names.
    V0_1(TransitionHistory),
}

/// Whether the agent records the state transitions of its tasks. Only cards before 1.0 declare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransitionHistory {
    /// State transitions are recorded.
    Recorded,
    /// State transitions are not recorded.
    NotRecorded,
}

impl AgentCard {
    /// Converts the card to JSON in the given format. See [`CardFormat`] for the members that each
    /// format omits.
    ///
    /// ```
    /// # use latimer_protocol::card::{AgentCard, AgentInterface, CardFormat, TransitionHistory};
    /// let interface = AgentInterface { url: "https://a.example".into(), ..Default::default() };
    /// let card = AgentCard { supported_interfaces: vec![interface], ..Default::default() };
    /// let oldest = card.to_json(CardFormat::V0_1(TransitionHistory::Recorded));
    /// assert_eq!(oldest["url"], "https://a.example");
    /// assert_eq!(oldest["defaultInputModes"][0], "text");
    /// ```
    #[must_use]
    pub fn to_json(&self, format: CardFormat) -> Value {
        match format {
            CardFormat::V1_0 => json!(self),
            CardFormat::Superset(history) => superset(self, history),
            CardFormat::V0_3(history) => Value::Object(v0_3(self, history)),
            CardFormat::V0_1(history) => v0_1(self, history),
        }
    }

    /// Returns the interfaces of the first version in `versions` that has any, or all interfaces.
    /// JSON-RPC comes first, because it is the only binding that the oldest clients support.
    /// Interfaces with a tenant, which 1.0 introduced, are used only if there are no others.
    fn pre_v1_interfaces(&self, versions: &[Version]) -> Vec<&AgentInterface> {
        let without_tenant = || self.supported_interfaces.iter().filter(|it| it.tenant.is_none());
        let mut interfaces: Vec<_> = versions
            .iter()
            .map(|version| {
                without_tenant().filter(|it| it.version() == Some(*version)).collect::<Vec<_>>()
            })
            .find(|it| !it.is_empty())
            .unwrap_or_else(|| without_tenant().collect());
        if interfaces.is_empty() {
            interfaces = self.supported_interfaces.iter().collect();
        }
        interfaces.sort_by_key(|it| it.protocol_binding != ProtocolBinding::JsonRpc);
        interfaces
    }

    /// Returns the distinct interfaces for a 0.3 card, the main one first.
    pub(crate) fn v0_3_interfaces(&self) -> Vec<&AgentInterface> {
        let mut seen = HashSet::new();
        let mut interfaces = self.pre_v1_interfaces(&[Version::V0_3]);
        interfaces.retain(|it| seen.insert((&it.url, &it.protocol_binding)));
        interfaces
    }
}

/// Converts several cards to one object with the members `agents` and `total`.
pub fn list_to_json<'a>(
    cards: impl IntoIterator<Item = &'a AgentCard>,
    format: CardFormat,
) -> Value {
    let agents: Vec<_> = cards.into_iter().map(|card| card.to_json(format)).collect();
    let total = agents.len();
    json!({ "agents": agents, "total": total })
}

fn superset(card: &AgentCard, history: TransitionHistory) -> Value {
    let mut value = json!(card);
    let has_v0_3_interface =
        card.supported_interfaces.iter().any(|it| it.version() == Some(Version::V0_3));
    if has_v0_3_interface {
        merge(&mut value, Value::Object(v0_3(card, history)));
    }
    value
}

/// Adds the members of `more` that `value` lacks, recursively.
fn merge(value: &mut Value, more: Value) {
    match (value, more) {
        (Value::Object(members), Value::Object(more)) => {
            for (name, more) in more {
                match members.get_mut(&name) {
                    Some(value) => merge(value, more),
                    None => drop(members.insert(name, more)),
                }
            }
        }
        (Value::Array(items), Value::Array(more)) => {
            items.iter_mut().zip(more).for_each(|(value, more)| merge(value, more));
        }
        _ => {}
    }
}

fn v0_3(card: &AgentCard, history: TransitionHistory) -> Map<String, Value> {
    let interfaces = card.v0_3_interfaces();
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.into(), value));
    put("protocolVersion", V0_3_CARD_VERSION.into());
    put("name", json!(card.name));
    put("description", json!(card.description));
    if let Some((main, others)) = interfaces.split_first() {
        put("url", json!(main.url));
        put("preferredTransport", json!(main.protocol_binding));
        let wire = |it: &AgentInterface| json!({"url": it.url, "transport": it.protocol_binding});
        if !others.is_empty() {
            put("additionalInterfaces", others.iter().map(|it| wire(it)).collect());
        }
    }
    put_optional(&mut put, card);
    put("version", json!(card.version));
    let mut capabilities = json!(card.capabilities);
    if let Value::Object(capabilities) = &mut capabilities {
        capabilities.remove("extendedAgentCard");
        capabilities.insert("stateTransitionHistory".into(), history_flag(history));
        let extensions = capabilities.get_mut("extensions").and_then(Value::as_array_mut);
        for extension in extensions.into_iter().flatten() {
            insert_if_required(extension, "uri", || "".into());
        }
    }
    put("capabilities", capabilities);
    if !card.security_schemes.is_empty() {
        let schemes = card.security_schemes.iter();
        put("securitySchemes", schemes.map(|(name, it)| (name.clone(), v0_3_scheme(it))).collect());
    }
    if !card.security_requirements.is_empty() {
        put("security", v0_3_requirements(&card.security_requirements));
    }
    put("defaultInputModes", json!(card.default_input_modes));
    put("defaultOutputModes", json!(card.default_output_modes));
    put("skills", card.skills.iter().map(v0_3_skill).collect());
    if card.capabilities.extended_agent_card == Some(true) {
        put("supportsAuthenticatedExtendedCard", true.into());
    }
    if let Some(icon) = &card.icon_url {
        put("iconUrl", json!(icon));
    }
    members
}

fn put_optional(put: &mut impl FnMut(&str, Value), card: &AgentCard) {
    if let Some(provider) = &card.provider {
        put("provider", json!(provider));
    }
    if let Some(url) = &card.documentation_url {
        put("documentationUrl", json!(url));
    }
}

fn v0_3_skill(skill: &AgentSkill) -> Value {
    let mut value = json!(skill);
    if let Value::Object(members) = &mut value
        && members.remove("securityRequirements").is_some()
    {
        members.insert("security".into(), v0_3_requirements(&skill.security_requirements));
    }
    value
}

fn v0_3_requirements(requirements: &[SecurityRequirement]) -> Value {
    requirements.iter().map(|it| json!(it.schemes)).collect()
}

/// Converts a scheme to the flat OpenAPI form of 0.3 with `type`. Members introduced in 1.0 are
/// kept: 0.3 readers ignore them, and some newer clients accept only this form.
fn v0_3_scheme(scheme: &SecurityScheme) -> Value {
    let value = json!(scheme);
    let matched = SCHEME_KINDS.iter().find_map(|kind| Some((kind, value.get(kind.member)?)));
    let Some((kind, Value::Object(members))) = matched else { return value };
    let mut flattened = Map::from_iter([("type".to_owned(), json!(kind.name))]);
    for (name, value) in members {
        let name = if name == "location" { "in" } else { name };
        flattened.insert(name.to_owned(), value.clone());
    }
    let flows = flattened.get_mut("flows").and_then(Value::as_object_mut);
    for (name, flow) in flows.into_iter().flatten() {
        insert_if_required(flow, "scopes", || json!({}));
        match name.as_str() {
            "implicit" => insert_if_required(flow, "authorizationUrl", || "".into()),
            "password" => insert_if_required(flow, "tokenUrl", || "".into()),
            _ => {}
        }
    }
    Value::Object(flattened)
}

/// Adds a member that 0.3 requires and 1.0 omits when empty.
fn insert_if_required(value: &mut Value, name: &str, empty: impl FnOnce() -> Value) {
    if let Value::Object(members) = value {
        members.entry(name).or_insert_with(empty);
    }
}

fn v0_1(card: &AgentCard, history: TransitionHistory) -> Value {
    let interfaces = card.pre_v1_interfaces(&[Version::V0_1, Version::V0_3]);
    let url = interfaces.first().map(|it| it.url.as_str()).unwrap_or_default();
    let flags = &card.capabilities;
    let mut value = json!({
        "name": card.name,
        "description": card.description,
        "url": url,
        "version": card.version,
        "capabilities": {
            "streaming": flags.streaming.unwrap_or_default(),
            "pushNotifications": flags.push_notifications.unwrap_or_default(),
            "stateTransitionHistory": history_flag(history),
        },
        "skills": card.skills.iter().map(v0_1_skill).collect::<Vec<_>>(),
        "defaultInputModes": short_modes(&card.default_input_modes),
        "defaultOutputModes": short_modes(&card.default_output_modes),
    });
    if let Value::Object(members) = &mut value {
        let mut put = |name: &str, value: Value| drop(members.insert(name.into(), value));
        put_optional(&mut put, card);
        let schemes = authentication_schemes(card);
        if !schemes.is_empty() {
            put("authentication", json!({ "schemes": schemes }));
        }
    }
    value
}

fn v0_1_skill(skill: &AgentSkill) -> Value {
    json!({
        "id": skill.id,
        "name": skill.name,
        "description": skill.description,
        "tags": skill.tags,
        "examples": skill.examples,
    })
}

/// Returns the names of the required schemes, all that 0.1 can express about authentication.
fn authentication_schemes(card: &AgentCard) -> Vec<String> {
    let required = card.security_requirements.iter().flat_map(|it| it.schemes.keys());
    let mut names: Vec<_> = required
        .filter_map(|name| match card.security_schemes.get(name)? {
            SecurityScheme::ApiKey(_) => Some("apiKey".to_owned()),
            SecurityScheme::HttpAuth(it) => Some(it.scheme.clone()),
            SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_) => Some("Bearer".into()),
            SecurityScheme::MutualTls(_) => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn short_modes(modes: &[String]) -> Vec<&str> {
    modes.iter().map(|mode| if mode == PLAIN_TEXT { "text" } else { mode }).collect()
}

fn history_flag(history: TransitionHistory) -> Value {
    (history == TransitionHistory::Recorded).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: TransitionHistory = TransitionHistory::Recorded;

    fn fixture(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn v0_1_card_is_written_with_exact_member_order() {
        let text = include_str!("../../fixtures/cards/s0.json");
        let card = AgentCard::from_json(&fixture(text)).unwrap();
        let written = card.to_json(CardFormat::V0_1(RECORDED));
        // Compared as strings to check the member order as well.
        assert_eq!(written.to_string(), fixture(text).to_string());
        let list = list_to_json([&card], CardFormat::V0_1(RECORDED));
        assert_eq!(list.to_string(), format!(r#"{{"agents":[{written}],"total":1}}"#));
        assert_eq!(list_to_json([], CardFormat::V1_0), json!({"agents": [], "total": 0}));
    }

    #[test]
    fn superset_contains_members_of_both_versions() {
        let text = include_str!("../../fixtures/cards/superset.json");
        let card = AgentCard::from_json(&fixture(text)).unwrap();
        assert_eq!(card.to_json(CardFormat::Superset(RECORDED)), fixture(text));
        let mut without_v0_3 = card.clone();
        without_v0_3.supported_interfaces.truncate(3);
        assert_eq!(
            without_v0_3.to_json(CardFormat::Superset(RECORDED)),
            without_v0_3.to_json(CardFormat::V1_0)
        );
    }

    #[test]
    fn v0_3_card_carries_all_representable_members() {
        let card = AgentCard::from_json(&json!({
            "name": "n", "description": "d", "version": "1", "supportedInterfaces": [
                {"url": "https://h/one", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
                {"url": "h:443", "protocolBinding": "GRPC", "protocolVersion": "0.3"},
                {"url": "https://h/old", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
                {"url": "https://h/t", "protocolBinding": "JSONRPC", "protocolVersion": "0.3", "tenant": "t"},
            ],
            "capabilities": {"streaming": true, "extendedAgentCard": false},
            "securitySchemes": {
                "o": {"oauth2SecurityScheme": {"flows": {"implicit": {"authorizationUrl": "https://a"}}}},
                "m": {"mtlsSecurityScheme": {}},
            },
            "securityRequirements": [{"schemes": {"o": {"list": ["x"]}, "m": {}}}],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["t"],
                        "securityRequirements": [{"schemes": {"m": {}}}]}],
            "signatures": [{"protected": "a", "signature": "b"}],
        }))
        .unwrap();
        let want = json!({
            "protocolVersion": "0.3.0", "name": "n", "description": "d", "version": "1",
            "url": "https://h/old", "preferredTransport": "JSONRPC",
            "additionalInterfaces": [{"url": "h:443", "transport": "GRPC"}],
            "capabilities": {"streaming": true, "stateTransitionHistory": false},
            "securitySchemes": {
                "o": {"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "https://a", "scopes": {}}}},
                "m": {"type": "mutualTLS"},
            },
            "security": [{"o": ["x"], "m": []}],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["t"], "security": [{"m": []}]}],
        });
        let written = card.to_json(CardFormat::V0_3(TransitionHistory::NotRecorded));
        assert_eq!(written, want);
        let reread = AgentCard::from_json(&written).unwrap();
        assert_eq!(reread.security_schemes, card.security_schemes);
        assert_eq!(reread.security_requirements, card.security_requirements);
        assert_eq!(reread.skills, card.skills);
        let v0_1 = card.to_json(CardFormat::V0_1(RECORDED));
        assert_eq!(v0_1["url"], "https://h/old");
        assert_eq!(v0_1["authentication"], json!({"schemes": ["Bearer"]}));
    }

    #[test]
    fn v0_3_card_includes_required_members_when_empty() {
        let card = AgentCard::from_json(&json!({
            "name": "n", "description": "d", "version": "1",
            "supportedInterfaces": [
                {"url": "https://h", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
            ],
            "capabilities": {"extensions": [{"required": true}]},
            "securitySchemes": {
                "i": {"oauth2SecurityScheme": {"flows": {"implicit": {}}}},
                "p": {"oauth2SecurityScheme": {"flows": {"password": {}}}},
            },
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
        }))
        .unwrap();
        let written = card.to_json(CardFormat::V0_3(RECORDED));
        for (pointer, want) in [
            ("/capabilities/extensions/0", json!({"uri": "", "required": true})),
            ("/securitySchemes/i/flows/implicit", json!({"authorizationUrl": "", "scopes": {}})),
            ("/securitySchemes/p/flows/password", json!({"tokenUrl": "", "scopes": {}})),
        ] {
            assert_eq!(written.pointer(pointer), Some(&want), "{pointer}");
        }
    }
}
