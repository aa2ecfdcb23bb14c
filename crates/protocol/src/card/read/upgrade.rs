//! Conversion of a card of any version to the JSON members of 1.0.
//!
//! If a card contains both the 1.0 and the 0.3 form of a member, the 1.0 form is used. Malformed
//! optional members are dropped, because an agent with, for example, an invalid icon can still be
//! called.

use std::collections::HashSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::security::{upgrade_requirements, upgrade_security};
use crate::card::{AgentCardSignature, AgentExtension, AgentProvider};
use crate::json::{self, InvalidField};
use crate::version::Version;

/// Card converted to the members of 1.0.
pub(crate) struct UpgradedCard {
    /// JSON object with the members of 1.0.
    pub(crate) card: Value,
    /// Version of the card, such as `0.3`, if it lacks interfaces of 1.0.
    pub(crate) pre_v1_version: Option<String>,
    /// Whether members may be normalized.
    pub(crate) read_mode: ReadMode,
}

/// Whether members of a card may be normalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadMode {
    /// Values are normalized, and missing members are derived from others.
    Normalized,
    /// Members are not changed. A signature covers the members of a 1.0 card, so normalizing a signed
    /// card would invalidate it. Cards before 1.0 change in the conversion in any case.
    Verbatim,
}

/// Converts the members of a card to 1.0. Adds no information except the version of older
/// interfaces.
///
/// # Errors
/// Returns [`InvalidField`] if the card is not an object or its URL is not a string.
pub(crate) fn upgrade(value: &Value) -> Result<UpgradedCard, InvalidField> {
    let Value::Object(members) = value else {
        return Err(InvalidField::new("", "expected an object"));
    };
    let mut card = camel_case(members);
    let pre_v1_version = (!has_interfaces(&card)).then(|| detect_pre_v1_version(&card));
    if let Some(version) = &pre_v1_version {
        upgrade_interfaces(&mut card, version)?;
    }
    retain_valid_items::<AgentCardSignature>(&mut card, "signatures");
    let signed = pre_v1_version.is_none() && has_signature(&card);
    let read_mode = if signed { ReadMode::Verbatim } else { ReadMode::Normalized };
    upgrade_capabilities(&mut card);
    upgrade_security(&mut card);
    upgrade_skills(&mut card, read_mode);
    retain_if_valid::<AgentProvider>(&mut card, "provider");
    retain_if_valid::<String>(&mut card, "documentationUrl");
    retain_if_valid::<String>(&mut card, "iconUrl");
    Ok(UpgradedCard { card: Value::Object(card), pre_v1_version, read_mode })
}

/// Returns whether the card has interfaces of 1.0.
fn has_interfaces(card: &Map<String, Value>) -> bool {
    card.get("supportedInterfaces").is_some_and(|it| it.as_array().is_none_or(|it| !it.is_empty()))
}

/// Returns whether the card has a well-formed signature.
fn has_signature(card: &Map<String, Value>) -> bool {
    let items = card.get("signatures").and_then(Value::as_array).into_iter().flatten();
    let mut signatures = items.filter_map(|it| json::from_value::<AgentCardSignature>(it).ok());
    signatures.any(|it| it.is_well_formed())
}

/// Returns the version of a card without interfaces of 1.0, such as `0.3`.
///
/// Versions before 0.2.5 do not declare it. 0.1 and 0.2 then differ only in members that were added
/// or removed and in how they write modes.
fn detect_pre_v1_version(card: &Map<String, Value>) -> String {
    if let Some(declared) = declared_version(card) {
        return major_minor(declared).to_owned();
    }
    let has = |name: &str| card.contains_key(name);
    let newer_members = [
        "preferredTransport",
        "additionalInterfaces",
        "securitySchemes",
        "security",
        "supportsAuthenticatedExtendedCard",
        "iconUrl",
        "signatures",
    ];
    let is_v0_1 =
        !newer_members.into_iter().any(has) && (has("authentication") || looks_like_v0_1(card));
    if is_v0_1 { Version::V0_1 } else { Version::V0_3 }.as_str().to_owned()
}

/// Returns the value of `protocolVersion`, unless it is empty.
pub(super) fn declared_version(card: &Map<String, Value>) -> Option<&str> {
    card.get("protocolVersion")?.as_str().filter(|it| !it.is_empty())
}

/// Returns whether the modes and capabilities look like 0.1, where modes were optional or `text`,
/// and all three capabilities were always present.
fn looks_like_v0_1(card: &Map<String, Value>) -> bool {
    let Some(modes) = card.get("defaultInputModes").and_then(Value::as_array) else { return true };
    let all_bare_words = modes.iter().all(|it| it.as_str().is_some_and(|mode| !mode.contains('/')));
    all_bare_words
        && card.get("capabilities").is_some_and(|it| it.get("stateTransitionHistory").is_some())
}

/// Truncates `0.3.0` to `0.3`.
pub(crate) fn major_minor(version: &str) -> &str {
    match version.match_indices('.').nth(1) {
        Some((end, _)) => &version[..end],
        None => version,
    }
}

