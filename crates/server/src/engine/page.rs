//! Page tokens.

use std::sync::Arc;

use latimer_protocol::{Error, InvalidField, TaskId, Timestamp};
use latimer_store::ListCursor;
use sha2::{Digest, Sha256};

/// How much of a digest shows whose a token is.
const MARK: usize = 8;

/// The token of the page behind `place` in the list of a caller: opaque to that caller, of use only
/// with the same query, and to others like none that was ever given.
pub(super) fn token(place: &ListCursor, caller: &str) -> String {
    let plain = format!("{}\n{}\n{}", place.status_changed_at.as_millis(), place.agent, place.id);
    let bytes = mark(plain.as_bytes(), caller).into_iter().chain(plain.into_bytes());
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// The place that a token of a caller stands for.
pub(super) fn place(token: &str, caller: &str) -> Result<ListCursor, Error> {
    read(token, caller).ok_or_else(|| {
        InvalidField::new("pageToken", "is not one that was given with a former page").into()
    })
}

/// Shows whose a token is. It keeps no secret: whoever makes one up sees nothing but their own.
fn mark(plain: &[u8], caller: &str) -> [u8; MARK] {
    let mut digest = Sha256::new();
    digest.update((caller.len() as u64).to_le_bytes());
    digest.update(caller);
    digest.update(plain);
    let mut mark = [0; MARK];
    mark.copy_from_slice(&digest.finalize()[..MARK]);
    mark
}

fn read(token: &str, caller: &str) -> Option<ListCursor> {
    if !token.is_ascii() || !token.len().is_multiple_of(2) {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(&token[at..at + 2], 16).ok();
    let bytes: Option<Vec<u8>> = (0..token.len()).step_by(2).map(byte).collect();
    let bytes = bytes?;
    let (own, plain) = bytes.split_at_checked(MARK)?;
    if own != mark(plain, caller) {
        return None;
    }
    let plain = std::str::from_utf8(plain).ok()?;
    let mut parts = plain.splitn(3, '\n');
    let updated = Timestamp::from_millis(parts.next()?.parse().ok()?).ok()?;
    let agent = Arc::from(parts.next()?);
    let id = TaskId::new(parts.next()?).ok()?;
    Some(ListCursor { status_changed_at: updated, id, agent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_for_its_place_with_its_caller_only() {
        let place_of = ListCursor {
            status_changed_at: Timestamp::from_millis(1_700_000_000_123).unwrap(),
            id: TaskId::new("a/b:c ✓").unwrap(),
            agent: "demo".into(),
        };
        let given = token(&place_of, "alice");
        assert_eq!(place(&given, "alice"), Ok(place_of));
        let unknown = place("00", "bob").unwrap_err();
        for caller in ["bob", "", "alice "] {
            assert_eq!(place(&given, caller), Err(unknown.clone()), "{caller:?}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let marked = |plain: &[u8]| {
            let bytes = mark(plain, "").into_iter().chain(plain.iter().copied());
            bytes.map(|it| format!("{it:02x}")).collect::<String>()
        };
        for plain in [&b""[..], b"1", b"x\na\nb", b"1\na", b"1\na\n", b"\xff"] {
            assert!(place(&marked(plain), "").is_err(), "{plain:?}");
        }
        assert!(place(&marked(b"1\na\nb"), "").is_ok());
        for text in ["", "x", "zz", "00", "+1", "31", "310a61", "✓✓", "310a610a"] {
            assert!(place(text, "").is_err(), "{text:?}");
        }
    }
}
