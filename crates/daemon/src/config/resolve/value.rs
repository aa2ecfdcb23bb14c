//! Resolution of single values: relative paths, environment variables and checks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use latimer_protocol::Secret;

use crate::config::diagnostic::Diagnostics;
use crate::config::location::Location;

/// A value that is resolved after it was read. A relative path depends on the file that contains it,
/// a secret may be in an environment variable, and some values need a check. The default does
/// nothing.
///
/// The macro `section!` implements it for structs: it resolves each field at the location of its
/// key.
pub(crate) trait Resolve {
    /// Replaces the written value by the effective value, and reports errors.
    fn resolve(&mut self, _at: &Location<'_>, _diagnostics: &mut Diagnostics) {}
}

impl<T: Resolve> Resolve for Option<T> {
    fn resolve(&mut self, at: &Location<'_>, diagnostics: &mut Diagnostics) {
        if let Some(value) = self {
            value.resolve(at, diagnostics);
        }
    }
}

impl<T: Resolve> Resolve for Box<T> {
    fn resolve(&mut self, at: &Location<'_>, diagnostics: &mut Diagnostics) {
        T::resolve(self, at, diagnostics);
    }
}

impl<T: Resolve> Resolve for Vec<T> {
    fn resolve(&mut self, at: &Location<'_>, diagnostics: &mut Diagnostics) {
        for (index, value) in self.iter_mut().enumerate() {
            value.resolve(&at.member(&index.to_string()), diagnostics);
        }
    }
}

impl<T: Resolve> Resolve for BTreeMap<String, T> {
    fn resolve(&mut self, at: &Location<'_>, diagnostics: &mut Diagnostics) {
        for (name, value) in self {
            value.resolve(&at.member(name), diagnostics);
        }
    }
}

impl Resolve for PathBuf {
    /// Resolves a relative path against the directory of its file, or against the current directory
    /// if it is not from a file.
    fn resolve(&mut self, at: &Location<'_>, diagnostics: &mut Diagnostics) {
        let text = self.to_string_lossy();
        if text.contains('\n') || text.starts_with('{') {
            // The value is probably a private key, so the message does not contain it.
            let message =
                format!("`{}` contains the text of a file instead of its path", at.path());
            let hint = "write the text to a file that only its owner can read, and set its path";
            return diagnostics.error(at, message, hint);
        }
        *self = at.resolve_path(self);
    }
}

/// Sets a secret from an environment variable, unless the configuration contains the secret itself.
/// Warns if the variable is not set.
pub(super) fn resolve_secret(
    secret: &mut Option<Secret>,
    variable: Option<&str>,
    at: &Location<'_>,
    diagnostics: &mut Diagnostics,
) {
    let Some(variable) = variable.filter(|_| secret.is_none()) else { return };
    match at.environment.var(variable) {
        Some(value) => *secret = Some(Secret::new(value)),
        None => diagnostics.warning(at, format!("environment variable {variable} is not set")),
    }
}