fn upgrade_interfaces(card: &mut Map<String, Value>, version: &str) -> Result<(), InvalidField> {
    // A set keeps the cost linear for cards with very many interfaces.
    let mut seen = HashSet::new();
    let mut interfaces = Vec::new();
    let mut add = |url, binding: Option<_>| {
        let binding = binding.unwrap_or("JSONRPC");
        if seen.insert((url, binding)) {
            interfaces.push(json!({
                "url": url, "protocolBinding": binding, "protocolVersion": version,
            }));
        }
    };
    match card.get("url") {
        Some(Value::String(url)) => {
            add(url.as_str(), card.get("preferredTransport").and_then(Value::as_str));
        }
        Some(_) => return Err(InvalidField::new("url", "expected a string")),
        None => {}
    }
    // One implementation of 1.0 uses the name `interfaces`.
    for name in ["additionalInterfaces", "interfaces"] {
        for item in card.get(name).and_then(Value::as_array).into_iter().flatten() {
            let binding = ["transport", "protocolBinding", "protocol", "type"]
                .into_iter()
                .find_map(|name| item.get(name)?.as_str());
            let Some(url) = item.get("url").and_then(Value::as_str) else { continue };
            add(url, binding);
        }
    }
    card.insert("supportedInterfaces".into(), interfaces.into());
    Ok(())
}

fn upgrade_capabilities(card: &mut Map<String, Value>) {
    let extended = card.get("supportsAuthenticatedExtendedCard") == Some(&Value::Bool(true));
    let entry = card.entry("capabilities").or_insert_with(|| json!({}));
    let Value::Object(members) = entry else { return };
    let mut capabilities = camel_case(members);
    for name in ["streaming", "pushNotifications", "extendedAgentCard"] {
        retain_if_valid::<bool>(&mut capabilities, name);
    }
    retain_valid_items::<AgentExtension>(&mut capabilities, "extensions");
    if extended {
        capabilities.entry("extendedAgentCard").or_insert(Value::Bool(true));
    }
    *entry = Value::Object(capabilities);
}

fn upgrade_skills(card: &mut Map<String, Value>, read_mode: ReadMode) {
    let Some(Value::Array(skills)) = card.get_mut("skills") else { return };
    for skill in skills.iter_mut() {
        let Value::Object(members) = skill else { continue };
        let mut upgraded = camel_case(members);
        for (name, other) in [("id", "name"), ("name", "id")] {
            match read_mode {
                ReadMode::Normalized => default_from(&mut upgraded, name, other),
                ReadMode::Verbatim => drop(upgraded.entry(name).or_insert_with(|| "".into())),
            }
        }
        for name in ["examples", "inputModes", "outputModes"] {
            retain_if_valid::<Vec<String>>(&mut upgraded, name);
        }
        upgrade_requirements(&mut upgraded);
        *skill = Value::Object(upgraded);
    }
    skills.retain(|it| !it.is_object() || it.get("id").is_some());
}

/// Copies the value of `other` to `name` if that is missing or empty.
fn default_from(members: &mut Map<String, Value>, name: &str, other: &str) {
    let missing = members.get(name).is_none_or(|it| it == "");
    if let Some(value) = members.get(other).filter(|_| missing).cloned() {
        members.insert(name.into(), value);
    }
}

/// Renames snake_case members to camelCase, as ProtoJSON allows both, and drops `null` members. The
/// camelCase member wins if both are present.
pub(crate) fn camel_case(members: &Map<String, Value>) -> Map<String, Value> {
    let present = || members.iter().filter(|(_, value)| !value.is_null());
    let mut renamed: Map<_, _> = present()
        .filter(|(name, _)| !name.contains('_'))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for (name, value) in present().filter(|(name, _)| name.contains('_')) {
        renamed.entry(camel_name(name)).or_insert_with(|| value.clone());
    }
    renamed
}

fn camel_name(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut chars = word.chars();
        camel.extend(chars.next().map(|it| it.to_ascii_uppercase()));
        camel.push_str(chars.as_str());
    }
    camel
}

/// Removes the member `name` unless it deserializes as `T`.
fn retain_if_valid<T: DeserializeOwned>(members: &mut Map<String, Value>, name: &str) {
    if members.get(name).is_some_and(|it| !parses_as::<T>(it)) {
        members.remove(name);
    }
}

/// Removes items that do not deserialize as `T` from the list `name`, or the member if it is not a
/// list.
pub(super) fn retain_valid_items<T: DeserializeOwned>(
    members: &mut Map<String, Value>,
    name: &str,
) {
    match members.get_mut(name) {
        Some(Value::Array(items)) => items.retain(parses_as::<T>),
        Some(_) => drop(members.remove(name)),
        None => {}
    }
}

pub(super) fn parses_as<T: DeserializeOwned>(value: &Value) -> bool {
    json::from_value::<T>(value).is_ok()
}
