//! Configuration tree that records the source of each value.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostic::Diagnostic;

/// A value or table with its source.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    pub(crate) provenance: Provenance,
}

#[derive(Clone)]
pub(crate) enum NodeKind {
    Scalar(Value),
    List(Vec<Node>),
    Table(BTreeMap<String, Node>),
}

/// Source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Layer that set the value.
    pub layer: Layer,
    /// Line in the file, if the layer is a file whose lines are known.
    pub line: Option<usize>,
}

/// Layer of a configuration. A later one overrides an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Layer {
    /// Built-in default.
    Default,
    /// Configuration file.
    File(Arc<Path>),
    /// Environment variable.
    Environment(Arc<str>),
    /// Command-line option.
    Flag(Arc<str>),
}

impl From<Layer> for Provenance {
    fn from(layer: Layer) -> Self {
        Self { layer, line: None }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.layer, self.line) {
            (Layer::Default, _) => out.write_str("default"),
            (Layer::File(path), None) => write!(out, "{}", path.display()),
            (Layer::File(path), Some(line)) => write!(out, "{}:{line}", path.display()),
            (Layer::Environment(name), _) => write!(out, "environment {name}"),
            (Layer::Flag(name), _) => write!(out, "option {name}"),
        }
    }
}

impl Provenance {
    /// Returns the directory that paths are relative to, if the source is a file.
    pub(crate) fn base_dir(&self) -> Option<&Path> {
        match &self.layer {
            Layer::File(path) => path.parent(),
            Layer::Default | Layer::Environment(_) | Layer::Flag(_) => None,
        }
    }
}

impl fmt::Debug for Node {
    /// Omits the values, because some are secrets.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Node({}, {})", self.type_name(), self.provenance)
    }
}

impl Node {
    /// Creates an empty table.
    pub(crate) fn empty_table(provenance: impl Into<Provenance>) -> Self {
        Self { kind: NodeKind::Table(BTreeMap::new()), provenance: provenance.into() }
    }

    /// Creates the tree of a value with one source.
    pub(crate) fn from_value(value: Value, provenance: &Provenance) -> Self {
        let convert = |value| Self::from_value(value, provenance);
        let kind = match value {
            Value::Array(items) => NodeKind::List(items.into_iter().map(convert).collect()),
            Value::Object(members) => {
                NodeKind::Table(members.into_iter().map(|(key, it)| (key, convert(it))).collect())
            }
            scalar => NodeKind::Scalar(scalar),
        };
        Self { kind, provenance: provenance.clone() }
    }

    /// Parses a file: JSON if its name ends in `.json`, otherwise TOML.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, Diagnostic> {
        let layer = Layer::File(Arc::from(path));
        if path.extension().is_some_and(|it| it.eq_ignore_ascii_case("json")) {
            return match serde_json::from_str(text) {
                Ok(value) => Ok(Self::from_value(value, &layer.into())),
                Err(error) => {
                    let provenance = Provenance { layer, line: Some(error.line()) };
                    Err(Diagnostic::new(provenance, format!("invalid JSON: {error}")))
                }
            };
        }
        let lines = LineIndex { layer, text };
        match DeTable::parse(text) {
            Ok(table) => {
                let provenance = Provenance { layer: lines.layer.clone(), line: None };
                Ok(lines.table(table.into_inner(), provenance))
            }
            Err(error) => {
                let offset = error.span().map_or(0, |it| it.start);
                Err(Diagnostic::new(
                    lines.provenance(offset),
                    format!("invalid TOML: {}", error.message()),
                ))
            }
        }
    }

    /// Parses one TOML value, such as that of an environment variable.
    pub(crate) fn parse_value(text: &str) -> Option<Value> {
        let value = DeValue::parse(text).ok()?;
        let lines = LineIndex { layer: Layer::Default, text };
        Some(lines.value(value).to_value())
    }

    /// Merges another tree into this one. Tables are merged key by key, other values are replaced.
    pub(crate) fn merge(&mut self, other: Self) {
        match (&mut self.kind, other.kind) {
            (NodeKind::Table(base), NodeKind::Table(overrides)) => {
                for (key, node) in overrides {
                    match base.get_mut(&key) {
                        Some(existing) => existing.merge(node),
                        None => {
                            base.insert(key, node);
                        }
                    }
                }
            }
            (_, kind) => *self = Self { kind, provenance: other.provenance },
        }
    }

    /// Returns the node at a path of keys and list indices.
    pub(crate) fn get<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> Option<&Self> {
        path.into_iter().try_fold(self, |node, step| match &node.kind {
            NodeKind::Table(members) => members.get(step),
            NodeKind::List(items) => items.get(step.parse::<usize>().ok()?),
            NodeKind::Scalar(_) => None,
        })
    }

    /// Returns the node at the longest prefix of a path that exists.
    pub(crate) fn deepest_existing<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> &Self {
        let mut node = self;
        for step in path {
            match node.get([step]) {
                Some(inner) => node = inner,
                None => break,
            }
        }
        node
    }

    /// Sets the node at a path of keys and creates the tables of the path.
    pub(crate) fn set<'p>(&mut self, path: impl IntoIterator<Item = &'p str>, node: Self) {
        let mut target = self;
        for step in path {
            if !matches!(target.kind, NodeKind::Table(_)) {
                *target = Self::empty_table(node.provenance.clone());
            }
            let NodeKind::Table(members) = &mut target.kind else { return };
            let empty = || Self::empty_table(node.provenance.clone());
            target = members.entry(step.to_owned()).or_insert_with(empty);
        }
        *target = node;
    }

    /// Returns the values without their sources.
    pub(crate) fn to_value(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar(value) => value.clone(),
            NodeKind::List(items) => items.iter().map(Self::to_value).collect(),
            NodeKind::Table(members) => {
                members.iter().map(|(key, node)| (key.clone(), node.to_value())).collect()
            }
        }
    }

    /// Returns the type of the node for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.kind {
            NodeKind::List(_) => "a list",
            NodeKind::Table(_) => "a table",
            NodeKind::Scalar(_) => "a value",
        }
    }
}

