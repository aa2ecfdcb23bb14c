//! Checks of the card: its members, modes, skills and extensions.

use std::collections::HashSet;

use serde_json::Value;

use super::node::Node;
use super::rules;
use super::{Report, interface, security, signature};
use crate::json::is_unsafe_integer;
use crate::version::Version;

/// Version whose members a card uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CardGeneration {
    /// 1.0.
    V1_0,
    /// 0.3 or 0.2.
    V0_3,
    /// 0.1.
    V0_1,
    /// Both 1.0 and 0.3.
    Mixed,
}

impl CardGeneration {
    fn detect(card: &Node<'_>) -> Self {
        match (card.has("supportedInterfaces"), card.has("url")) {
            (true, true) => Self::Mixed,
            (_, false) => Self::V1_0,
            (false, true) => match crate::card::read::upgrade(card.value()) {
                Ok(upgraded)
                    if upgraded.pre_v1_version.as_deref() == Some(Version::V0_1.as_str()) =>
                {
                    Self::V0_1
                }
                _ => Self::V0_3,
            },
        }
    }
}

/// Members of a card in any version.
const MEMBERS: [&str; 21] = [
    "name",
    "description",
    "supportedInterfaces",
    "provider",
    "version",
    "documentationUrl",
    "capabilities",
    "securitySchemes",
    "securityRequirements",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
    "signatures",
    "iconUrl",
    "url",
    "preferredTransport",
    "additionalInterfaces",
    "protocolVersion",
    "security",
    "supportsAuthenticatedExtendedCard",
    "authentication",
];

pub(super) fn check(card: &Node<'_>, report: &mut Report) {
    if !card.value().is_object() {
        let message = format!("a card must be a JSON object, but this is {}", card.type_name());
        return report.add(&rules::SHAPE, card, message);
    }
    let generation = CardGeneration::detect(card);
    let advice = "set the name of the agent";
    report.required_text(card, "name", &rules::NAME_MISSING, advice);
    check_description(card, generation, report);
    let advice = "set a version, such as \"1.0.0\"";
    report.required_text(card, "version", &rules::VERSION_MISSING, advice);
    interface::check(card, generation, report);
    check_provider(card, report);
    check_link(card, "documentationUrl", report);
    check_link(card, "iconUrl", report);
    check_capabilities(card, report);
    for name in ["defaultInputModes", "defaultOutputModes"] {
        check_default_modes(card, name, generation, report);
    }
    check_skills(card, generation, report);
    security::check(card, generation, report);
    signature::check(card, report);
    check_members(card, report);
    check_numbers(card, report);
}

// §8.4.1: an empty description is valid, only a missing one is not.
fn check_description(card: &Node<'_>, generation: CardGeneration, report: &mut Report) {
    let optional = generation == CardGeneration::V0_1 || card.has("description");
    if report.optional_text(card, "description").is_ok() && !optional {
        let message = "description is required; describe the purpose of the agent";
        report.add_member(&rules::DESCRIPTION_MISSING, card, "description", message);
    }
}

fn check_provider(card: &Node<'_>, report: &mut Report) {
    let Some(provider) = card.get("provider") else { return };
    if !provider.value().is_object() {
        report.wrong_type(&provider, "an object");
        return;
    }
    for name in ["organization", "url"] {
        let advice = "set organization and url, or omit the provider";
        report.required_text(&provider, name, &rules::PROVIDER_INCOMPLETE, advice);
    }
    check_link(&provider, "url", report);
}

fn check_link(node: &Node<'_>, name: &str, report: &mut Report) {
    let Ok(Some(url)) = report.optional_text(node, name) else { return };
    if !interface::is_web_url(url) {
        let message = format!("{url:?} must be an absolute http or https URL");
        report.add_member(&rules::LINK_INVALID, node, name, message);
    }
}

fn check_capabilities(card: &Node<'_>, report: &mut Report) {
    let Some(capabilities) = card.get("capabilities") else {
        let message = "capabilities is required; write {} if the agent has none";
        return report.add_member(&rules::CAPABILITIES_MISSING, card, "capabilities", message);
    };
    if !capabilities.value().is_object() {
        report.wrong_type(&capabilities, "an object");
        return;
    }
    for name in ["streaming", "pushNotifications", "extendedAgentCard", "stateTransitionHistory"] {
        if let Some(flag) = capabilities.get(name).filter(|it| !it.value().is_boolean()) {
            report.wrong_type(&flag, "true or false");
        }
    }
    let mut seen = HashSet::new();
    for extension in report.objects(&capabilities, "extensions") {
        let advice = "the URI identifies the extension";
        let rule = &rules::EXTENSION_URI_MISSING;
        let Some(uri) = report.required_text(&extension, "uri", rule, advice) else { continue };
        if !interface::is_uri(uri) {
            let message = format!("{uri:?} must be an absolute URI");
            report.add_member(&rules::EXTENSION_URI_INVALID, &extension, "uri", message);
        }
        if !seen.insert(uri) {
            let message = format!("{uri:?} is listed twice; remove one entry");
            report.add_member(&rules::EXTENSION_DUPLICATE, &extension, "uri", message);
        }
    }
}

