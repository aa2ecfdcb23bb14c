//! Page tokens.

use std::sync::Arc;

use latimer_protocol::{Error, Invalid, TaskId, Timestamp};
use latimer_store::Place;

/// The token of the page behind `place`: opaque to its caller, and of use only with the same query.
pub(super) fn token(place: &Place) -> String {
    let plain = format!("{}\n{}\n{}", place.updated.as_millis(), place.agent, place.id);
    plain.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// The place that a token stands for.
pub(super) fn place(token: &str) -> Result<Place, Error> {
    read(token).ok_or_else(|| {
        Invalid::new("pageToken", "is not one that was given with a former page").into()
    })
}

fn read(token: &str) -> Option<Place> {
    if !token.is_ascii() || !token.len().is_multiple_of(2) {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(&token[at..at + 2], 16).ok();
    let plain: Option<Vec<u8>> = (0..token.len()).step_by(2).map(byte).collect();
    let plain = String::from_utf8(plain?).ok()?;
    let mut parts = plain.splitn(3, '\n');
    let updated = Timestamp::from_millis(parts.next()?.parse().ok()?).ok()?;
    let agent = Arc::from(parts.next()?);
    let id = TaskId::new(parts.next()?).ok()?;
    Some(Place { updated, id, agent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_for_its_place() {
        let place_of = Place {
            updated: Timestamp::from_millis(1_700_000_000_123).unwrap(),
            id: TaskId::new("a/b:c ✓").unwrap(),
            agent: "demo".into(),
        };
        assert_eq!(place(&token(&place_of)), Ok(place_of));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "x", "zz", "00", "+1", "31", "310a61", "✓✓", "310a610a"] {
            assert!(place(text).is_err(), "{text:?}");
        }
    }
}
