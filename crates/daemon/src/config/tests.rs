//! The list of keys agrees with itself.

use serde_json::{Map, Value};

use super::key::{Presence, Section, Shape};
use super::*;

/// A table with whatever it must have, and one more key.
fn table_with(section: &Section, name: &str, value: Value) -> Value {
    let mut table = Map::new();
    for key in section.keys.iter().filter(|it| matches!(it.presence, Presence::Required)) {
        let value = match key.shape {
            Shape::Table(inner) => table_with(inner, "", Value::Null),
            _ => Node::read_value(key.example.expect("an example")).expect("a value"),
        };
        table.insert(key.name().to_owned(), value);
    }
    if !name.is_empty() {
        table.insert(name.to_owned(), value);
    }
    Value::Object(table)
}

/// Puts a table of a section into a whole configuration.
type Wrap<'a> = &'a dyn Fn(Value) -> Value;

/// Visits every key with a value.
fn visit(
    section: &'static Section,
    wrap: Wrap<'_>,
    seen: &mut dyn FnMut(&'static Section, &'static key::Key, Wrap<'_>),
) {
    for key in section.keys {
        let inside = |value| wrap(table_with(section, key.name(), value));
        match key.shape {
            Shape::Value(..) => seen(section, key, wrap),
            Shape::Table(inner) => visit(inner, &inside, seen),
            Shape::List(inner) => visit(inner, &|it| inside(json!([it])), seen),
            Shape::Named(inner) => visit(inner, &|it| inside(json!({ "name": it })), seen),
        }
    }
}

#[test]
fn every_example_is_a_value_of_its_key() {
    static ROOT: Section = super::ROOT;
    visit(&ROOT, &|it| it, &mut |section, key, wrap| {
        let example = key.example.unwrap_or_else(|| panic!("`{}` has no example", key.name()));
        let value = Node::read_value(example);
        let value = value.unwrap_or_else(|| panic!("`{}`: {example} is no TOML", key.name()));
        let document = wrap(table_with(section, key.name(), value));
        let mut tree = Node::of(document, &Source::Default.into());
        let mut problems = Vec::new();
        check::normalise(&mut tree, &ROOT, &mut problems);
        check::fill(&mut tree, &ROOT);
        assert!(problems.is_empty(), "`{}`: {problems:?}", key.name());
        if let Err(problem) = deserialise(&tree) {
            panic!("`{}`: {problem}", key.name());
        }
    });
}

#[test]
fn every_default_is_a_value() {
    static ROOT: Section = super::ROOT;
    visit(&ROOT, &|it| it, &mut |_, key, _| {
        if let Presence::Default(text) = key.presence {
            assert!(Node::read_value(text).is_some(), "`{}`: {text}", key.name());
        }
    });
}