fn check_default_modes(
    card: &Node<'_>,
    name: &str,
    generation: CardGeneration,
    report: &mut Report,
) {
    if !card.has(name) {
        if generation != CardGeneration::V0_1 {
            let message = format!("{name} is required; write [\"text/plain\"] for plain text");
            report.add_member(&rules::MODES_MISSING, card, name, message);
        }
        return;
    }
    let empty = card.get(name).and_then(|it| it.items()).is_some_and(|it| it.is_empty());
    if empty {
        let message = "must not be empty; write [\"text/plain\"] for plain text";
        report.add_member(&rules::MODES_EMPTY, card, name, message);
    }
    check_modes(card, name, generation, report);
}

fn check_modes(node: &Node<'_>, name: &str, generation: CardGeneration, report: &mut Report) {
    for mode in string_items(node, name, report) {
        let text = mode.value().as_str().unwrap_or_default();
        let is_bare_word =
            generation == CardGeneration::V0_1 && !text.is_empty() && !text.contains('/');
        if !is_bare_word && !is_media_type(text) {
            let message =
                format!("{text:?} is not a media type; write \"text/plain\" for plain text");
            report.add(&rules::MODE_FORM, &mode, message);
        }
    }
}

fn check_skills(card: &Node<'_>, generation: CardGeneration, report: &mut Report) {
    let Some(skills) = card.get("skills") else {
        let message = "skills is required; list the skills of the agent";
        return report.add_member(&rules::SKILLS_MISSING, card, "skills", message);
    };
    if skills.items().is_some_and(|it| it.is_empty()) {
        let message = "the list of skills is empty; clients use skills to find agents";
        report.add(&rules::SKILLS_EMPTY, &skills, message);
    }
    let mut seen = HashSet::new();
    for skill in report.objects(card, "skills") {
        check_skill(&skill, generation, report);
        let Some(id) = skill.get("id").and_then(|it| it.value().as_str()) else { continue };
        if !seen.insert(id) {
            let message = format!("the id {id:?} is used twice; skill ids must be unique");
            report.add_member(&rules::SKILL_DUPLICATE, &skill, "id", message);
        }
    }
}

fn check_skill(skill: &Node<'_>, generation: CardGeneration, report: &mut Report) {
    let rule = &rules::SKILL_MEMBER_MISSING;
    report.required_text(skill, "id", rule, "the id identifies the skill");
    report.required_text(skill, "name", rule, "set the name of the skill");
    if generation != CardGeneration::V0_1 {
        report.required_text(skill, "description", rule, "describe what the skill does");
        if !skill.has("tags") {
            report.add_member(rule, skill, "tags", "tags is required; list keywords for search");
        }
    }
    if skill.get("tags").and_then(|it| it.items()).is_some_and(|it| it.is_empty()) {
        let message = "the list of tags is empty; list keywords for search";
        report.add_member(&rules::SKILL_TAGS_EMPTY, skill, "tags", message);
    }
    string_items(skill, "tags", report);
    string_items(skill, "examples", report);
    check_modes(skill, "inputModes", generation, report);
    check_modes(skill, "outputModes", generation, report);
}

/// Returns the strings in the list `name`. Reports items of another type.
fn string_items<'a>(node: &Node<'a>, name: &str, report: &mut Report) -> Vec<Node<'a>> {
    let mut items = report.items(node, name);
    items.retain(|item| {
        let fits = item.value().is_string();
        if !fits {
            report.wrong_type(item, "a string");
        }
        fits
    });
    items
}

fn check_members(card: &Node<'_>, report: &mut Report) {
    for (name, member) in card.entries() {
        let is_known = MEMBERS.iter().any(|it| *it == name || super::node::snake_name(it) == name);
        if !is_known && !member.value().is_null() {
            let message = format!(
                "{name:?} is not a member of any A2A version; strict clients reject the card"
            );
            report.add(&rules::MEMBER_UNKNOWN, &member, message);
        }
    }
}

fn check_numbers(node: &Node<'_>, report: &mut Report) {
    if let Value::Number(number) = node.value()
        && is_unsafe_integer(number)
    {
        let message = "exceeds the exact range of JSON numbers; write it as a string";
        report.add(&rules::NUMBER_UNSAFE, node, message);
    }
    node.items().into_iter().flatten().for_each(|item| check_numbers(&item, report));
    node.entries().for_each(|(_, member)| check_numbers(&member, report));
}

/// Returns whether `text` has the form `type/subtype`, with any parameters.
fn is_media_type(text: &str) -> bool {
    let token = |it: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+*".contains(&byte);
        !it.is_empty() && it.bytes().all(fits)
    };
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    essence.split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype))
}
