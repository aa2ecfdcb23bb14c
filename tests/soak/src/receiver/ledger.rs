//! Ledger of expected and received webhook deliveries.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::delivery::Delivery;

/// Expected and received deliveries of all webhooks. An entry is removed when its expectation is
/// fulfilled, so that the ledger does not grow with the run.
#[derive(Debug, Default)]
pub(super) struct DeliveryLedger {
    /// Accepted deliveries, by webhook path.
    received: HashMap<String, Received>,
    /// Ids of dead letters, by task.
    dead_letters: HashMap<String, HashSet<String>>,
    expected: Vec<Expected>,
    summary: DeliverySummary,
}

#[derive(Debug, Default)]
struct Received {
    deliveries: HashSet<String>,
    /// Number of the last chunk.
    last_chunk: u64,
}

#[derive(Debug)]
struct Expected {
    hook: String,
    task: String,
    events: usize,
}

/// Counts of webhook deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeliverySummary {
    /// Webhooks whose expectation is fulfilled.
    pub webhooks: u64,
    /// Events of those webhooks.
    pub events: u64,
    /// Events among them that became dead letters and were not delivered by a replay.
    pub dead_letters: u64,
    /// Delivery attempts that the receiver failed on purpose.
    pub injected_failures: u64,
    /// Deliveries that were accepted more than once.
    pub repeated: u64,
    /// Chunks that were delivered after a later one.
    pub out_of_order: u64,
    /// Webhooks with more deliveries than events.
    pub excessive: u64,
}

impl DeliveryLedger {
    pub(super) fn record_delivery(&mut self, delivery: Delivery) {
        let was_dead_letter = self.dead_letters.values().any(|it| it.contains(&delivery.id));
        let received = self.received.entry(delivery.hook).or_default();
        if !received.deliveries.insert(delivery.id) {
            self.summary.repeated += 1;
            return;
        }
        // A replayed dead letter is delivered out of order.
        let Some(chunk) = delivery.chunk.filter(|_| !was_dead_letter) else { return };
        if chunk <= received.last_chunk {
            self.summary.out_of_order += 1;
        }
        received.last_chunk = chunk;
    }

    pub(super) fn record_injected_failure(&mut self) {
        self.summary.injected_failures += 1;
    }

    pub(super) fn expect_events(&mut self, hook: String, task: String, events: usize) {
        self.expected.push(Expected { hook, task, events });
        self.settle_fulfilled();
    }

    pub(super) fn record_dead_letter(&mut self, task: String, delivery: String) {
        self.dead_letters.entry(task).or_default().insert(delivery);
    }

    /// Removes fulfilled expectations. Returns whether none is left.
    pub(super) fn settle_fulfilled(&mut self) -> bool {
        let Self { received, dead_letters, expected, summary } = self;
        expected.retain(|Expected { hook, task, events }| {
            let none = HashSet::new();
            let delivered = received.get(hook).map_or(&none, |it| &it.deliveries);
            let abandoned = dead_letters.get(task).map_or(0, |it| it.difference(delivered).count());
            if delivered.len() + abandoned < *events {
                return true;
            }
            summary.webhooks += 1;
            summary.events += *events as u64;
            summary.dead_letters += abandoned as u64;
            summary.excessive += u64::from(delivered.len() + abandoned > *events);
            received.remove(hook);
            dead_letters.remove(task);
            false
        });
        expected.is_empty()
    }

    /// Describes the expectations that are not fulfilled.
    pub(super) fn describe_missing(&mut self) -> Vec<String> {
        self.settle_fulfilled();
        let Self { received, dead_letters, expected, .. } = self;
        let missing = expected.iter().map(|Expected { hook, task, events }| {
            let delivered = received.get(hook).map_or(0, |it| it.deliveries.len());
            let abandoned = dead_letters.get(task).map_or(0, HashSet::len);
            format!(
                "task {task}: {delivered} of {events} events delivered, {abandoned} dead letters"
            )
        });
        missing.collect()
    }

    pub(super) fn summary(&self) -> DeliverySummary {
        self.summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deliver(ledger: &mut DeliveryLedger, id: &str, chunk: u64) {
        let (hook, id) = ("/h".to_owned(), id.to_owned());
        ledger.record_delivery(Delivery { hook, id, chunk: Some(chunk) });
    }

    #[test]
    fn deliveries_and_dead_letters_settle_expected_events() {
        let mut ledger = DeliveryLedger::default();
        ledger.expect_events("/h".to_owned(), "t".to_owned(), 3);
        deliver(&mut ledger, "a", 1);
        deliver(&mut ledger, "a", 1);
        ledger.record_dead_letter("t".to_owned(), "b".to_owned());
        assert!(!ledger.settle_fulfilled());
        assert_eq!(ledger.describe_missing(), ["task t: 1 of 3 events delivered, 1 dead letters"]);
        deliver(&mut ledger, "c", 3);
        assert!(ledger.settle_fulfilled());
        let want = DeliverySummary {
            webhooks: 1,
            events: 3,
            dead_letters: 1,
            repeated: 1,
            ..DeliverySummary::default()
        };
        assert_eq!(ledger.summary(), want);
    }

    #[test]
    fn late_dead_letter_counts_once_in_any_order() {
        let mut ledger = DeliveryLedger::default();
        ledger.expect_events("/h".to_owned(), "t".to_owned(), 2);
        ledger.record_dead_letter("t".to_owned(), "a".to_owned());
        deliver(&mut ledger, "b", 2);
        deliver(&mut ledger, "a", 1);
        assert!(ledger.settle_fulfilled());
        let want = DeliverySummary { webhooks: 1, events: 2, ..DeliverySummary::default() };
        assert_eq!(ledger.summary(), want);
    }

    #[test]
    fn overtaking_chunks_are_counted_as_out_of_order() {
        let mut ledger = DeliveryLedger::default();
        deliver(&mut ledger, "b", 2);
        deliver(&mut ledger, "a", 1);
        assert_eq!(ledger.summary().out_of_order, 1);
    }
}
