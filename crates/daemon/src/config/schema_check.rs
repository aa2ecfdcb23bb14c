//! Holds a tree against the keys that there are.

use std::collections::BTreeMap;

use serde_json::Value;
use strsim::damerau_levenshtein;

use super::diagnostic::Diagnostic;
use super::key::{KeyKind, KeySpec, Presence, SectionSpec};
use super::tree::{Layer, Node, NodeKind, Provenance, format_path};

/// Gives every key its proper name, and reports what nobody understands.
pub(crate) fn normalize(node: &mut Node, section: &SectionSpec, errors: &mut Vec<Diagnostic>) {
    SchemaCheck { path: Vec::new(), errors }.check_table(node, section);
}

/// Adds the defaults of everything that nobody said.
pub(crate) fn fill_defaults(node: &mut Node, section: &SectionSpec) {
    let NodeKind::Table(members) = &mut node.kind else { return };
    for key in section.keys {
        let missing = !members.contains_key(key.name());
        if let Some(value) = default_value(key).filter(|_| missing) {
            members.insert(key.name().to_owned(), value);
        }
        let Some(inner) = members.get_mut(key.name()) else { continue };
        match (key.kind, &mut inner.kind) {
            (KeyKind::Table(section), _) => fill_defaults(inner, section),
            (KeyKind::TableList(section), NodeKind::List(items)) => {
                items.iter_mut().for_each(|it| fill_defaults(it, section));
            }
            (KeyKind::NamedTables(section), NodeKind::Table(members)) => {
                members.values_mut().for_each(|it| fill_defaults(it, section));
            }
            (KeyKind::Value(..) | KeyKind::TableList(_) | KeyKind::NamedTables(_), _) => {}
        }
    }
}

/// What holds when a key is not there.
fn default_value(key: &KeySpec) -> Option<Node> {
    let provenance = Provenance::from(Layer::Default);
    match (key.presence, key.kind) {
        (Presence::Default(text), _) => {
            Some(Node::from_value(Node::parse_value(text)?, &provenance))
        }
        (Presence::Section, KeyKind::TableList(_)) => {
            Some(Node::from_value(Value::Array(Vec::new()), &provenance))
        }
        (Presence::Section, _) => Some(Node::empty_table(provenance)),
        (Presence::Optional(_) | Presence::Required, _) => None,
    }
}

struct SchemaCheck<'a> {
    path: Vec<String>,
    errors: &'a mut Vec<Diagnostic>,
}

impl SchemaCheck<'_> {
    fn check_table(&mut self, node: &mut Node, section: &SectionSpec) {
        let NodeKind::Table(members) = &mut node.kind else {
            let type_name = node.type_name();
            let message = format!("`{}` must be a table, not {type_name}", format_path(&self.path));
            return self.errors.push(Diagnostic::new(node.provenance.clone(), message));
        };
        let mut normalized = BTreeMap::new();
        for (name, mut inner) in std::mem::take(members) {
            let Some(key) = section.find_key(&name) else {
                self.report_unknown_key(&name, inner.provenance, section);
                continue;
            };
            self.within(key.name(), |check| check.check_value(&mut inner, key.kind));
            if normalized.contains_key(key.name()) {
                let message = format!("{} has `{}` twice", self.location(), key.name());
                self.errors.push(Diagnostic::new(inner.provenance, message));
                continue;
            }
            normalized.insert(key.name().to_owned(), inner);
        }
        for key in section.keys {
            let required = matches!(key.presence, Presence::Required);
            if required && !normalized.contains_key(key.name()) {
                let message = format!("{} needs `{}`", self.location(), key.name());
                self.errors.push(Diagnostic::new(node.provenance.clone(), message));
            }
        }
        *members = normalized;
    }

    fn check_value(&mut self, node: &mut Node, kind: KeyKind) {
        match (kind, &mut node.kind) {
            // Whether a value fits is for its type to say.
            (KeyKind::Value(..), _) => {}
            (KeyKind::Table(section), _) => self.check_table(node, section),
            (KeyKind::TableList(section), NodeKind::List(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.within(&index.to_string(), |check| check.check_table(item, section));
                }
            }
            (KeyKind::NamedTables(section), NodeKind::Table(members)) => {
                for (name, member) in members {
                    self.within(name, |check| check.check_table(member, section));
                }
            }
            (KeyKind::TableList(_), _) => {
                let name = format_path(&self.path);
                let message =
                    format!("`{name}` must be a list of tables, not {}", node.type_name());
                let diagnostic = Diagnostic::new(node.provenance.clone(), message);
                self.errors.push(diagnostic.with_hint(format!("write [[{name}]]")));
            }
            (KeyKind::NamedTables(_), _) => {
                let name = format_path(&self.path);
                let message =
                    format!("`{name}` must be a table of tables, not {}", node.type_name());
                let diagnostic = Diagnostic::new(node.provenance.clone(), message);
                self.errors.push(diagnostic.with_hint(format!("write [{name}.NAME]")));
            }
        }
    }

    fn report_unknown_key(&mut self, name: &str, provenance: Provenance, section: &SectionSpec) {
        let message = format!("{} has no key `{name}`", self.location());
        let diagnostic = Diagnostic::new(provenance, message);
        self.errors.push(match suggest_key(name, section) {
            Some(suggestion) => diagnostic.with_hint(format!("did you mean `{suggestion}`?")),
            None => diagnostic,
        });
    }

    fn location(&self) -> String {
        match self.path.is_empty() {
            true => "a configuration".to_owned(),
            false => format!("`{}`", format_path(&self.path)),
        }
    }

    fn within(&mut self, step: &str, inner: impl FnOnce(&mut Self)) {
        self.path.push(step.to_owned());
        inner(self);
        self.path.pop();
    }
}

/// The key that is spelled most like this, if it is much like it.
pub(crate) fn suggest_key(name: &str, section: &SectionSpec) -> Option<&'static str> {
    let distance = |key: &KeySpec| damerau_levenshtein(&name.to_lowercase(), key.name());
    let closest = section.keys.iter().min_by_key(|key| distance(key))?;
    (distance(closest) <= 2.max(name.len() / 3)).then(|| closest.name())
}
