//! Reads sections and values from the tree. Errors name the source of the value.

use std::collections::BTreeMap;
use std::path::PathBuf;

use latimer_protocol::{Secret, Version};
use serde::de::DeserializeOwned;

use super::diagnostic::{Diagnostic, Diagnostics};
use super::key::{KeyKind, SectionSpec, ValueKind};
use super::location::Location;
use super::resolve::Resolve;
use super::section::{plain_value, value};

/// Type of a configuration value.
pub(crate) trait ConfigValue: Sized {
    /// Kind of the value, for the schema check and the reference.
    const KIND: KeyKind;

    /// Reads the value. Reports an error and returns `None` if it is invalid.
    fn read(at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self>;
}

/// Type of a configuration table with declared keys.
pub(crate) trait ConfigSection: ConfigValue {
    /// Keys of the table.
    const SECTION: SectionSpec;
}

impl<T: ConfigSection> ConfigSection for Box<T> {
    const SECTION: SectionSpec = T::SECTION;
}

impl<T: ConfigSection> ConfigValue for Box<T> {
    const KIND: KeyKind = T::KIND;

    fn read(at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        T::read(at, diagnostics).map(Self::new)
    }
}

impl<T: ConfigValue> ConfigValue for Option<T> {
    const KIND: KeyKind = T::KIND;

    fn read(at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        match at.node {
            Some(_) => T::read(at, diagnostics).map(Some),
            None => Some(None),
        }
    }
}

impl<T: ConfigSection> ConfigValue for Vec<T> {
    const KIND: KeyKind = KeyKind::TableList(&T::SECTION);

    fn read(at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        let read: Vec<_> = at.members().iter().map(|(_, it)| T::read(it, diagnostics)).collect();
        read.into_iter().collect()
    }
}

impl<T: ConfigSection> ConfigValue for BTreeMap<String, T> {
    const KIND: KeyKind = KeyKind::NamedTables(&T::SECTION);

    fn read(at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        let read = |(name, it): (String, Location<'_>)| (name, T::read(&it, diagnostics));
        let read: Vec<_> = at.members().into_iter().map(read).collect();
        read.into_iter().map(|(name, it)| Some((name, it?))).collect()
    }
}

plain_value! {
    bool: Other "boolean";
    String: Text "string";
    u16: Other "integer";
    u32: Other "integer";
    u64: Other "integer";
    Secret: Secret "string, secret";
}

value! {
    PathBuf: Text "path";
    Vec<String>: Other "list of strings";
    Vec<PathBuf>: Other "list of paths";
    BTreeMap<String, Secret>: Secrets "table of strings, secret";
}

impl ConfigValue for Version {
    const KIND: KeyKind = KeyKind::Value("string", ValueKind::Text);

    fn read(at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        let text = String::read(at, diagnostics)?;
        let version = text.parse().ok();
        if version.is_none() {
            let supported = Self::ALL.map(Self::as_str).join(", ");
            let message = format!("`{}`: {text:?} is not an A2A version", at.path());
            diagnostics.error(at, message, format!("supported versions: {supported}"));
        }
        version
    }
}

impl Resolve for Version {}

/// Reads a value with serde. An error names the line of the invalid part and contains no secret.
pub(crate) fn read_value<T: DeserializeOwned>(
    at: &Location<'_>,
    kind: KeyKind,
    diagnostics: &mut Diagnostics,
) -> Option<T> {
    let Some(node) = at.node else {
        diagnostics
            .push(Diagnostic::new(at.provenance.clone(), format!("`{}` is missing", at.path())));
        return None;
    };
    let error = match serde_path_to_error::deserialize(node.to_value()) {
        Ok(value) => return Some(value),
        Err(error) => error,
    };
    let steps = error.path().iter().map(|it| it.to_string().trim_matches(['[', ']']).to_owned());
    let steps: Vec<String> = steps.filter(|it| it != ".").collect();
    let provenance = node.deepest_existing(steps.iter().map(String::as_str)).provenance.clone();
    let detail = match kind {
        KeyKind::Value(_, ValueKind::Secret | ValueKind::Secrets) => "must be a string".to_owned(),
        _ => error.inner().to_string(),
    };
    let message = format!("`{}`: {detail}", at.inner_path(&steps));
    diagnostics.push(Diagnostic::new(provenance, message));
    None
}
