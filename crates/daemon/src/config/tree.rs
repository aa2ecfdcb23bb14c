//! A configuration as a tree that knows where each value comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::Problem;

/// A value, and where it comes from.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    pub(crate) origin: Origin,
}

#[derive(Clone)]
pub(crate) enum NodeKind {
    Scalar(Value),
    List(Vec<Node>),
    Table(BTreeMap<String, Node>),
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The place as such.
    pub source: Source,
    /// The line of a file.
    pub line: Option<usize>,
}

/// A place where values come from. A later one goes before an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Source {
    /// Nobody said anything.
    Default,
    /// A file.
    File(Arc<Path>),
    /// A variable of the environment.
    Environment(Arc<str>),
    /// An option of the command line.
    Flag(Arc<str>),
}

impl From<Source> for Origin {
    fn from(source: Source) -> Self {
        Self { source, line: None }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.source, self.line) {
            (Source::Default, _) => out.write_str("default"),
            (Source::File(path), None) => write!(out, "{}", path.display()),
            (Source::File(path), Some(line)) => write!(out, "{}:{line}", path.display()),
            (Source::Environment(name), _) => write!(out, "environment {name}"),
            (Source::Flag(name), _) => write!(out, "option {name}"),
        }
    }
}

impl Origin {
    /// The folder that paths are relative to: that of the file, if it is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.source {
            Source::File(path) => path.parent(),
            Source::Default | Source::Environment(_) | Source::Flag(_) => None,
        }
    }
}

impl fmt::Debug for Node {
    /// Without values: some of them are secrets.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Node({}, {})", self.word(), self.origin)
    }
}

impl Node {
    /// An empty table.
    pub(crate) fn table(origin: impl Into<Origin>) -> Self {
        Self { kind: NodeKind::Table(BTreeMap::new()), origin: origin.into() }
    }

    /// The tree of a value that comes from one place.
    pub(crate) fn of(value: Value, origin: &Origin) -> Self {
        let of = |value| Self::of(value, origin);
        let kind = match value {
            Value::Array(items) => NodeKind::List(items.into_iter().map(of).collect()),
            Value::Object(members) => {
                NodeKind::Table(members.into_iter().map(|(key, it)| (key, of(it))).collect())
            }
            scalar => NodeKind::Scalar(scalar),
        };
        Self { kind, origin: origin.clone() }
    }

    /// Reads a file: JSON if its name says so, else TOML.
    pub(crate) fn read(path: &Path, text: &str) -> Result<Self, Problem> {
        let source = Source::File(Arc::from(path));
        if path.extension().is_some_and(|it| it.eq_ignore_ascii_case("json")) {
            return match serde_json::from_str(text) {
                Ok(value) => Ok(Self::of(value, &source.into())),
                Err(error) => {
                    let origin = Origin { source, line: Some(error.line()) };
                    Err(Problem::new(origin, format!("is no JSON: {error}")))
                }
            };
        }
        let lines = Lines { source, text };
        match DeTable::parse(text) {
            Ok(table) => {
                let origin = Origin { source: lines.source.clone(), line: None };
                Ok(lines.table(table.into_inner(), origin))
            }
            Err(error) => {
                let place = error.span().map_or(0, |it| it.start);
                Err(Problem::new(lines.origin(place), format!("is no TOML: {}", error.message())))
            }
        }
    }

    /// One value of TOML, such as an element of the environment.
    pub(crate) fn read_value(text: &str) -> Option<Value> {
        let value = DeValue::parse(text).ok()?;
        let lines = Lines { source: Source::Default, text };
        Some(lines.value(value).to_value())
    }

