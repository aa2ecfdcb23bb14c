//! What a program is told on its command line.

use std::str::FromStr;

use crate::BenchError;

/// Options with a value each, as `--rounds 3`.
#[derive(Debug)]
pub struct Arguments {
    pairs: Vec<(String, String)>,
}

impl Arguments {
    /// Reads the command line; `known` are the options there are.
    ///
    /// # Errors
    /// An option that is not known, or has no value.
    pub fn parse(options: &[&str]) -> Result<Self, BenchError> {
        let mut args = std::env::args().skip(1);
        let mut pairs = Vec::new();
        while let Some(arg) = args.next() {
            let name = arg.strip_prefix("--").filter(|it| options.contains(it));
            let name = name.ok_or_else(|| {
                let usage: Vec<_> = options.iter().map(|it| format!("--{it} VALUE")).collect();
                format!("{arg}: there are {}", usage.join(", "))
            })?;
            let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
            pairs.push((name.to_owned(), value));
        }
        Ok(Self { pairs })
    }

    /// The value of an option, if it is given.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().rev().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// The value of an option, or what holds without it.
    ///
    /// # Errors
    /// A value that makes no sense.
    pub fn get_or<T: FromStr>(&self, name: &str, default: T) -> Result<T, BenchError> {
        match self.get(name) {
            None => Ok(default),
            Some(value) => {
                value.parse().map_err(|_| format!("--{name} {value}: makes no sense").into())
            }
        }
    }

    /// Whether a name is among the comma-separated ones of an option; without the option all are.
    #[must_use]
    pub fn selects(&self, option: &str, name: &str) -> bool {
        self.get(option).is_none_or(|it| it.split(',').any(|it| it == name))
    }

    /// The options as they were given, without the places of this machine.
    #[must_use]
    pub fn without_paths(&self) -> String {
        let format_option = |(name, value): &(String, String)| match value.contains('/') {
            true => format!("--{name} …"),
            false => format!("--{name} {value}"),
        };
        self.pairs.iter().map(format_option).collect::<Vec<_>>().join(" ")
    }
}
