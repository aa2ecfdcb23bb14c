//! Compares the tree with the declared keys: reports unknown and missing keys, adds defaults.

use std::collections::BTreeMap;

use serde_json::Value;
use strsim::damerau_levenshtein;

use super::diagnostic::Diagnostic;
use super::key::{KIND_KEY, Key, KeyKind, KindSpec, Presence, SectionSpec, find_key};
use super::tree::{Layer, Node, NodeKind, Provenance, format_path};

/// Replaces aliases and camel case by key names. Reports unknown, duplicate and missing keys.
pub(crate) fn normalize(node: &mut Node, section: &SectionSpec, errors: &mut Vec<Diagnostic>) {
    SchemaCheck { path: Vec::new(), errors }.check_table(node, section);
}

/// Adds the default values of absent keys.
pub(crate) fn fill_defaults(node: &mut Node, section: &SectionSpec) {
    let NodeKind::Table(members) = &mut node.kind else { return };
    for key in section.keys_of(members) {
        let missing = !members.contains_key(key.name());
        if let Some(value) = default_value(&key).filter(|_| missing) {
            members.insert(key.name().to_owned(), value);
        }
        let Some(inner) = members.get_mut(key.name()) else { continue };
        match (key.spec.kind, &mut inner.kind) {
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

/// Returns the default value of a key; `None` if it has none.
fn default_value(key: &Key) -> Option<Node> {
    let provenance = Provenance::from(Layer::Default);
    match (key.presence(), key.spec.kind) {
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
        let kind = section.kind_of(members);
        let (mut keys, common) = (section.keys(), section.keys().len());
        match kind {
            Some(kind) => keys.extend(kind.section.keys()),
            // The kind is missing or unknown, which is reported: accept the keys of every kind.
            None => keys.extend(section.kinds().iter().flat_map(|it| it.section.keys())),
        }
        let mut normalized = BTreeMap::new();
        for (name, mut inner) in std::mem::take(members) {
            let Some(key) = find_key(&keys, &name) else {
                self.report_unknown_key(&name, &inner, section, kind, &keys);
                continue;
            };
            self.within(key.name(), |check| check.check_value(&mut inner, key.spec.kind));
            if normalized.contains_key(key.name()) {
                let message = format!("duplicate key `{}`{}", key.name(), self.location());
                self.errors.push(Diagnostic::new(inner.provenance, message));
                continue;
            }
            normalized.insert(key.name().to_owned(), inner);
        }
        *members = normalized;
        let (common, of_kind) = keys.split_at(common);
        self.check_required(node, common, "");
        if let Some(kind) = kind {
            let reason = format!(", which `{KIND_KEY} = \"{}\"` requires", kind.name);
            self.check_required(node, of_kind, &reason);
        }
    }

    fn check_required(&mut self, node: &Node, keys: &[Key], reason: &str) {
        for key in keys.iter().filter(|it| matches!(it.presence(), Presence::Required)) {
            if node.get([key.name()]).is_none() {
                let message = format!("missing key `{}`{}{reason}", key.name(), self.location());
                self.errors.push(Diagnostic::new(node.provenance.clone(), message));
            }
        }
    }

    fn check_value(&mut self, node: &mut Node, kind: KeyKind) {
        match (kind, &mut node.kind) {
            // The value is checked when it is read with the type of its key.
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

    fn report_unknown_key(
        &mut self,
        name: &str,
        node: &Node,
        section: &SectionSpec,
        kind: Option<&KindSpec>,
        keys: &[Key],
    ) {
        let location = self.location();
        let diagnostic = |message| Diagnostic::new(node.provenance.clone(), message);
        self.errors.push(match (kinds_with(name, section), kind, suggest_key(name, keys)) {
            (kinds, Some(kind), _) if !kinds.is_empty() => diagnostic(format!(
                "`{name}` belongs to {}, but `{}` has `{KIND_KEY} = \"{}\"`",
                kinds.join(" or "),
                format_path(&self.path),
                kind.name
            )),
            (_, _, Some(suggestion)) => diagnostic(format!("unknown key `{name}`{location}"))
                .with_hint(format!("did you mean `{suggestion}`?")),
            (_, _, None) => diagnostic(format!("unknown key `{name}`{location}")),
        });
    }

    /// Returns the table for messages; empty outside of any section.
    fn location(&self) -> String {
        match self.path.is_empty() {
            true => String::new(),
            false => format!(" in `{}`", format_path(&self.path)),
        }
    }

    fn within(&mut self, step: &str, inner: impl FnOnce(&mut Self)) {
        self.path.push(step.to_owned());
        inner(self);
        self.path.pop();
    }
}

/// Returns the kinds of a section that have a key with this name.
fn kinds_with(name: &str, section: &SectionSpec) -> Vec<String> {
    let kinds = section.kinds().iter().filter(|it| it.section.find_key(name).is_some());
    kinds.map(|it| format!("`{KIND_KEY} = \"{}\"`", it.name)).collect()
}

/// Returns the key with the most similar name, unless none is similar.
pub(crate) fn suggest_key(name: &str, keys: &[Key]) -> Option<&'static str> {
    let distance = |key: &Key| damerau_levenshtein(&name.to_lowercase(), key.name());
    let closest = keys.iter().min_by_key(|key| distance(key))?;
    (distance(closest) <= 2.max(name.len() / 3)).then(|| closest.name())
}
