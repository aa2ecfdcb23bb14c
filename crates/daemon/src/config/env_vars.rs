//! Values of environment variables: `LATIMER__A2A__LISTEN_PATH` sets `a2a.listen_path`.

use std::sync::Arc;

use serde_json::Value;

use super::diagnostic::Diagnostic;
use super::key::{Key, KeyKind, SectionSpec, ValueKind};
use super::schema_check::suggest_key;
use super::tree::{Layer, Node, Provenance};

const PREFIX: &str = "LATIMER__";

/// Returns the tree of all environment variables that set a key.
pub(crate) fn read<'a>(
    vars: impl IntoIterator<Item = (&'a String, &'a String)>,
    root: &SectionSpec,
    errors: &mut Vec<Diagnostic>,
) -> Node {
    let mut tree = Node::empty_table(Layer::Default);
    for (name, text) in vars {
        let Some(path) = name.strip_prefix(PREFIX) else { continue };
        let path: Vec<String> = path.split("__").map(str::to_ascii_lowercase).collect();
        let provenance = Provenance::from(Layer::Environment(Arc::from(name.as_str())));
        match find_path(&path, root) {
            Ok((keys, key)) => {
                let node = Node::from_value(parse_env_value(text, &key), &provenance);
                tree.set(keys.iter().map(|it| it.name()), node);
            }
            Err((message, hint)) => {
                let diagnostic = Diagnostic::new(provenance, message);
                errors.push(Diagnostic { hint, ..diagnostic });
            }
        }
    }
    tree
}

/// Returns the keys along a path; the last one has a value.
fn find_path(
    path: &[String],
    root: &SectionSpec,
) -> Result<(Vec<Key>, Key), (String, Option<String>)> {
    let mut section = root;
    let mut keys = Vec::new();
    for (depth, name) in path.iter().enumerate() {
        let Some(key) = section.find_key(name) else {
            let suggest = |it: &str| format!("did you mean {}?", variable_name(&path[..depth], it));
            let hint = suggest_key(name, &section.keys()).map(suggest);
            return Err(("unknown key".to_owned(), hint));
        };
        keys.push(key);
        match key.spec.kind {
            KeyKind::Value(..) if depth + 1 == path.len() => return Ok((keys, key)),
            KeyKind::Table(inner) => section = inner,
            KeyKind::Value(..) => break,
            KeyKind::TableList(_) | KeyKind::NamedTables(_) => {
                let message = format!("`{}` cannot be set by an environment variable", key.name());
                return Err((message, Some("set it in a configuration file".to_owned())));
            }
        }
    }
    Err(("unknown key".to_owned(), None))
}

fn variable_name(sections: &[String], key: &str) -> String {
    let path: Vec<_> = sections.iter().map(String::as_str).chain([key]).collect();
    format!("{PREFIX}{}", path.join("__").to_ascii_uppercase())
}

/// Parses the value of a variable: a string is taken literally, other values are TOML.
fn parse_env_value(text: &str, key: &Key) -> Value {
    match key.spec.kind {
        KeyKind::Value(_, ValueKind::Text | ValueKind::Secret) => Value::from(text),
        _ => Node::parse_value(text.trim()).unwrap_or_else(|| Value::from(text)),
    }
}
