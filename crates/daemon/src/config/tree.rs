//! A configuration as a tree that knows where each value comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostic::Diagnostic;

/// A value, and where it comes from.
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

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The place as such.
    pub layer: Layer,
    /// The line of a file.
    pub line: Option<usize>,
}

/// A place where values come from. A later one goes before an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Layer {
    /// Nobody said anything.
    Default,
    /// A file.
    File(Arc<Path>),
    /// A variable of the environment.
    Environment(Arc<str>),
    /// An option of the command line.
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
    /// The folder that paths are relative to: that of the file, if it is one.
    pub(crate) fn base_dir(&self) -> Option<&Path> {
        match &self.layer {
            Layer::File(path) => path.parent(),
            Layer::Default | Layer::Environment(_) | Layer::Flag(_) => None,
        }
    }
}

impl fmt::Debug for Node {
    /// Without values: some of them are secrets.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Node({}, {})", self.type_name(), self.provenance)
    }
}

impl Node {
    /// An empty table.
    pub(crate) fn empty_table(provenance: impl Into<Provenance>) -> Self {
        Self { kind: NodeKind::Table(BTreeMap::new()), provenance: provenance.into() }
    }

    /// The tree of a value that comes from one place.
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

    /// Reads a file: JSON if its name says so, else TOML.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, Diagnostic> {
        let layer = Layer::File(Arc::from(path));
        if path.extension().is_some_and(|it| it.eq_ignore_ascii_case("json")) {
            return match serde_json::from_str(text) {
                Ok(value) => Ok(Self::from_value(value, &layer.into())),
                Err(error) => {
                    let provenance = Provenance { layer, line: Some(error.line()) };
                    Err(Diagnostic::new(provenance, format!("is no JSON: {error}")))
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
                    format!("is no TOML: {}", error.message()),
                ))
            }
        }
    }

    /// One value of TOML, such as an element of the environment.
    pub(crate) fn parse_value(text: &str) -> Option<Value> {
        let value = DeValue::parse(text).ok()?;
        let lines = LineIndex { layer: Layer::Default, text };
        Some(lines.value(value).to_value())
    }

    /// Lays another tree over this one. Tables become one; everything else is replaced.
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

    /// The node at a path of keys and numbers.
    pub(crate) fn get<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> Option<&Self> {
        path.into_iter().try_fold(self, |node, step| match &node.kind {
            NodeKind::Table(members) => members.get(step),
            NodeKind::List(items) => items.get(step.parse::<usize>().ok()?),
            NodeKind::Scalar(_) => None,
        })
    }

    /// The node that is nearest to a path, and exists.
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

    /// Puts a value at a path of keys, and makes tables on the way.
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

    /// The values alone.
    pub(crate) fn to_value(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar(value) => value.clone(),
            NodeKind::List(items) => items.iter().map(Self::to_value).collect(),
            NodeKind::Table(members) => {
                members.iter().map(|(key, node)| (key.clone(), node.to_value())).collect()
            }
        }
    }

    /// What it is, for people.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.kind {
            NodeKind::List(_) => "a list",
            NodeKind::Table(_) => "a table",
            NodeKind::Scalar(_) => "a value",
        }
    }
}

/// Turns places of a text into lines.
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
            // Where a key stands is where people look for it: a table's own place is its header.
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

/// A path of keys and numbers as people write it: `agents[0].name`.
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
            ("a.toml", "a = 1\nb = \n", "a.toml:2: is no TOML"),
            ("a.json", "{\n\"a\": }", "a.json:2: is no JSON"),
        ] {
            let message = Node::parse(Path::new(name), text).expect_err(name).to_string();
            assert!(message.starts_with(want), "{message}");
        }
    }
}
