//! Consistency of the declared keys.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::key::{KIND_KEY, Key, KeyKind, KindSpec, Presence};
use super::*;

/// Minimum number of keys per table and kind of agent. No released key may be lost.
const MIN_KEYS: &[(&str, usize)] = &[
    ("", 7),
    ("a2a", 7),
    ("a2a.server", 3),
    ("a2a.external_agents", 20),
    ("a2a.external_agents.oauth", 5),
    ("a2a.remote_agents", 20),
    ("a2a.remote_agents.oauth", 5),
    ("agents", 12),
    ("agents.skills", 5),
    ("agents.allow", 2),
    ("agents command", 9),
    ("agents demo", 2),
    ("agents a2a", 20),
    ("agents.oauth", 5),
    ("agents mcp", 1),
    ("agents model", 3),
    ("auth.keys", 3),
    ("auth.jwt", 8),
    ("tls", 6),
    ("store", 7),
    ("limits", 17),
    ("push", 11),
    ("log", 2),
    ("server", 8),
    ("signing", 2),
    ("mcp_servers", 4),
    ("mcp_servers.transport", 4),
];

/// A key, and a configuration with a value for it and the required keys of its tables.
struct Sample<'a> {
    /// Path of the table that contains the key, with the kind of the table.
    table: String,
    key: &'a Key,
    document: &'a dyn Fn(Value) -> Value,
}

/// Visits every key with a value, in every table that accepts it.
fn visit_keys(visitor: &mut dyn FnMut(Sample<'_>)) {
    visit_section(&ROOT_SECTION, "", &|it| it, visitor);
}

fn visit_section(
    section: &'static SectionSpec,
    path: &str,
    wrap: &dyn Fn(Value) -> Value,
    visitor: &mut dyn FnMut(Sample<'_>),
) {
    for key in section.keys() {
        visit_key(section, None, &key, path, wrap, visitor);
    }
    for kind in section.kinds() {
        for key in kind.section.keys() {
            visit_key(section, Some(kind), &key, path, wrap, visitor);
        }
    }
}

fn visit_key(
    section: &'static SectionSpec,
    kind: Option<&KindSpec>,
    key: &Key,
    path: &str,
    wrap: &dyn Fn(Value) -> Value,
    visitor: &mut dyn FnMut(Sample<'_>),
) {
    let document = |value| wrap(table_with(section, kind, key.name(), value));
    let inner_path = match path {
        "" => key.name().to_owned(),
        path => format!("{path}.{}", key.name()),
    };
    match key.spec.kind {
        KeyKind::Value(..) => {
            let table = kind.map_or(path.to_owned(), |it| format!("{path} {}", it.name));
            visitor(Sample { table, key, document: &document });
        }
        KeyKind::Table(inner) => visit_section(inner, &inner_path, &document, visitor),
        KeyKind::TableList(inner) => {
            visit_section(inner, &inner_path, &|it| document(json!([it])), visitor);
        }
        KeyKind::NamedTables(inner) => {
            visit_section(inner, &inner_path, &|it| document(json!({ "name": it })), visitor);
        }
    }
}

/// Returns a table with a key and all required keys, of `kind` or of the first kind.
fn table_with(
    section: &'static SectionSpec,
    kind: Option<&KindSpec>,
    name: &str,
    value: Value,
) -> Value {
    let kind = kind.or(section.kinds().first());
    let mut keys = section.keys();
    keys.extend(kind.iter().flat_map(|it| it.section.keys()));
    let mut table = Map::new();
    for key in keys.iter().filter(|it| matches!(it.presence(), Presence::Required)) {
        let value = match (key.spec.kind, kind) {
            (_, Some(kind)) if key.name() == KIND_KEY => Value::from(kind.name),
            (KeyKind::Table(inner), _) => table_with(inner, None, "", Value::Null),
            _ => Node::parse_value(key.example()).expect("a value"),
        };
        table.insert(key.name().to_owned(), value);
    }
    if !name.is_empty() && name != KIND_KEY {
        table.insert(name.to_owned(), value);
    }
    Value::Object(table)
}

/// Returns the errors of a configuration before its values are resolved.
fn read_errors(document: Value) -> Vec<Diagnostic> {
    let mut tree = Node::from_value(document, &Layer::Default.into());
    let mut diagnostics = Diagnostics::default();
    schema_check::normalize(&mut tree, &ROOT_SECTION, &mut diagnostics.errors);
    schema_check::fill_defaults(&mut tree, &ROOT_SECTION);
    let environment = Environment::default();
    raw::Root::read(&Location::root(&tree, &environment), &mut diagnostics);
    diagnostics.errors
}

#[test]
fn every_example_is_valid_for_its_key() {
    visit_keys(&mut |Sample { table, key, document }| {
        let (name, example) = (key.name(), key.example());
        let value = Node::parse_value(example);
        let value = value.unwrap_or_else(|| panic!("{table}: `{name}`: {example:?} is not TOML"));
        let errors = read_errors(document(value));
        assert!(errors.is_empty(), "{table}: `{name}`: {errors:?}");
    });
}

#[test]
fn every_default_parses() {
    visit_keys(&mut |Sample { table, key, .. }| {
        if let Presence::Default(text) = key.presence() {
            assert!(Node::parse_value(text).is_some(), "{table}: `{}`: {text}", key.name());
        }
    });
}

#[test]
fn every_table_has_its_released_keys() {
    let mut names = Vec::new();
    visit_keys(&mut |Sample { table, key, .. }| names.push((table, key.name())));
    let count = |table: &str| names.iter().filter(|(it, _)| it == table).count();
    for (table, min) in MIN_KEYS {
        assert!(count(table) >= *min, "[{table}] had {min} keys and has {}", count(table));
    }
    let reference = reference();
    let rows = reference.lines().filter(|it| it.starts_with("| `")).count();
    assert_eq!(rows, names.len(), "rows of the reference and declared keys differ");
}

#[test]
fn upstream_keys_are_accepted_at_every_use() {
    let names = |table: &str| {
        let mut names = BTreeSet::new();
        visit_keys(&mut |sample| {
            if sample.table == table {
                names.insert(sample.key.spec.rust_name);
            }
        });
        names
    };
    let declared: BTreeSet<_> =
        raw::Upstream::SECTION.keys().iter().map(|it| it.spec.rust_name).collect();
    for table in ["agents a2a", "a2a.external_agents", "a2a.remote_agents"] {
        assert_eq!(declared.difference(&names(table)).next(), Some(&"oauth"), "{table}");
        assert_eq!(declared.difference(&names(table)).count(), 1, "{table}");
    }
}

#[test]
fn keys_of_another_kind_are_rejected() {
    for kind in raw::AgentConfig::SECTION.kinds() {
        for other in raw::AgentConfig::SECTION.kinds() {
            for key in other.section.keys() {
                if kind.section.find_key(key.name()).is_some() {
                    continue;
                }
                let mut agent = table_with(&AGENT_SECTION, Some(kind), "", Value::Null);
                agent[key.name()] = Value::Null;
                let errors = read_errors(json!({ "agents": [agent] }));
                let want = format!("belongs to `kind = \"{}\"`", other.name);
                let [error] = &errors[..] else { panic!("{}: {errors:?}", key.name()) };
                let kinds = error.message.replace("or `", "belongs to `");
                assert!(kinds.contains(&want), "{error}");
            }
        }
    }
}

static AGENT_SECTION: SectionSpec = raw::AgentConfig::SECTION;
