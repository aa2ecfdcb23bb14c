//! Declarations of keys: name, type, default, description and example.
//!
//! A table of keys is declared once, with `section!`. The declaration yields
//!
//! | from a section | used for |
//! | --- | --- |
//! | a struct with one field per key | the configuration that the daemon runs with |
//! | `ConfigValue::read` | reading it; every error names its line |
//! | `Resolve` | paths, environment variables and checks of its values |
//! | `PartialEq` | comparing two configurations |
//! | [`SectionSpec`] | unknown keys, defaults, `latimer config show` and `docs/reference/config.md` |
//!
//! Two kinds of fields have no table of their own: `flat` adds the keys of another section to the
//! table, and `kind` adds the keys of the section that its value selects.
//!
//! # Adding a key
//!
//! A new key of remote agents takes two edits:
//!
//! 1. Declare it in the section `Upstream` (`raw/upstream.rs`) with type, default, description and
//!    example.
//! 2. Use its field in `configure_client` (`src/remote.rs`).
//!
//! `[[agents]]` with `kind = "a2a"`, `[[a2a.external_agents]]` and `[a2a.remote_agents]` then
//! accept the key, and other kinds of agents reject it. A test compares `docs/reference/config.md`
//! with the declared keys; running it with `UPDATE_REFERENCE=1` writes the file. A key of another
//! kind of agent is declared in the section of that kind.

use std::collections::BTreeMap;
use std::time::Duration;

use super::tree::{Node, NodeKind};

/// Name of the key that selects the kind of a table.
pub(crate) const KIND_KEY: &str = "kind";

/// Keys of one configuration table.
#[derive(Debug)]
pub(crate) struct SectionSpec {
    pub(crate) entries: &'static [Entry],
}

/// Part of a section.
#[derive(Debug)]
pub(crate) enum Entry {
    /// One key.
    Key(KeySpec),
    /// The keys of another section, which are in the same table.
    Flat(&'static SectionSpec, &'static [KeyOverride]),
    /// The key `kind` and the sections that it selects from, whose keys are in the same table.
    Kind(KeySpec, &'static [KindSpec]),
}

/// One key of a section.
#[derive(Debug)]
pub(crate) struct KeySpec {
    /// Name of the field.
    pub(crate) rust_name: &'static str,
    /// Other accepted names.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) description: &'static [&'static str],
    pub(crate) kind: KeyKind,
    pub(crate) presence: Presence,
    pub(crate) example: &'static str,
}

/// Changes to a key at one use of its section.
#[derive(Debug)]
pub(crate) struct KeyOverride {
    /// Name of the field.
    pub(crate) rust_name: &'static str,
    /// Name of the key.
    pub(crate) name: &'static str,
    /// Other accepted names.
    pub(crate) aliases: &'static [&'static str],
    /// Default in TOML, and an example.
    pub(crate) default: Option<(&'static str, &'static str)>,
    /// Unit of a plain number, for a duration.
    pub(crate) number_unit: Duration,
}

/// One value of the key `kind`, and the keys that it adds to the table.
#[derive(Debug)]
pub(crate) struct KindSpec {
    pub(crate) name: &'static str,
    pub(crate) description: &'static [&'static str],
    pub(crate) section: &'static SectionSpec,
}

