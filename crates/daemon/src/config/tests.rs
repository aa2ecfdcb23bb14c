//! The list of keys agrees with itself.

use serde_json::{Map, Value};

use super::key::{KeyKind, Presence, SectionSpec};
use super::*;

/// A table with whatever it must have, and one more key.
fn table_with(section: &SectionSpec, name: &str, value: Value) -> Value {
    let mut table = Map::new();
    for key in section.keys.iter().filter(|it| matches!(it.presence, Presence::Required)) {
        let value = match key.kind {
            KeyKind::Table(inner) => table_with(inner, "", Value::Null),
            _ => Node::parse_value(key.example.expect("an example")).expect("a value"),
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
fn visit_keys(
    section: &'static SectionSpec,
    wrap: Wrap<'_>,
    visitor: &mut dyn FnMut(&'static SectionSpec, &'static key::KeySpec, Wrap<'_>),
) {
    for key in section.keys {
        let nested = |value| wrap(table_with(section, key.name(), value));
        match key.kind {
            KeyKind::Value(..) => visitor(section, key, wrap),
            KeyKind::Table(inner) => visit_keys(inner, &nested, visitor),
            KeyKind::TableList(inner) => visit_keys(inner, &|it| nested(json!([it])), visitor),
            KeyKind::NamedTables(inner) => {
                visit_keys(inner, &|it| nested(json!({ "name": it })), visitor)
            }
        }
    }
}

#[test]
fn every_example_is_valid_for_its_key() {
    static ROOT_SECTION: SectionSpec = super::ROOT_SECTION;
    visit_keys(&ROOT_SECTION, &|it| it, &mut |section, key, wrap| {
        let example = key.example.unwrap_or_else(|| panic!("`{}` has no example", key.name()));
        let value = Node::parse_value(example);
        let value = value.unwrap_or_else(|| panic!("`{}`: {example} is no TOML", key.name()));
        let document = wrap(table_with(section, key.name(), value));
        let mut tree = Node::from_value(document, &Layer::Default.into());
        let mut errors = Vec::new();
        schema_check::normalize(&mut tree, &ROOT_SECTION, &mut errors);
        schema_check::fill_defaults(&mut tree, &ROOT_SECTION);
        assert!(errors.is_empty(), "`{}`: {errors:?}", key.name());
        if let Err(diagnostic) = deserialize(&tree) {
            panic!("`{}`: {diagnostic}", key.name());
        }
    });
}

#[test]
fn every_default_parses() {
    static ROOT_SECTION: SectionSpec = super::ROOT_SECTION;
    visit_keys(&ROOT_SECTION, &|it| it, &mut |_, key, _| {
        if let Presence::Default(text) = key.presence {
            assert!(Node::parse_value(text).is_some(), "`{}`: {text}", key.name());
        }
    });
}
