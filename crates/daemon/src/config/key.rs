//! What a configuration may say: every key, its type, its default and what it means.
//!
//! A section is written down once, with [`section!`]. From that come the type that is read, the
//! check for keys that do not exist, the defaults, and the reference in the documents.

use std::collections::BTreeMap;
use std::path::PathBuf;

use latimer_protocol::Secret;

/// A table of a configuration.
#[derive(Debug)]
pub(crate) struct SectionSpec {
    pub(crate) keys: &'static [KeySpec],
}

/// A key of a section.
#[derive(Debug)]
pub(crate) struct KeySpec {
    /// Its name in Rust.
    pub(crate) rust_name: &'static str,
    /// Other names that are understood.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) description: &'static [&'static str],
    pub(crate) kind: KeyKind,
    pub(crate) presence: Presence,
    pub(crate) example: Option<&'static str>,
}

/// What stands behind a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyKind {
    /// A value, with its type in words.
    Value(&'static str, ValueKind),
    /// A table.
    Table(&'static SectionSpec),
    /// Any number of tables.
    TableList(&'static SectionSpec),
    /// Any number of tables, each under a name.
    NamedTables(&'static SectionSpec),
}

/// What is to be known about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// A text, as it is.
    Text,
    /// A text that nobody should see.
    Secret,
    /// Texts of which nobody should see the contents.
    Secrets,
    /// A number, a list and so on; or a text with a form.
    Other,
}

/// Whether a key must be there, and what holds when it is not.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Presence {
    /// Then this holds, in TOML.
    Default(&'static str),
    /// Then something else decides, in words.
    Optional(&'static str),
    /// It must.
    Required,
    /// Then its own keys have their defaults.
    Section,
}

impl SectionSpec {
    /// The key of a name, in any of its spellings.
    pub(crate) fn find_key(&self, name: &str) -> Option<&'static KeySpec> {
        let name = to_snake_case(name);
        self.keys.iter().find(|key| key.name() == name || key.aliases.contains(&&*name))
    }
}

impl KeySpec {
    /// Its name, as it should be written.
    pub(crate) fn name(&self) -> &'static str {
        self.rust_name.trim_start_matches("r#")
    }
}

/// `bind_address` of `bindAddress`: configurations in JSON are written like that.
fn to_snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// A type that can stand behind a key.
pub(crate) trait ConfigValue {
    /// What it looks like in a configuration.
    const KIND: KeyKind;
}

/// A type that is a table.
pub(crate) trait ConfigSection {
    /// Its keys.
    const SECTION: SectionSpec;
}

impl<T: ConfigSection> ConfigValue for T {
    const KIND: KeyKind = KeyKind::Table(&T::SECTION);
}

impl<T: ConfigSection> ConfigValue for Vec<T> {
    const KIND: KeyKind = KeyKind::TableList(&T::SECTION);
}

impl<T: ConfigSection> ConfigValue for BTreeMap<String, T> {
    const KIND: KeyKind = KeyKind::NamedTables(&T::SECTION);
}

/// Says what values of a type look like in a configuration.
macro_rules! config_value {
    ($($type:ty: $value_kind:ident $type_name:literal;)+) => {$(
        impl crate::config::key::ConfigValue for $type {
            const KIND: crate::config::key::KeyKind = crate::config::key::KeyKind::Value(
                $type_name,
                crate::config::key::ValueKind::$value_kind,
            );
        }
    )+};
}

config_value! {
    bool: Other "boolean";
    String: Text "string";
    u16: Other "integer";
    u32: Other "integer";
    u64: Other "integer";
    PathBuf: Text "path";
    Secret: Secret "string, secret";
    Vec<String>: Other "list of strings";
    BTreeMap<String, Secret>: Secrets "table of strings, secret";
}

/// Writes a section down: a struct that is read, and its keys.
macro_rules! section {
    (
        $(#[doc = $description:literal])+
        $section:ident {
            $(
                $(#[doc = $doc:literal])+
                $key:ident $(| $alias:ident)*: $type:ty,
                $presence:ident $(($text:literal))? $(=> $example:literal)?;
            )+
        }
    ) => {
        $(#[doc = $description])+
        #[derive(Clone, Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $section {
            $($(#[doc = $doc])+ pub(crate) $key: section!(@type $presence $type),)+
        }

        impl crate::config::key::ConfigSection for $section {
            const SECTION: crate::config::key::SectionSpec = crate::config::key::SectionSpec {
                keys: &[$(crate::config::key::KeySpec {
                    aliases: &[$(stringify!($alias)),*],
                    description: &[$($doc),+],
                    example: section!(@example $($example)?),
                    rust_name: stringify!($key),
                    kind: <$type as crate::config::key::ConfigValue>::KIND,
                    presence: section!(@presence $presence $($text)?),
                }),+],
            };
        }
    };
    (@type optional $type:ty) => { Option<$type> };
    (@type $presence:ident $type:ty) => { $type };
    (@example) => { None };
    (@example $example:literal) => { Some($example) };
    (@presence default $text:literal) => { crate::config::key::Presence::Default($text) };
    (@presence optional $text:literal) => { crate::config::key::Presence::Optional($text) };
    (@presence required) => { crate::config::key::Presence::Required };
    (@presence section) => { crate::config::key::Presence::Section };
}

/// Writes a choice between words down.
macro_rules! choice {
    ($(#[doc = $description:literal])+ $choice:ident: $type_name:literal { $($(#[doc = $doc:literal])+ $variant:ident,)+ }) => {
        $(#[doc = $description])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum $choice { $($(#[doc = $doc])+ $variant,)+ }

        crate::config::key::config_value! { $choice: Other $type_name; }
    };
}

pub(crate) use {choice, config_value, section};
