//! Location of a configuration value: its node, its path and its source.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Environment;
use super::key::KeyOverride;
use super::tree::{Node, NodeKind, Provenance, format_path};

/// Location of a value, with the environment that it may refer to.
#[derive(Clone, Debug)]
pub(crate) struct Location<'a> {
    /// Node of the value; `None` if the key is absent.
    pub(crate) node: Option<&'a Node>,
    /// Source of the value, or of the table that lacks it.
    pub(crate) provenance: &'a Provenance,
    pub(crate) environment: &'a Environment,
    /// Unit of a plain number, for a duration.
    pub(crate) number_unit: Duration,
    path: Vec<String>,
    overrides: &'static [KeyOverride],
}

impl<'a> Location<'a> {
    /// Returns the location of a whole configuration.
    pub(crate) fn root(tree: &'a Node, environment: &'a Environment) -> Self {
        Self {
            node: Some(tree),
            provenance: &tree.provenance,
            environment,
            number_unit: Duration::from_secs(1),
            path: Vec::new(),
            overrides: &[],
        }
    }

    /// Returns the location of a key of this table, by the name of its field.
    pub(crate) fn key(&self, rust_name: &str) -> Self {
        match self.overrides.iter().find(|it| it.rust_name == rust_name) {
            Some(overrides) => {
                Self { number_unit: overrides.number_unit, ..self.member(overrides.name) }
            }
            None => self.member(rust_name.trim_start_matches("r#")),
        }
    }

    /// Returns the location of a member of this table or list, by its name or its index.
    pub(crate) fn member(&self, name: &str) -> Self {
        let node = self.node.and_then(|it| it.get([name]));
        Self {
            node,
            provenance: node.map_or(self.provenance, |it| &it.provenance),
            environment: self.environment,
            number_unit: Duration::from_secs(1),
            path: self.path.iter().map(String::as_str).chain([name]).map(str::to_owned).collect(),
            overrides: &[],
        }
    }

    /// Returns this location for a section whose keys are in the same table.
    pub(crate) fn flat(&self, overrides: &'static [KeyOverride]) -> Self {
        Self { overrides, ..self.clone() }
    }

    /// Returns the members of this list, or of this table, with their names.
    pub(crate) fn members(&self) -> Vec<(String, Self)> {
        let names: Vec<String> = match self.node.map(|it| &it.kind) {
            Some(NodeKind::List(items)) => (0..items.len()).map(|it| it.to_string()).collect(),
            Some(NodeKind::Table(members)) => members.keys().cloned().collect(),
            Some(NodeKind::Scalar(_)) | None => Vec::new(),
        };
        let located = |name: String| {
            let member = self.member(&name);
            (name, member)
        };
        names.into_iter().map(located).collect()
    }

    /// Returns the full path of the key, such as `agents[0].url`.
    pub(crate) fn path(&self) -> String {
        format_path(&self.path)
    }

    /// Returns the path of an element inside this value.
    pub(crate) fn inner_path(&self, steps: &[String]) -> String {
        format_path(&[self.path.as_slice(), steps].concat())
    }

    /// Returns the directory of the file that contains the value; `None` if it is not from a file.
    pub(crate) fn config_dir(&self) -> Option<PathBuf> {
        self.provenance.base_dir().map(|it| self.environment.current_dir.join(it))
    }

    /// Resolves a relative path against the directory of the file that contains it, or against the
    /// current directory if it is not from a file.
    pub(crate) fn resolve_path(&self, path: &Path) -> PathBuf {
        self.config_dir().unwrap_or_else(|| self.environment.current_dir.clone()).join(path)
    }
}
