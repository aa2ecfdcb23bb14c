//! Current directory and environment variables.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

/// Current directory and environment variables that a configuration depends on.
#[derive(Clone, Default)]
pub struct Environment {
    /// Current directory.
    pub current_dir: PathBuf,
    /// Environment variables. Those that are not UTF-8 are left out.
    pub vars: BTreeMap<String, String>,
}

/// Name of the discovered configuration file.
const CONFIG_FILE_NAME: &str = "latimer.toml";

impl fmt::Debug for Environment {
    /// Omits the variables, because some are secrets.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Environment")
            .field("current_dir", &self.current_dir)
            .finish_non_exhaustive()
    }
}

impl Environment {
    /// Returns the current directory and the environment variables of this process.
    #[must_use]
    pub fn current() -> Self {
        let utf8_pair = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self {
            current_dir: env::current_dir().unwrap_or_default(),
            vars: env::vars_os().filter_map(utf8_pair).collect(),
        }
    }

    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|it| !it.is_empty())
    }

    /// Returns the configuration file, if there is one: the file that `LATIMER_CONFIG` names, else
    /// the first that exists of `latimer.toml` in the current directory or a parent directory of
    /// the same repository, that of the user, and that of the machine.
    pub(crate) fn find_config_file(&self) -> Option<PathBuf> {
        if let Some(path) = self.var("LATIMER_CONFIG") {
            return Some(path.into());
        }
        let project_files =
            self.project_dirs().map(|directory| match directory == self.current_dir {
                true => PathBuf::from(CONFIG_FILE_NAME),
                false => directory.join(CONFIG_FILE_NAME),
            });
        let user_file = self
            .xdg_base_dir("XDG_CONFIG_HOME", ".config")
            .map(|it| it.join("latimer").join(CONFIG_FILE_NAME));
        let system_file = Path::new("/etc/latimer").join(CONFIG_FILE_NAME);
        project_files
            .chain(user_file)
            .chain([system_file])
            .find(|it| self.current_dir.join(it).is_file())
    }

    /// Returns the current directory and its parents up to the root of the repository. Outside of a
    /// repository the parents are left out, because they may be unrelated.
    fn project_dirs(&self) -> impl Iterator<Item = &Path> {
        let depth = self.current_dir.ancestors().position(|it| it.join(".git").exists());
        self.current_dir.ancestors().take(depth.unwrap_or(0) + 1)
    }

    /// Returns the directory for data of the user.
    pub(crate) fn data_dir(&self) -> Option<PathBuf> {
        self.xdg_base_dir("XDG_DATA_HOME", ".local/share").map(|it| it.join("latimer"))
    }

    fn xdg_base_dir(&self, name: &str, in_home: &str) -> Option<PathBuf> {
        // The XDG specification requires that relative paths are ignored.
        let configured = self.var(name).map(PathBuf::from).filter(|it| it.is_absolute());
        configured.or_else(|| Some(Path::new(self.var("HOME")?).join(in_home)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn nearest_config_file_is_found_unless_env_var_names_one() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let (inner, user) = (root.join("repository/inner"), root.join("user"));
        fs::create_dir_all(inner.join("deep")).unwrap();
        fs::create_dir_all(user.join("latimer")).unwrap();
        fs::create_dir(root.join("repository/.git")).unwrap();
        let mut environment = Environment { current_dir: inner.join("deep"), ..Default::default() };
        environment.vars.insert("XDG_CONFIG_HOME".into(), user.to_str().unwrap().into());

        assert_eq!(environment.find_config_file(), None);
        for path in [
            root.join(CONFIG_FILE_NAME),
            user.join("latimer").join(CONFIG_FILE_NAME),
            root.join("repository").join(CONFIG_FILE_NAME),
            inner.join(CONFIG_FILE_NAME),
        ] {
            fs::write(&path, "").unwrap();
            let outside = path == root.join(CONFIG_FILE_NAME);
            assert_eq!(environment.find_config_file(), Some(path).filter(|_| !outside));
        }
        fs::write(inner.join("deep").join(CONFIG_FILE_NAME), "").unwrap();
        assert_eq!(environment.find_config_file(), Some(CONFIG_FILE_NAME.into()));
        environment.vars.insert("LATIMER_CONFIG".into(), "x.toml".into());
        assert_eq!(environment.find_config_file(), Some("x.toml".into()));
    }
}
