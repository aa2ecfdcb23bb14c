//! The page: what works with which SDK over which binding, in one part for each direction.

use std::sync::Mutex;
use std::{env, fmt, fs};

use super::root;
use super::sdk::{Binding, Fate};

/// A part of the page. Its title is its place.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    /// What its notes are numbered with.
    pub(super) mark: char,
    /// Every operation, in order: its group, its key and what it is.
    pub(super) operations: Vec<(String, String, String)>,
    pub(super) columns: Vec<Column>,
}

/// What became of one SDK over one binding, one fate for each operation.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) binding: Binding,
    pub(super) fates: Vec<Fate>,
}

impl Part {
    /// Demands that nothing failed, and publishes the part.
    pub(super) fn settle(&self) {
        let failures = self.failures();
        assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
        self.publish();
    }

    /// Every failure, with who and what.
    fn failures(&self) -> Vec<String> {
        let of = |column: &Column| {
            let who = format!("{} over {:?}", column.name, column.binding);
            let failed = |((_, operation, _), fate): (&(_, String, _), &Fate)| match fate {
                Fate::Failed { detail } => {
                    Some(format!("{who}: {operation}: {}", detail.replace('\n', " ")))
                }
                Fate::Worked { .. } | Fate::Absent { .. } => None,
            };
            self.operations.iter().zip(&column.fates).filter_map(failed).collect::<Vec<_>>()
        };
        self.columns.iter().flat_map(of).collect()
    }

    /// Writes the part into the page, or where nobody would see that it changed, demands that it did
    /// not.
    fn publish(&self) {
        static PAGE: Mutex<()> = Mutex::new(());
        let _alone = PAGE.lock();
        let path = root().join("docs/interop.md");
        let kept = fs::read_to_string(&path).expect("the page is there");
        let page = self.put_into(&kept);
        if env::var("CI").is_ok_and(|it| it == "true") {
            assert!(
                kept == page,
                "docs/interop.md is not what this run makes; run scripts/test, and commit it"
            );
        } else {
            fs::write(&path, page).expect("docs can be written");
        }
    }

    /// The page with this part in the place of the one of its title.
    fn put_into(&self, page: &str) -> String {
        let title = format!("## {}\n", self.title);
        let (before, rest) = page.split_once(&title).expect("the page has a place for it");
        let after = rest.find("\n## ").map_or("", |next| &rest[next..]);
        format!("{before}{self}{after}")
    }

    /// The SDKs, each with its columns.
    fn sdks(&self) -> impl Iterator<Item = &[Column]> + Clone {
        self.columns.chunk_by(|one, next| one.name == next.name)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut notes = Notes { mark: self.mark, notes: Vec::new() };
        let names: Vec<_> = self.sdks().map(|columns| columns[0].name.as_str()).collect();
        write!(out, "## {}\n\n{}", self.title, self.about)?;
        let mut last = "";
        for (place, (group, _, title)) in self.operations.iter().enumerate() {
            if group != last {
                write!(out, "\n### {group}\n\n| | {} |\n|", names.join(" | "))?;
                writeln!(out, "{}", " --- |".repeat(names.len() + 1))?;
                last = group;
            }
            let cells: Vec<_> =
                self.sdks().map(|columns| cell(columns, place, &mut notes)).collect();
            writeln!(out, "| {title} | {} |", cells.join(" | "))?;
        }
        for (number, note) in notes.notes.iter().enumerate() {
            write!(out, "\n{}: {note}.", notes.label(number + 1))?;
        }
        writeln!(out)
    }
}

/// The bindings of one SDK over which one operation works, and what is to be said about it.
fn cell(columns: &[Column], place: usize, notes: &mut Notes) -> String {
    let mut marks = Vec::new();
    let letters: Vec<_> = columns
        .iter()
        .map(|column| match &column.fates[place] {
            Fate::Worked { note } => {
                marks.extend(note.as_ref().map(|note| notes.number(note)));
                column.binding.letter()
            }
            Fate::Absent { reason } => {
                marks.push(notes.number(reason));
                '–'
            }
            Fate::Failed { .. } => '✗',
        })
        .map(String::from)
        .collect();
    marks.sort_unstable();
    marks.dedup();
    let marks: String = marks.iter().map(|number| notes.label(*number)).collect();
    format!("{}{marks}", letters.join(" "))
}

/// Notes in the order in which they are first needed.
#[derive(Debug)]
struct Notes {
    mark: char,
    notes: Vec<String>,
}

impl Notes {
    /// The number of a note, from one.
    fn number(&mut self, note: &str) -> usize {
        let place = self.notes.iter().position(|it| it == note).unwrap_or_else(|| {
            self.notes.push(note.to_owned());
            self.notes.len() - 1
        });
        place + 1
    }

    fn label(&self, number: usize) -> String {
        format!("[^{}{number}]", self.mark)
    }
}

#[test]
fn a_part_takes_its_own_place() {
    let part =
        Part { title: "Two", about: "New.\n", mark: 't', operations: vec![], columns: vec![] };
    let page = "# Page\n\n## One\n\nOld.\n\n## Two\n\nOld.\n\n## Three\n\nOld.\n";
    let want = "# Page\n\n## One\n\nOld.\n\n## Two\n\nNew.\n\n\n## Three\n\nOld.\n";
    assert_eq!(part.put_into(page), want);
}
