//! What a configuration may say: every key, its type, its default and what it means.
//!
//! A section is written down once, with [`section!`]. From that come the type that is read, the
//! check for keys that do not exist, the defaults, and the reference in the documents.

use std::collections::BTreeMap;
use std::path::PathBuf;

use latimer_protocol::Secret;

/// A table of a configuration.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) keys: &'static [Key],
}

/// A key of a section.
#[derive(Debug)]
pub(crate) struct Key {
    /// Its name in Rust.
    pub(crate) raw_name: &'static str,
    /// Other names that are understood.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) about: &'static [&'static str],
    pub(crate) shape: Shape,
    pub(crate) presence: Presence,
    pub(crate) example: Option<&'static str>,
}

/// What stands behind a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A value, with its type in words.
    Value(&'static str, Content),
    /// A table.
    Table(&'static Section),
    /// Any number of tables.
    List(&'static Section),
    /// Any number of tables, each under a name.
    Named(&'static Section),
}

/// What is to be known about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
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

impl Section {
    /// The key of a name, in any of its spellings.
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        let name = snake_case(name);
        self.keys.iter().find(|key| key.name() == name || key.aliases.contains(&&*name))
    }
}

impl Key {
    /// Its name, as it should be written.
    pub(crate) fn name(&self) -> &'static str {
        self.raw_name.trim_start_matches("r#")
    }
}

/// `bind_address` of `bindAddress`: configurations in JSON are written like that.
fn snake_case(name: &str) -> String {
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
pub(crate) trait Described {
    /// What it looks like in a configuration.
    const SHAPE: Shape;
}

/// A type that is a table.
pub(crate) trait Table {
    /// Its keys.
    const SECTION: Section;
}

impl<T: Table> Described for T {
    const SHAPE: Shape = Shape::Table(&T::SECTION);
}

impl<T: Table> Described for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SECTION);
}

impl<T: Table> Described for BTreeMap<String, T> {
    const SHAPE: Shape = Shape::Named(&T::SECTION);
}

/// Says what values of a type look like in a configuration.
macro_rules! described {
    ($($type:ty: $content:ident $words:literal;)+) => {$(
        impl crate::config::key::Described for $type {
            const SHAPE: crate::config::key::Shape = crate::config::key::Shape::Value(
                $words,
                crate::config::key::Content::$content,
            );
        }
    )+};
}

described! {
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
        $(#[doc = $about:literal])+
        $section:ident {
            $(
                $(#[doc = $doc:literal])+
                $key:ident $(| $alias:ident)*: $type:ty,
                $presence:ident $(($text:literal))? $(=> $example:literal)?;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $section {
            $($(#[doc = $doc])+ pub(crate) $key: section!(@type $presence $type),)+
        }

        impl crate::config::key::Table for $section {
            const SECTION: crate::config::key::Section = crate::config::key::Section {
                keys: &[$(crate::config::key::Key {
                    aliases: &[$(stringify!($alias)),*],
                    about: &[$($doc),+],
                    example: section!(@example $($example)?),
                    raw_name: stringify!($key),
                    shape: <$type as crate::config::key::Described>::SHAPE,
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
    ($(#[doc = $about:literal])+ $choice:ident: $words:literal { $($(#[doc = $doc:literal])+ $variant:ident,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum $choice { $($(#[doc = $doc])+ $variant,)+ }

        crate::config::key::described! { $choice: Other $words; }
    };
}

pub(crate) use {choice, described, section};
