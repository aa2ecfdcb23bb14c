//! Values from the environment: `LATIMER__A2A__LISTEN_PATH` is `a2a.listen_path`.

use std::sync::Arc;

use serde_json::Value;

use super::check::nearest;
use super::key::{Content, Key, Section, Shape};
use super::problem::Problem;
use super::tree::{Node, Origin, Source};

const PREFIX: &str = "LATIMER__";

/// The tree of all variables that are meant for the configuration.
pub(crate) fn read<'a>(
    variables: impl IntoIterator<Item = (&'a String, &'a String)>,
    root: &Section,
    problems: &mut Vec<Problem>,
) -> Node {
    let mut tree = Node::table(Source::Default);
    for (name, text) in variables {
        let Some(path) = name.strip_prefix(PREFIX) else { continue };
        let path: Vec<String> = path.split("__").map(str::to_ascii_lowercase).collect();
        let origin = Origin::from(Source::Environment(Arc::from(name.as_str())));
        match find(&path, root) {
            Ok((keys, key)) => {
                let node = Node::of(value(text, key), &origin);
                tree.set(keys.iter().map(|it| it.name()), node);
            }
            Err((message, hint)) => {
                let problem = Problem::new(origin, message);
                problems.push(Problem { hint, ..problem });
            }
        }
    }
    tree
}

/// The keys along a path; the last one has a value.
#[expect(clippy::type_complexity, reason = "a message and a hint, for one caller")]
fn find(
    path: &[String],
    root: &Section,
) -> Result<(Vec<&'static Key>, &'static Key), (String, Option<String>)> {
    let mut section = root;
    let mut keys = Vec::new();
    for (depth, name) in path.iter().enumerate() {
        let Some(key) = section.key(name) else {
            let near = |it: &str| format!("did you mean {}?", variable(&path[..depth], it));
            let hint = nearest(name, section).map(near);
            return Err(("there is no such key in a configuration".to_owned(), hint));
        };
        keys.push(key);
        match key.shape {
            Shape::Value(..) if depth + 1 == path.len() => return Ok((keys, key)),
            Shape::Table(inner) => section = inner,
            Shape::Value(..) => break,
            Shape::List(_) | Shape::Named(_) => {
                let message = format!("`{}` cannot be set by the environment", key.name());
                return Err((message, Some("write it to a file".to_owned())));
            }
        }
    }
    Err(("there is no such key in a configuration".to_owned(), None))
}

fn variable(sections: &[String], key: &str) -> String {
    let path: Vec<_> = sections.iter().map(String::as_str).chain([key]).collect();
    format!("{PREFIX}{}", path.join("__").to_ascii_uppercase())
}

/// Text is text; anything else is written as in TOML.
fn value(text: &str, key: &Key) -> Value {
    match key.shape {
        Shape::Value(_, Content::Text | Content::Secret) => Value::from(text),
        _ => Node::read_value(text.trim()).unwrap_or_else(|| Value::from(text)),
    }
}
