//! Writes the results to `docs/interop.md`: one section per direction, one column per SDK.

use std::sync::Mutex;
use std::{env, fmt, fs};

use super::sdk::{Binding, CheckOutcome};
use super::workspace_root;

/// Section of the page, located by its title.
#[derive(Debug)]
pub(super) struct PageSection {
    pub(super) title: &'static str,
    pub(super) intro: &'static str,
    /// Prefix of the numbers of its notes.
    pub(super) note_prefix: char,
    /// Group, key and title of every operation, in order.
    pub(super) operations: Vec<(String, String, String)>,
    pub(super) columns: Vec<Column>,
}

/// Results of one SDK over one binding, one per operation.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) binding: Binding,
    pub(super) outcomes: Vec<CheckOutcome>,
}

impl PageSection {
    /// Panics if a check failed, otherwise writes the section to the page.
    pub(super) fn assert_passed_and_publish(&self) {
        let failures = self.failures();
        assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
        self.publish();
    }

    /// Formats every failure with SDK, binding and operation.
    fn failures(&self) -> Vec<String> {
        let column_failures = |column: &Column| {
            let column_name = format!("{} over {:?}", column.name, column.binding);
            let failure =
                |((_, operation, _), outcome): (&(_, String, _), &CheckOutcome)| match outcome {
                    CheckOutcome::Failed { detail } => {
                        Some(format!("{column_name}: {operation}: {}", detail.replace('\n', " ")))
                    }
                    CheckOutcome::Passed { .. } | CheckOutcome::Unsupported { .. } => None,
                };
            self.operations.iter().zip(&column.outcomes).filter_map(failure).collect::<Vec<_>>()
        };
        self.columns.iter().flat_map(column_failures).collect()
    }

    /// Writes the section to the page. In CI, panics instead if the page would change.
    fn publish(&self) {
        static PAGE: Mutex<()> = Mutex::new(());
        let _lock = PAGE.lock();
        let path = workspace_root().join("docs/interop.md");
        let current = fs::read_to_string(&path).expect("the page exists");
        let page = self.replace_in(&current);
        if env::var("CI").is_ok_and(|it| it == "true") {
            assert!(
                current == page,
                "docs/interop.md is outdated: run scripts/test and commit the result"
            );
        } else {
            fs::write(&path, page).expect("the page is writable");
        }
    }

    /// Returns the page with the section of this title replaced.
    fn replace_in(&self, page: &str) -> String {
        let title = format!("## {}\n", self.title);
        let (before, rest) =
            page.split_once(&title).expect("the page has a section with this title");
        let after = rest.find("\n## ").map_or("", |next| &rest[next..]);
        format!("{before}{self}{after}")
    }

    /// Returns the columns grouped by SDK.
    fn columns_by_sdk(&self) -> impl Iterator<Item = &[Column]> + Clone {
        self.columns.chunk_by(|one, next| one.name == next.name)
    }
}

impl fmt::Display for PageSection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut notes = Notes { prefix: self.note_prefix, notes: Vec::new() };
        let names: Vec<_> = self.columns_by_sdk().map(|columns| columns[0].name.as_str()).collect();
        write!(out, "## {}\n\n{}", self.title, self.intro)?;
        let mut current_group = "";
        for (index, (group, _, title)) in self.operations.iter().enumerate() {
            if group != current_group {
                write!(out, "\n### {group}\n\n| | {} |\n|", names.join(" | "))?;
                writeln!(out, "{}", " --- |".repeat(names.len() + 1))?;
                current_group = group;
            }
            let cells: Vec<_> =
                self.columns_by_sdk().map(|columns| cell(columns, index, &mut notes)).collect();
            writeln!(out, "| {title} | {} |", cells.join(" | "))?;
        }
        for (number, note) in notes.notes.iter().enumerate() {
            write!(out, "\n{}: {note}.", notes.label(number + 1))?;
        }
        writeln!(out)
    }
}

/// Formats the results of one operation with one SDK, with references to notes.
fn cell(columns: &[Column], index: usize, notes: &mut Notes) -> String {
    let mut note_numbers = Vec::new();
    let letters: Vec<_> = columns
        .iter()
        .map(|column| match &column.outcomes[index] {
            CheckOutcome::Passed { note } => {
                note_numbers.extend(note.as_ref().map(|note| notes.number_of(note)));
                column.binding.letter()
            }
            CheckOutcome::Unsupported { reason } => {
                note_numbers.push(notes.number_of(reason));
                '–'
            }
            CheckOutcome::Failed { .. } => '✗',
        })
        .map(String::from)
        .collect();
    note_numbers.sort_unstable();
    note_numbers.dedup();
    let labels: String = note_numbers.iter().map(|number| notes.label(*number)).collect();
    format!("{}{labels}", letters.join(" "))
}

/// Notes in the order of their first reference.
#[derive(Debug)]
struct Notes {
    prefix: char,
    notes: Vec<String>,
}

impl Notes {
    /// Returns the number of a note, starting at 1.
    fn number_of(&mut self, note: &str) -> usize {
        let index = self.notes.iter().position(|it| it == note).unwrap_or_else(|| {
            self.notes.push(note.to_owned());
            self.notes.len() - 1
        });
        index + 1
    }

    fn label(&self, number: usize) -> String {
        format!("[^{}{number}]", self.prefix)
    }
}

#[test]
fn section_replaces_its_predecessor_by_title() {
    let section = PageSection {
        title: "Two",
        intro: "New.\n",
        note_prefix: 't',
        operations: vec![],
        columns: vec![],
    };
    let page = "# Page\n\n## One\n\nOld.\n\n## Two\n\nOld.\n\n## Three\n\nOld.\n";
    let want = "# Page\n\n## One\n\nOld.\n\n## Two\n\nNew.\n\n\n## Three\n\nOld.\n";
    assert_eq!(section.replace_in(page), want);
}
