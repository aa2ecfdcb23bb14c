//! What webhooks are owed, and what they got.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::delivery::Delivery;

/// What webhooks are owed, and what they got.
#[derive(Debug, Default)]
pub(super) struct Books {
    /// What was taken, by webhook.
    taken: HashMap<String, Taken>,
    /// Deliveries that were given up, by task.
    dead: HashMap<String, HashSet<String>>,
    debts: Vec<Debt>,
    account: Account,
}

#[derive(Debug, Default)]
struct Taken {
    deliveries: HashSet<String>,
    /// The number of the last piece.
    piece: u64,
}

#[derive(Debug)]
struct Debt {
    hook: String,
    task: String,
    events: usize,
}

/// How it went with webhooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    /// Webhooks that got everything but what was given up.
    pub webhooks: u64,
    /// The events of those.
    pub events: u64,
    /// The ones among them that were given up and did not arrive later either.
    pub given_up: u64,
    /// Deliveries that the receiver did not take.
    pub refused: u64,
    /// Deliveries that it took once more.
    pub repeated: u64,
    /// Pieces that came behind a later one.
    pub out_of_order: u64,
    /// Webhooks that got more than there was.
    pub excessive: u64,
}

impl Books {
    pub(super) fn took(&mut self, delivery: Delivery) {
        let was_dead = self.dead.values().any(|it| it.contains(&delivery.id));
        let taken = self.taken.entry(delivery.hook).or_default();
        if !taken.deliveries.insert(delivery.id) {
            self.account.repeated += 1;
            return;
        }
        // What was given up comes when an operator says so.
        let Some(piece) = delivery.piece.filter(|_| !was_dead) else { return };
        if piece <= taken.piece {
            self.account.out_of_order += 1;
        }
        taken.piece = piece;
    }

    pub(super) fn refused(&mut self) {
        self.account.refused += 1;
    }

    pub(super) fn owes(&mut self, hook: String, task: String, events: usize) {
        self.debts.push(Debt { hook, task, events });
        self.settle();
    }

    pub(super) fn given_up(&mut self, task: String, delivery: String) {
        self.dead.entry(task).or_default().insert(delivery);
    }

    /// Forgets debts that were paid; true when none is left.
    pub(super) fn settle(&mut self) -> bool {
        let Self { taken, dead, debts, account } = self;
        debts.retain(|Debt { hook, task, events }| {
            let none = HashSet::new();
            let got = taken.get(hook).map_or(&none, |it| &it.deliveries);
            let lost = dead.get(task).map_or(0, |it| it.difference(got).count());
            if got.len() + lost < *events {
                return true;
            }
            account.webhooks += 1;
            account.events += *events as u64;
            account.given_up += lost as u64;
            account.excessive += u64::from(got.len() + lost > *events);
            taken.remove(hook);
            dead.remove(task);
            false
        });
        debts.is_empty()
    }

    /// What was not paid.
    pub(super) fn missing(&mut self) -> Vec<String> {
        self.settle();
        let Self { taken, dead, debts, .. } = self;
        let missing = debts.iter().map(|Debt { hook, task, events }| {
            let got = taken.get(hook).map_or(0, |it| it.deliveries.len());
            let lost = dead.get(task).map_or(0, HashSet::len);
            format!("task {task}: {got} of {events} events arrived, {lost} were given up")
        });
        missing.collect()
    }

    pub(super) fn account(&self) -> Account {
        self.account
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bring(books: &mut Books, id: &str, piece: u64) {
        let (hook, id) = ("/h".to_owned(), id.to_owned());
        books.took(Delivery { hook, id, piece: Some(piece) });
    }

    #[test]
    fn a_debt_is_paid_by_what_arrives_and_what_is_given_up() {
        let mut books = Books::default();
        books.owes("/h".to_owned(), "t".to_owned(), 3);
        bring(&mut books, "a", 1);
        bring(&mut books, "a", 1);
        books.given_up("t".to_owned(), "b".to_owned());
        assert!(!books.settle());
        assert_eq!(books.missing(), ["task t: 1 of 3 events arrived, 1 were given up"]);
        bring(&mut books, "c", 3);
        assert!(books.settle());
        let want =
            Account { webhooks: 1, events: 3, given_up: 1, repeated: 1, ..Account::default() };
        assert_eq!(books.account(), want);
    }

    #[test]
    fn what_was_given_up_and_arrives_later_counts_once_and_in_any_order() {
        let mut books = Books::default();
        books.owes("/h".to_owned(), "t".to_owned(), 2);
        books.given_up("t".to_owned(), "a".to_owned());
        bring(&mut books, "b", 2);
        bring(&mut books, "a", 1);
        assert!(books.settle());
        let want = Account { webhooks: 1, events: 2, ..Account::default() };
        assert_eq!(books.account(), want);
    }

    #[test]
    fn pieces_that_overtake_others_are_noticed() {
        let mut books = Books::default();
        bring(&mut books, "b", 2);
        bring(&mut books, "a", 1);
        assert_eq!(books.account().out_of_order, 1);
    }
}
