//! Values that depend on where they were written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use latimer_protocol::Secret;

use crate::config::diagnostic::Diagnostics;
use crate::config::location::Location;

/// A value whose meaning may depend on where it was written: a path, or the name of an environment
/// variable. It is also where values and sections check themselves.
///
/// The macro `section!` implements it for structs: it resolves each field where its key was written.
pub(crate) trait Resolve {
    /// Replaces what was written by what it means, and reports what is wrong with it.
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
    /// A relative path is relative to the file that has it, or else to the current directory.
    fn resolve(&mut self, at: &Location<'_>, diagnostics: &mut Diagnostics) {
        let text = self.to_string_lossy();
        if text.contains('\n') || text.starts_with('{') {
            // Most likely the key itself, so the message does not repeat it.
            let message = format!("`{}` has the contents of a file, not its path", at.path());
            let hint = "write them to a file that only its owner can read";
            return diagnostics.error(at, message, hint);
        }
        *self = at.resolve_path(self);
    }
}

/// Takes a secret from an environment variable, unless it was written down itself.
pub(super) fn resolve_secret(
    secret: &mut Option<Secret>,
    variable: Option<&str>,
    at: &Location<'_>,
    diagnostics: &mut Diagnostics,
) {
    let Some(variable) = variable.filter(|_| secret.is_none()) else { return };
    match at.environment.var(variable) {
        Some(value) => *secret = Some(Secret::new(value)),
        None => diagnostics.warning(at, format!("the variable {variable} is not set")),
    }
}
