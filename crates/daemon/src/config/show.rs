//! What holds, and where it comes from.

use serde_json::Value;

use super::key::{Content, Section, Shape};
use super::tree::{Node, NodeKind, Origin};
use super::{Loaded, ROOT};
use crate::veil::{HIDDEN, veil};

/// One value of a configuration.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Setting {
    /// Its key, with dots.
    pub key: String,
    /// The value in TOML. Secrets are hidden, also those in addresses.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

impl Loaded {
    /// Every value that holds, in the order of the reference.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        collect(&self.tree, &ROOT, "", &mut settings);
        settings
    }
}

fn collect(node: &Node, section: &Section, prefix: &str, settings: &mut Vec<Setting>) {
    for key in section.keys {
        let Some(inner) = node.get([key.name()]) else { continue };
        let name = format!("{prefix}{}", key.name());
        match (key.shape, &inner.kind) {
            (Shape::Value(_, content), _) => settings.push(Setting {
                key: name,
                value: visible(inner, content),
                origin: inner.origin.clone(),
            }),
            (Shape::Table(section), _) => collect(inner, section, &format!("{name}."), settings),
            (Shape::List(section), NodeKind::List(items)) => {
                for (place, item) in items.iter().enumerate() {
                    collect(item, section, &format!("{name}[{place}]."), settings);
                }
            }
            (Shape::Named(section), NodeKind::Table(members)) => {
                for (member, node) in members {
                    collect(node, section, &format!("{name}.{member}."), settings);
                }
            }
            (Shape::List(_) | Shape::Named(_), _) => {}
        }
    }
}

fn visible(node: &Node, content: Content) -> String {
    match (content, &node.kind) {
        (Content::Secret, _) => format!("\"{HIDDEN}\""),
        (Content::Secrets, NodeKind::Table(members)) if members.is_empty() => "{}".to_owned(),
        (Content::Secrets, NodeKind::Table(members)) => {
            let hidden: Vec<_> = members.keys().map(|it| format!("{it} = \"{HIDDEN}\"")).collect();
            format!("{{ {} }}", hidden.join(", "))
        }
        (Content::Secrets | Content::Text | Content::Other, _) => write(&node.to_value()),
    }
}

/// A value in TOML, on one line.
fn write(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(write).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let members = members.iter().map(|(key, it)| format!("{key} = {}", write(it)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        // The escapes of JSON are escapes of TOML.
        Value::String(text) => Value::from(veil(text)).to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
