//! Effective values and their sources.

use serde_json::Value;

use super::key::{KeyKind, SectionSpec, ValueKind};
use super::tree::{Node, NodeKind, Provenance};
use super::{LoadedConfig, ROOT_SECTION};
use crate::redact::{REDACTED, redact_url};

/// Effective value of one key.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EffectiveSetting {
    /// Path of the key, such as `agents[0].name`.
    pub key: String,
    /// Value in TOML. Secrets are replaced, also those in URLs.
    pub value: String,
    /// Source of the value.
    pub provenance: Provenance,
}

impl LoadedConfig {
    /// Returns the effective value of every key, in the order of the reference. An agent has the
    /// keys of its kind.
    #[must_use]
    pub fn effective_settings(&self) -> Vec<EffectiveSetting> {
        let mut settings = Vec::new();
        collect_settings(&self.tree, &ROOT_SECTION, "", &mut settings);
        settings
    }
}

fn collect_settings(
    node: &Node,
    section: &SectionSpec,
    prefix: &str,
    settings: &mut Vec<EffectiveSetting>,
) {
    let NodeKind::Table(members) = &node.kind else { return };
    for key in section.keys_of(members) {
        let Some(inner) = members.get(key.name()) else { continue };
        let name = format!("{prefix}{}", key.name());
        match (key.spec.kind, &inner.kind) {
            (KeyKind::Value(_, value_kind), _) => settings.push(EffectiveSetting {
                key: name,
                value: redacted_value(inner, value_kind),
                provenance: inner.provenance.clone(),
            }),
            (KeyKind::Table(section), _) => {
                collect_settings(inner, section, &format!("{name}."), settings)
            }
            (KeyKind::TableList(section), NodeKind::List(items)) => {
                for (index, item) in items.iter().enumerate() {
                    collect_settings(item, section, &format!("{name}[{index}]."), settings);
                }
            }
            (KeyKind::NamedTables(section), NodeKind::Table(members)) => {
                for (member, node) in members {
                    collect_settings(node, section, &format!("{name}.{member}."), settings);
                }
            }
            (KeyKind::TableList(_) | KeyKind::NamedTables(_), _) => {}
        }
    }
}

fn redacted_value(node: &Node, value_kind: ValueKind) -> String {
    match (value_kind, &node.kind) {
        (ValueKind::Secret, _) => format!("\"{REDACTED}\""),
        (ValueKind::Secrets, NodeKind::Table(members)) if members.is_empty() => "{}".to_owned(),
        (ValueKind::Secrets, NodeKind::Table(members)) => {
            let hidden: Vec<_> =
                members.keys().map(|it| format!("{it} = \"{REDACTED}\"")).collect();
            format!("{{ {} }}", hidden.join(", "))
        }
        (ValueKind::Secrets | ValueKind::Text | ValueKind::Other, _) => to_toml(&node.to_value()),
    }
}

/// Formats a value as TOML on one line.
fn to_toml(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(to_toml).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let members = members.iter().map(|(key, it)| format!("{key} = {}", to_toml(it)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        // Every JSON escape is a TOML escape.
        Value::String(text) => Value::from(redact_url(text)).to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