    /// Lays another tree over this one. Tables become one; everything else is replaced.
    pub(crate) fn overlay(&mut self, over: Self) {
        match (&mut self.kind, over.kind) {
            (NodeKind::Table(under), NodeKind::Table(over)) => {
                for (key, node) in over {
                    match under.get_mut(&key) {
                        Some(known) => known.overlay(node),
                        None => {
                            under.insert(key, node);
                        }
                    }
                }
            }
            (_, kind) => *self = Self { kind, origin: over.origin },
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
    pub(crate) fn nearest<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> &Self {
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
        let mut place = self;
        for step in path {
            if !matches!(place.kind, NodeKind::Table(_)) {
                *place = Self::table(node.origin.clone());
            }
            let NodeKind::Table(members) = &mut place.kind else { return };
            let empty = || Self::table(node.origin.clone());
            place = members.entry(step.to_owned()).or_insert_with(empty);
        }
        *place = node;
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
    pub(crate) fn word(&self) -> &'static str {
        match &self.kind {
            NodeKind::List(_) => "a list",
            NodeKind::Table(_) => "a table",
            NodeKind::Scalar(_) => "a value",
        }
    }
}

/// Turns places of a text into lines.
struct Lines<'a> {
    source: Source,
    text: &'a str,
}

impl Lines<'_> {
    fn origin(&self, place: usize) -> Origin {
        let before = &self.text.as_bytes()[..place.min(self.text.len())];
        let line = before.iter().filter(|it| **it == b'\n').count() + 1;
        Origin { source: self.source.clone(), line: Some(line) }
    }

    fn table(&self, table: DeTable<'_>, origin: Origin) -> Node {
        let member = |(key, value): (Spanned<_>, Spanned<DeValue<'_>>)| {
            // Where a key stands is where people look for it: a table's own place is its header.
            let origin = self.origin(key.span().start);
            let node = Node { origin, ..self.value(value) };
            (String::from(key.into_inner()), node)
        };
        Node { kind: NodeKind::Table(table.into_iter().map(member).collect()), origin }
    }

    fn value(&self, value: Spanned<DeValue<'_>>) -> Node {
        let origin = self.origin(value.span().start);
        let scalar = match value.into_inner() {
            DeValue::Table(table) => return self.table(table, origin),
            DeValue::Array(items) => {
                let items = items.into_iter().map(|it| self.value(it)).collect();
                return Node { kind: NodeKind::List(items), origin };
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
        Node { kind: NodeKind::Scalar(scalar), origin }
    }
}

/// A path of keys and numbers as people write it: `agents[0].name`.
pub(crate) fn spell(path: &[String]) -> String {
    let mut spelled = String::new();
    for step in path {
        if step.bytes().all(|it| it.is_ascii_digit()) {
            spelled.push_str(&format!("[{step}]"));
        } else {
            if !spelled.is_empty() {
                spelled.push('.');
            }
            spelled.push_str(step);
        }
    }
    spelled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Node {
        Node::read(Path::new(name), text).expect("a readable file")
    }

    #[test]
    fn every_value_knows_its_line() {
        let tree = read(
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
            assert_eq!(node.origin.to_string(), want, "{path:?}");
        }
    }

    #[test]
    fn a_tree_that_lies_over_another_wins_key_by_key() {
        let mut tree = read("a.toml", "[a2a]\nlisten_path = \"/a\"\nenabled = false\n");
        tree.overlay(read("b.json", r#"{"a2a": {"enabled": true}, "agents": []}"#));
        let value = tree.to_value();
        assert_eq!(value["a2a"]["enabled"], true);
        assert_eq!(value["a2a"]["listen_path"], "/a");
        assert_eq!(tree.get(["a2a", "enabled"]).unwrap().origin.to_string(), "b.json");
    }

    #[test]
    fn numbers_are_read_in_every_base() {
        let tree = read("a.toml", "a = 0x10\nb = 1_000\nc = 1.5\nd = -3\n");
        assert_eq!(tree.to_value(), serde_json::json!({"a": 16, "b": 1000, "c": 1.5, "d": -3}));
    }

    #[test]
    fn what_cannot_be_read_names_its_line() {
        for (name, text, want) in [
            ("a.toml", "a = 1\nb = \n", "a.toml:2: is no TOML"),
            ("a.json", "{\n\"a\": }", "a.json:2: is no JSON"),
        ] {
            let problem = Node::read(Path::new(name), text).expect_err(name).to_string();
            assert!(problem.starts_with(want), "{problem}");
        }
    }
}