/// Converts offsets in a text to lines.
struct LineIndex<'a> {
    layer: Layer,
    text: &'a str,
}

impl LineIndex<'_> {
    fn provenance(&self, offset: usize) -> Provenance {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = before.iter().filter(|it| **it == b'\n').count() + 1;
        Provenance { layer: self.layer.clone(), line: Some(line) }
    }

    fn table(&self, table: DeTable<'_>, provenance: Provenance) -> Node {
        let member = |(key, value): (Spanned<_>, Spanned<DeValue<'_>>)| {
            // The line of a value is that of its key; for a table, that is its header.
            let provenance = self.provenance(key.span().start);
            let node = Node { provenance, ..self.value(value) };
            (String::from(key.into_inner()), node)
        };
        Node { kind: NodeKind::Table(table.into_iter().map(member).collect()), provenance }
    }

    fn value(&self, value: Spanned<DeValue<'_>>) -> Node {
        let provenance = self.provenance(value.span().start);
        let scalar = match value.into_inner() {
            DeValue::Table(table) => return self.table(table, provenance),
            DeValue::Array(items) => {
                let items = items.into_iter().map(|it| self.value(it)).collect();
                return Node { kind: NodeKind::List(items), provenance };
            }
            DeValue::String(text) => Value::from(text),
            DeValue::Boolean(flag) => Value::from(flag),
            DeValue::Datetime(time) => Value::from(time.to_string()),
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(number) => Value::from(number),
                Err(_) => Value::from(number.as_str()),
            },
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => Value::from(number),
                    Err(_) => Value::from(number.as_str()),
                }
            }
        };
        Node { kind: NodeKind::Scalar(scalar), provenance }
    }
}

/// Formats a path of keys and list indices: `agents[0].name`.
pub(crate) fn format_path(path: &[String]) -> String {
    let mut formatted = String::new();
    for step in path {
        if step.bytes().all(|it| it.is_ascii_digit()) {
            formatted.push_str(&format!("[{step}]"));
        } else {
            if !formatted.is_empty() {
                formatted.push('.');
            }
            formatted.push_str(step);
        }
    }
    formatted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, text: &str) -> Node {
        Node::parse(Path::new(name), text).expect("a readable file")
    }

    #[test]
    fn values_record_their_line() {
        let tree = parse(
            "a.toml",
            "listen = \"x\"\n\n[a2a]\n# why\nenabled = true\n\n[[agents]]\nname = \"a\"\n",
        );
        for (path, want) in [
            (&["listen"][..], "a.toml:1"),
            (&["a2a"], "a.toml:3"),
            (&["a2a", "enabled"], "a.toml:5"),
            (&["agents", "0", "name"], "a.toml:8"),
        ] {
            let node = tree.get(path.iter().copied()).expect("a node");
            assert_eq!(node.provenance.to_string(), want, "{path:?}");
        }
    }

    #[test]
    fn merge_overrides_key_by_key() {
        let mut tree = parse("a.toml", "[a2a]\nlisten_path = \"/a\"\nenabled = false\n");
        tree.merge(parse("b.json", r#"{"a2a": {"enabled": true}, "agents": []}"#));
        let value = tree.to_value();
        assert_eq!(value["a2a"]["enabled"], true);
        assert_eq!(value["a2a"]["listen_path"], "/a");
        assert_eq!(tree.get(["a2a", "enabled"]).unwrap().provenance.to_string(), "b.json");
    }

    #[test]
    fn integers_parse_in_every_base() {
        let tree = parse("a.toml", "a = 0x10\nb = 1_000\nc = 1.5\nd = -3\n");
        assert_eq!(tree.to_value(), serde_json::json!({"a": 16, "b": 1000, "c": 1.5, "d": -3}));
    }

    #[test]
    fn parse_errors_name_the_line() {
        for (name, text, want) in [
            ("a.toml", "a = 1\nb = \n", "a.toml:2: invalid TOML"),
            ("a.json", "{\n\"a\": }", "a.json:2: invalid JSON"),
        ] {
            let message = Node::parse(Path::new(name), text).expect_err(name).to_string();
            assert!(message.starts_with(want), "{message}");
        }
    }
}
