//! What a configuration depends on besides itself.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where the process runs, and what its environment says.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// The current folder.
    pub folder: PathBuf,
    /// The environment. Variables that are no text are not in it.
    pub variables: BTreeMap<String, String>,
}

/// The name of the file that is looked for.
const FILE: &str = "latimer.toml";

impl fmt::Debug for Surroundings {
    /// Without the environment: some of it is secret.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Surroundings").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Surroundings {
    /// Those of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self {
            folder: env::current_dir().unwrap_or_default(),
            variables: env::vars_os().filter_map(text).collect(),
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|it| !it.is_empty())
    }

    /// The file that holds the configuration, if there is one: what the environment names, else the
    /// first that exists of `latimer.toml` here or further up in this repository, that of the user,
    /// and that of the machine.
    pub(crate) fn find_file(&self) -> Option<PathBuf> {
        if let Some(path) = self.variable("LATIMER_CONFIG") {
            return Some(path.into());
        }
        let here = self.project_folders().map(|folder| match folder == self.folder {
            true => PathBuf::from(FILE),
            false => folder.join(FILE),
        });
        let user =
            self.base_folder("XDG_CONFIG_HOME", ".config").map(|it| it.join("latimer").join(FILE));
        let machine = Path::new("/etc/latimer").join(FILE);
        here.chain(user).chain([machine]).find(|it| self.folder.join(it).is_file())
    }

    /// This folder, and those above it up to the root of the repository it is in. Outside of a
    /// repository nothing says that a folder above has anything to do with this one.
    fn project_folders(&self) -> impl Iterator<Item = &Path> {
        let depth = self.folder.ancestors().position(|it| it.join(".git").exists());
        self.folder.ancestors().take(depth.unwrap_or(0) + 1)
    }

    /// Where data is kept that belongs to the user.
    pub(crate) fn data_folder(&self) -> Option<PathBuf> {
        self.base_folder("XDG_DATA_HOME", ".local/share").map(|it| it.join("latimer"))
    }

    fn base_folder(&self, variable: &str, in_home: &str) -> Option<PathBuf> {
        // A relative one is invalid, and to be ignored.
        let said = self.variable(variable).map(PathBuf::from).filter(|it| it.is_absolute());
        said.or_else(|| Some(Path::new(self.variable("HOME")?).join(in_home)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_file_is_found_and_what_the_environment_names_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let (inner, user) = (root.join("repository/inner"), root.join("user"));
        fs::create_dir_all(inner.join("deep")).unwrap();
        fs::create_dir_all(user.join("latimer")).unwrap();
        fs::create_dir(root.join("repository/.git")).unwrap();
        let mut here = Surroundings { folder: inner.join("deep"), ..Default::default() };
        here.variables.insert("XDG_CONFIG_HOME".into(), user.to_str().unwrap().into());

        assert_eq!(here.find_file(), None);
        for path in [
            root.join(FILE),
            user.join("latimer").join(FILE),
            root.join("repository").join(FILE),
            inner.join(FILE),
        ] {
            fs::write(&path, "").unwrap();
            let outside = path == root.join(FILE);
            assert_eq!(here.find_file(), Some(path).filter(|_| !outside));
        }
        fs::write(inner.join("deep").join(FILE), "").unwrap();
        assert_eq!(here.find_file(), Some(FILE.into()));
        here.variables.insert("LATIMER_CONFIG".into(), "x.toml".into());
        assert_eq!(here.find_file(), Some("x.toml".into()));
    }
}
