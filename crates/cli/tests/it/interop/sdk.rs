//! The official SDKs: where they are installed, what they are called, and how they fare.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::workspace_root;

/// How one operation went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CheckOutcome {
    /// As it should, with a reservation that is the SDK's.
    Passed { note: Option<String> },
    /// The SDK cannot ask for it, or cannot tell.
    Unsupported { reason: String },
    /// Not as it should.
    Failed { detail: String },
}

impl CheckOutcome {
    /// The fate of something that an SDK is said not to do, for a reason. It is a failure if it does.
    pub(super) fn expect_unsupported(self, reason: Option<&str>) -> Self {
        match (self, reason) {
            (Self::Failed { .. }, Some(reason)) => Self::Unsupported { reason: reason.to_owned() },
            (Self::Passed { .. }, Some(reason)) => {
                Self::Failed { detail: format!("it works now, and is said not to: {reason}") }
            }
            (outcome, _) => outcome,
        }
    }
}

/// Who cannot do something, by the beginnings of their names; over which bindings; what; and why.
pub(super) type UnsupportedRule =
    (&'static [&'static str], &'static str, &'static [&'static str], &'static str);

/// Why somebody cannot do something over a binding; nothing if they can.
pub(super) fn unsupported_reason(
    table: &[UnsupportedRule],
    name: &str,
    binding: Binding,
    operation: &str,
) -> Option<&'static str> {
    let applies = |(names, bindings, operations, _): &&UnsupportedRule| {
        names.iter().any(|it| name.starts_with(it))
            && bindings.contains(binding.letter())
            && operations.contains(&operation)
    };
    table.iter().find(applies).map(|(.., reason)| *reason)
}

/// A language, and what programs in it need.
#[derive(Clone, Copy, Debug)]
pub(super) enum Language {
    /// With the folder of its virtual environment.
    Python(&'static str),
    JavaScript,
}

impl Language {
    /// The language and the version of the SDK of a script, from where the version is pinned.
    pub(super) fn name(self, script: &str, compat: bool) -> String {
        let (language, pins, prefix) = match self {
            Self::Python(venv) => ("Python", format!("python/{venv}.txt"), "a2a-sdk==".to_owned()),
            Self::JavaScript => {
                let line = if script.contains("0_3") { "0.3" } else { "1.x" };
                ("JS", "js/package.json".to_owned(), format!(r#""a2a-{line}": "npm:@a2a-js/sdk@"#))
            }
        };
        let pins = fs::read_to_string(workspace_root().join("tests/peers").join(pins));
        let pins = pins.expect("pins are there");
        let version = pins.split(&prefix).nth(1).expect("the SDK is pinned");
        let end = version.find(|it: char| !(it.is_ascii_digit() || it == '.'));
        let mode = if compat { " as 0.3" } else { "" };
        format!("{language} {}{mode}", &version[..end.unwrap_or(version.len())])
    }

    /// The command that runs a script.
    pub(super) fn run(self, script: &Path) -> Command {
        let mut command = match self {
            Self::Python(venv) => {
                let venv = workspace_root().join(".venv").join(venv);
                assert_installed(&venv.join(".stamp"));
                Command::new(venv.join("bin/python"))
            }
            Self::JavaScript => {
                assert_installed(&workspace_root().join("tests/peers/js/node_modules/.stamp"));
                Command::new("node")
            }
        };
        command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

fn assert_installed(stamp: &Path) {
    assert!(stamp.exists(), "an SDK is missing ({}): run scripts/setup-peers", stamp.display());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    JsonRpc,
    Rest,
    Grpc,
}

impl Binding {
    pub(super) const ALL: &[Self] = &[Self::JsonRpc, Self::Rest, Self::Grpc];

    pub(super) fn argument(self) -> &'static str {
        match self {
            Self::JsonRpc => "jsonrpc",
            Self::Rest => "rest",
            Self::Grpc => "grpc",
        }
    }

    /// How tables name it.
    pub(super) fn letter(self) -> char {
        match self {
            Self::JsonRpc => 'J',
            Self::Rest => 'H',
            Self::Grpc => 'G',
        }
    }
}
