//! What is found, for people and for programs.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Failure;
use crate::process::{Process, busy, machine};

/// Says something to whoever started this process.
pub(crate) fn say(what: &impl Serialize) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, what)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// What a process says once it has ended.
///
/// # Errors
/// When it says something else, or nothing.
pub fn heard<T: DeserializeOwned>(process: &mut Process) -> Result<T, Failure> {
    let mut text = String::new();
    process.output().ok_or("nothing to hear")?.read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text).map_err(|error| format!("{error}: {text:?}"))?)
}

/// What a process says while it goes on: one line.
///
/// # Errors
/// When it says something else, or nothing.
pub fn heard_line<T: DeserializeOwned>(process: &mut Process) -> Result<T, Failure> {
    let mut line = String::new();
    BufReader::new(process.output().ok_or("nothing to hear")?).read_line(&mut line)?;
    Ok(serde_json::from_str(&line).map_err(|error| format!("{error}: {line:?}"))?)
}

/// A report that is printed and kept: text for people, and the raw rows beside it.
#[derive(Debug)]
pub struct Report {
    folder: PathBuf,
    name: String,
    text: String,
    /// Whether the rows of an earlier report of the day are still there.
    stale: bool,
}

impl Report {
    /// Begins a report on a program with these options, to be kept in `folder`.
    #[must_use]
    pub fn new(folder: &Path, program: &str, options: &str) -> Self {
        let now = jiff::Timestamp::now();
        let date = now.strftime("%Y-%m-%d");
        let mut report = Self {
            folder: folder.to_owned(),
            name: format!("{date}-{program}"),
            text: String::new(),
            stale: true,
        };
        let command = format!("cargo run --release -p latimer-bench --bin {program}");
        let options = if options.is_empty() { String::new() } else { format!(" -- {options}") };
        report.line(&format!("# `{program}`, {date}\n"));
        report.line(&format!("`{command}{options}`\\"));
        report.line(&format!("at {} on {}.\\", now.strftime("%H:%M UTC"), machine()));
        report.line(&format!("Load average of the machine before: {:.2}.", busy()));
        report
    }

    /// Prints a line, and keeps it.
    #[expect(clippy::print_stdout, reason = "what the program is for")]
    pub fn line(&mut self, line: &str) {
        println!("{line}");
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Keeps a raw row, at once: a long run may not come to its end.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn row(&mut self, row: &impl Serialize) -> Result<(), Failure> {
        let mut line = serde_json::to_string(row)?;
        line.push('\n');
        let stale = std::mem::take(&mut self.stale);
        let mut options = OpenOptions::new();
        options.create(true).write(true).append(!stale).truncate(stale);
        let path = self.folder.join(&self.name).with_extension("jsonl");
        let written = options.open(&path).and_then(|mut file| file.write_all(line.as_bytes()));
        written.map_err(|error| unwritten(&path, &error))
    }

    /// Writes it into its folder. A folder that is not there is not made.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(mut self) -> Result<(), Failure> {
        self.line(&format!("\nLoad average of the machine after: {:.2}.", busy()));
        let path = self.folder.join(&self.name);
        let written = fs::write(path.with_extension("md"), &self.text);
        written.map_err(|error| unwritten(&path, &error))?;
        note(&format!("kept as {}.md", path.display()));
        Ok(())
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    format!("cannot write {}: {error}", path.display()).into()
}

/// Says how it goes on, beside the report.
#[expect(clippy::print_stderr, reason = "for whoever waits")]
pub fn note(text: &str) {
    eprintln!("{text}");
}

/// The middle one, or the middle of the two that are; not a number when there are none.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match (values.get(values.len() / 2), values.len().is_multiple_of(2)) {
        (None, _) => f64::NAN,
        (Some(&middle), false) => middle,
        (Some(&above), true) => (values[values.len() / 2 - 1] + above) / 2.0,
    }
}

/// A number with its thousands apart.
#[must_use]
pub fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = digits.strip_prefix('-').map_or(("", &*digits), |it| ("-", it));
    let mut out = String::from(sign);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A number of bytes in MB.
#[must_use]
pub fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}
