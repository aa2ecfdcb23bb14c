//! The page: what works with which SDK over which binding.

use std::fmt;

use super::client::{Client, Fate, operations};

const ABOUT: &str = "\
# Interoperability

What the official SDKs, as clients, ask of `latimer demo-server`, and over which bindings they get the
right answer: **J** is JSON-RPC, **H** is HTTP+JSON, **G** is gRPC. `–` is what an SDK cannot ask for, or
cannot tell; the note says why. Each letter is a check of [tests/interop](../tests/interop) with real
processes, and so is each refusal: the SDK must raise the right error. `scripts/test` runs them all and
writes this page.
";

/// What became of every client.
#[derive(Debug)]
pub(super) struct Page {
    clients: Vec<(Client, Vec<Fate>)>,
}

impl Page {
    pub(super) fn of(clients: Vec<(Client, Vec<Fate>)>) -> Self {
        Self { clients }
    }

    /// Every failure, with who and what.
    pub(super) fn failures(&self) -> Vec<String> {
        let of = |(client, fates): &(Client, Vec<Fate>)| {
            let who = format!("{} over {:?}", client.name, client.binding);
            let failed = |((_, operation, _), fate): ((_, String, _), &Fate)| match fate {
                Fate::Failed { detail } => {
                    Some(format!("{who}: {operation}: {}", detail.replace('\n', " ")))
                }
                Fate::Worked { .. } | Fate::Absent { .. } => None,
            };
            operations().zip(fates).filter_map(failed).collect::<Vec<_>>()
        };
        self.clients.iter().flat_map(of).collect()
    }

    /// The SDKs, each with its clients.
    fn sdks(&self) -> impl Iterator<Item = &[(Client, Vec<Fate>)]> + Clone {
        self.clients.chunk_by(|(one, _), (next, _)| one.name == next.name)
    }
}

impl fmt::Display for Page {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut notes = Notes::default();
        let names: Vec<_> = self.sdks().map(|clients| clients[0].0.name.as_str()).collect();
        out.write_str(ABOUT)?;
        let mut last = String::new();
        for (place, (group, _, title)) in operations().enumerate() {
            if group != last {
                write!(out, "\n## {group}\n\n| | {} |\n|", names.join(" | "))?;
                writeln!(out, "{}", " --- |".repeat(names.len() + 1))?;
                last = group;
            }
            let cells: Vec<_> =
                self.sdks().map(|clients| cell(clients, place, &mut notes)).collect();
            writeln!(out, "| {title} | {} |", cells.join(" | "))?;
        }
        for (number, note) in notes.0.iter().enumerate() {
            write!(out, "\n[^{}]: {note}.", number + 1)?;
        }
        writeln!(out)
    }
}

/// The bindings of one SDK over which one operation works, and what is to be said about it.
fn cell(clients: &[(Client, Vec<Fate>)], place: usize, notes: &mut Notes) -> String {
    let mut marks = Vec::new();
    let letters: Vec<_> = clients
        .iter()
        .map(|(client, fates)| match &fates[place] {
            Fate::Worked { note } => {
                marks.extend(note.as_ref().map(|note| notes.mark(note)));
                client.binding.letter()
            }
            Fate::Absent { reason } => {
                marks.push(notes.mark(reason));
                '–'
            }
            Fate::Failed { .. } => '✗',
        })
        .map(String::from)
        .collect();
    marks.sort_unstable();
    marks.dedup();
    let marks: String = marks.iter().map(|number| format!("[^{number}]")).collect();
    format!("{}{marks}", letters.join(" "))
}

/// Notes in the order in which they are first needed.
#[derive(Debug, Default)]
struct Notes(Vec<String>);

impl Notes {
    /// The number of a note, from one.
    fn mark(&mut self, note: &str) -> usize {
        let place = self.0.iter().position(|it| it == note).unwrap_or_else(|| {
            self.0.push(note.to_owned());
            self.0.len() - 1
        });
        place + 1
    }
}