/// Kind of value that a key has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyKind {
    /// A value, with the name of its type.
    Value(&'static str, ValueKind),
    /// A table.
    Table(&'static SectionSpec),
    /// A list of tables.
    TableList(&'static SectionSpec),
    /// Tables by name.
    NamedTables(&'static SectionSpec),
}

/// Kind of value. Determines how an environment variable is parsed, and whether the value is
/// displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// A string, taken literally.
    Text,
    /// A secret string, taken literally and never displayed.
    Secret,
    /// A table or list of secrets, never displayed.
    Secrets,
    /// A number, a boolean, a list, or a string with a syntax.
    Other,
}

/// Meaning of an absent key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Presence {
    /// The key has this default value, in TOML.
    Default(&'static str),
    /// The server behaves as described here.
    Optional(&'static str),
    /// It is an error.
    Required,
    /// The key is a table with the defaults of its keys.
    Section,
}

/// A key at one use of its section: its declaration and the changes to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) spec: &'static KeySpec,
    overrides: Option<&'static KeyOverride>,
}

impl SectionSpec {
    /// Returns the keys that do not depend on the kind of the table, in declaration order.
    pub(crate) fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        self.collect_keys(&[], &mut keys);
        keys
    }

    fn collect_keys(&self, overrides: &'static [KeyOverride], keys: &mut Vec<Key>) {
        for entry in self.entries {
            match entry {
                Entry::Key(spec) | Entry::Kind(spec, _) => {
                    let overrides = overrides.iter().find(|it| it.rust_name == spec.rust_name);
                    keys.push(Key { spec, overrides });
                }
                Entry::Flat(section, overrides) => section.collect_keys(overrides, keys),
            }
        }
    }

    /// Returns the kinds that the key `kind` selects from; empty if the section has no such key.
    pub(crate) fn kinds(&self) -> &'static [KindSpec] {
        let kinds = self.entries.iter().find_map(|it| match it {
            Entry::Kind(_, kinds) => Some(*kinds),
            Entry::Key(_) | Entry::Flat(..) => None,
        });
        kinds.unwrap_or_default()
    }

    /// Returns the kind that a table selects; `None` if it is missing or unknown.
    pub(crate) fn kind_of(&self, members: &BTreeMap<String, Node>) -> Option<&'static KindSpec> {
        let mut nodes = members.iter().filter(|(name, _)| to_snake_case(name) == KIND_KEY);
        let NodeKind::Scalar(value) = &nodes.next()?.1.kind else { return None };
        let name = value.as_str()?;
        self.kinds().iter().find(|it| it.name == name)
    }

    /// Returns the keys of a table, including those of its kind.
    pub(crate) fn keys_of(&self, members: &BTreeMap<String, Node>) -> Vec<Key> {
        let mut keys = self.keys();
        keys.extend(self.kind_of(members).iter().flat_map(|it| it.section.keys()));
        keys
    }

    /// Returns the key with a name or an alias, among the keys that do not depend on the kind.
    pub(crate) fn find_key(&self, name: &str) -> Option<Key> {
        find_key(&self.keys(), name)
    }
}

/// Returns the key with a name or an alias, in snake case or camel case.
pub(crate) fn find_key(keys: &[Key], name: &str) -> Option<Key> {
    let name = to_snake_case(name);
    keys.iter().find(|key| key.name() == name || key.aliases().any(|it| it == name)).copied()
}

impl Key {
    /// Returns the name of the key at this use.
    pub(crate) fn name(&self) -> &'static str {
        match self.overrides {
            Some(overrides) => overrides.name,
            None => self.spec.rust_name.trim_start_matches("r#"),
        }
    }

    /// Returns the other accepted names.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = &'static str> {
        let overrides = self.overrides.map(|it| it.aliases).unwrap_or_default();
        self.spec.aliases.iter().chain(overrides).copied()
    }

    /// Returns the meaning of an absent key.
    pub(crate) fn presence(&self) -> Presence {
        match self.overrides.and_then(|it| it.default) {
            Some((default, _)) => Presence::Default(default),
            None => self.spec.presence,
        }
    }

    /// Returns an example value in TOML; empty for a table.
    pub(crate) fn example(&self) -> &'static str {
        match self.overrides.and_then(|it| it.default) {
            Some((_, example)) => example,
            None => self.spec.example,
        }
    }

    /// Returns whether a plain number counts milliseconds instead of seconds.
    pub(crate) fn counts_milliseconds(&self) -> bool {
        self.overrides.is_some_and(|it| it.number_unit == Duration::from_millis(1))
    }
}

/// Converts `bindAddress` to `bind_address`: keys may be written in camel case.
pub(crate) fn to_snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
