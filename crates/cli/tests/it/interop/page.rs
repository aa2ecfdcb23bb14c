//! The page: what works with which SDK over which binding, in one part for each direction.

use std::sync::Mutex;
use std::{env, fmt, fs};

use super::sdk::{Binding, CheckOutcome};
use super::workspace_root;

/// A part of the page. Its title is its place.
#[derive(Debug)]
pub(super) struct PageSection {
    pub(super) title: &'static str,
    pub(super) intro: &'static str,
    /// What its notes are numbered with.
    pub(super) note_prefix: char,
    /// Every operation, in order: its group, its key and what it is.
    pub(super) operations: Vec<(String, String, String)>,
    pub(super) columns: Vec<Column>,
}

/// What became of one SDK over one binding, one fate for each operation.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) binding: Binding,
    pub(super) outcomes: Vec<CheckOutcome>,
}

impl PageSection {
    /// Demands that nothing failed, and publishes the part.
    pub(super) fn assert_passed_and_publish(&self) {
        let failures = self.failures();
        assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
        self.publish();
    }

    /// Every failure, with who and what.
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

    /// Writes the part into the page, or where nobody would see that it changed, demands that it did
    /// not.
    fn publish(&self) {
        static PAGE: Mutex<()> = Mutex::new(());
        let _lock = PAGE.lock();
        let path = workspace_root().join("docs/interop.md");
        let current = fs::read_to_string(&path).expect("the page is there");
        let page = self.replace_in(&current);
        if env::var("CI").is_ok_and(|it| it == "true") {
            assert!(
                current == page,
                "docs/interop.md is not what this run makes; run scripts/test, and commit it"
            );
        } else {
            fs::write(&path, page).expect("docs can be written");
        }
    }

    /// The page with this part in the place of the one of its title.
    fn replace_in(&self, page: &str) -> String {
        let title = format!("## {}\n", self.title);
        let (before, rest) = page.split_once(&title).expect("the page has a place for it");
        let after = rest.find("\n## ").map_or("", |next| &rest[next..]);
        format!("{before}{self}{after}")
    }

    /// The SDKs, each with its columns.
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

/// The bindings of one SDK over which one operation works, and what is to be said about it.
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

/// Notes in the order in which they are first needed.
#[derive(Debug)]
struct Notes {
    prefix: char,
    notes: Vec<String>,
}

impl Notes {
    /// The number of a note, from one.
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
fn section_replaces_the_one_with_its_title() {
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
