//! Holds a tree against the keys that there are.

use std::collections::BTreeMap;

use serde_json::Value;
use strsim::damerau_levenshtein;

use super::key::{Key, Presence, Section, Shape};
use super::problem::Problem;
use super::tree::{Node, NodeKind, Origin, Source, spell};

/// Gives every key its proper name, and reports what nobody understands.
pub(crate) fn normalise(node: &mut Node, section: &Section, problems: &mut Vec<Problem>) {
    Check { path: Vec::new(), problems }.table(node, section);
}

/// Adds the defaults of everything that nobody said.
pub(crate) fn fill(node: &mut Node, section: &Section) {
    let NodeKind::Table(members) = &mut node.kind else { return };
    for key in section.keys {
        let missing = !members.contains_key(key.name());
        if let Some(value) = default(key).filter(|_| missing) {
            members.insert(key.name().to_owned(), value);
        }
        let Some(inner) = members.get_mut(key.name()) else { continue };
        match (key.shape, &mut inner.kind) {
            (Shape::Table(section), _) => fill(inner, section),
            (Shape::List(section), NodeKind::List(items)) => {
                items.iter_mut().for_each(|it| fill(it, section));
            }
            (Shape::Named(section), NodeKind::Table(members)) => {
                members.values_mut().for_each(|it| fill(it, section));
            }
            (Shape::Value(..) | Shape::List(_) | Shape::Named(_), _) => {}
        }
    }
}

/// What holds when a key is not there.
fn default(key: &Key) -> Option<Node> {
    let origin = Origin::from(Source::Default);
    match (key.presence, key.shape) {
        (Presence::Default(text), _) => Some(Node::of(Node::read_value(text)?, &origin)),
        (Presence::Section, Shape::List(_)) => Some(Node::of(Value::Array(Vec::new()), &origin)),
        (Presence::Section, _) => Some(Node::table(origin)),
        (Presence::Optional(_) | Presence::Required, _) => None,
    }
}

struct Check<'a> {
    path: Vec<String>,
    problems: &'a mut Vec<Problem>,
}

impl Check<'_> {
    fn table(&mut self, node: &mut Node, section: &Section) {
        let NodeKind::Table(members) = &mut node.kind else {
            let found = node.word();
            let message = format!("`{}` must be a table, not {found}", spell(&self.path));
            return self.problems.push(Problem::new(node.origin.clone(), message));
        };
        let mut known = BTreeMap::new();
        for (name, mut inner) in std::mem::take(members) {
            let Some(key) = section.key(&name) else {
                self.unknown(&name, inner.origin, section);
                continue;
            };
            self.within(key.name(), |check| check.value(&mut inner, key.shape));
            if known.contains_key(key.name()) {
                let message = format!("{} has `{}` twice", self.place(), key.name());
                self.problems.push(Problem::new(inner.origin, message));
                continue;
            }
            known.insert(key.name().to_owned(), inner);
        }
        for key in section.keys {
            let required = matches!(key.presence, Presence::Required);
            if required && !known.contains_key(key.name()) {
                let message = format!("{} needs `{}`", self.place(), key.name());
                self.problems.push(Problem::new(node.origin.clone(), message));
            }
        }
        *members = known;
    }

    fn value(&mut self, node: &mut Node, shape: Shape) {
        match (shape, &mut node.kind) {
            // Whether a value fits is for its type to say.
            (Shape::Value(..), _) => {}
            (Shape::Table(section), _) => self.table(node, section),
            (Shape::List(section), NodeKind::List(items)) => {
                for (number, item) in items.iter_mut().enumerate() {
                    self.within(&number.to_string(), |check| check.table(item, section));
                }
            }
            (Shape::Named(section), NodeKind::Table(members)) => {
                for (name, member) in members {
                    self.within(name, |check| check.table(member, section));
                }
            }
            (Shape::List(_), _) => {
                let name = spell(&self.path);
                let message = format!("`{name}` must be a list of tables, not {}", node.word());
                let problem = Problem::new(node.origin.clone(), message);
                self.problems.push(problem.hint(format!("write [[{name}]]")));
            }
            (Shape::Named(_), _) => {
                let name = spell(&self.path);
                let message = format!("`{name}` must be a table of tables, not {}", node.word());
                let problem = Problem::new(node.origin.clone(), message);
                self.problems.push(problem.hint(format!("write [{name}.NAME]")));
            }
        }
    }

    fn unknown(&mut self, name: &str, origin: Origin, section: &Section) {
        let message = format!("{} has no key `{name}`", self.place());
        let problem = Problem::new(origin, message);
        self.problems.push(match nearest(name, section) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem,
        });
    }

    fn place(&self) -> String {
        match self.path.is_empty() {
            true => "a configuration".to_owned(),
            false => format!("`{}`", spell(&self.path)),
        }
    }

    fn within(&mut self, step: &str, inner: impl FnOnce(&mut Self)) {
        self.path.push(step.to_owned());
        inner(self);
        self.path.pop();
    }
}

/// The key that is spelled most like this, if it is much like it.
pub(crate) fn nearest(name: &str, section: &Section) -> Option<&'static str> {
    let distance = |key: &Key| damerau_levenshtein(&name.to_lowercase(), key.name());
    let near = section.keys.iter().min_by_key(|key| distance(key))?;
    (distance(near) <= 2.max(name.len() / 3)).then(|| near.name())
}
