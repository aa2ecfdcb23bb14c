//! Page tokens of task lists.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latimer_protocol::{Error, InvalidField, TaskId, Timestamp};
use latimer_store::ListCursor;
use sha2::{Digest, Sha256};

/// Length of the digest prefix that binds a token to its owner.
const OWNER_TAG_BYTES: usize = 8;

/// Encodes the token of the page after `cursor`. The token is opaque, and [`decode`] accepts it
/// only for the same owner.
pub(super) fn encode(cursor: &ListCursor, owner: &str) -> String {
    let payload =
        format!("{}\n{}\n{}", cursor.status_changed_at.as_millis(), cursor.agent, cursor.id);
    let tag = owner_tag(payload.as_bytes(), owner);
    URL_SAFE_NO_PAD.encode([&tag, payload.as_bytes()].concat())
}

/// Decodes a token of this owner.
///
/// # Errors
/// Fails if the token is malformed or belongs to another owner.
pub(super) fn decode(token: &str, owner: &str) -> Result<ListCursor, Error> {
    parse(token, owner).ok_or_else(|| {
        InvalidField::new("pageToken", "is not a page token that this server returned for the list")
            .into()
    })
}

/// Computes the tag that binds a token to its owner. It is not a secret: a forged token lists only
/// tasks of the caller that sends it.
fn owner_tag(payload: &[u8], owner: &str) -> [u8; OWNER_TAG_BYTES] {
    let mut digest = Sha256::new();
    digest.update((owner.len() as u64).to_le_bytes());
    digest.update(owner);
    digest.update(payload);
    let mut tag = [0; OWNER_TAG_BYTES];
    tag.copy_from_slice(&digest.finalize()[..OWNER_TAG_BYTES]);
    tag
}

fn parse(token: &str, owner: &str) -> Option<ListCursor> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
    let (tag, payload) = bytes.split_at_checked(OWNER_TAG_BYTES)?;
    if tag != owner_tag(payload, owner) {
        return None;
    }
    let payload = std::str::from_utf8(payload).ok()?;
    let mut parts = payload.splitn(3, '\n');
    let updated = Timestamp::from_millis(parts.next()?.parse().ok()?).ok()?;
    let agent = Arc::from(parts.next()?);
    let id = TaskId::new(parts.next()?).ok()?;
    Some(ListCursor { status_changed_at: updated, id, agent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_token_decodes_only_for_its_owner() {
        let cursor = ListCursor {
            status_changed_at: Timestamp::from_millis(1_700_000_000_123).unwrap(),
            id: TaskId::new("a/b:c ✓").unwrap(),
            agent: "demo".into(),
        };
        let token = encode(&cursor, "alice");
        assert_eq!(decode(&token, "alice"), Ok(cursor));
        let unknown = decode("00", "bob").unwrap_err();
        for caller in ["bob", "", "alice "] {
            assert_eq!(decode(&token, caller), Err(unknown.clone()), "{caller:?}");
        }
    }

    #[test]
    fn malformed_page_tokens_are_rejected() {
        let tagged =
            |payload: &[u8]| URL_SAFE_NO_PAD.encode([&owner_tag(payload, ""), payload].concat());
        for payload in [&b""[..], b"1", b"x\na\nb", b"1\na", b"1\na\n", b"\xff"] {
            assert!(decode(&tagged(payload), "").is_err(), "{payload:?}");
        }
        assert!(decode(&tagged(b"1\na\nb"), "").is_ok());
        for text in ["", "x", "zz", "00", "+1", "31", "310a61", "✓✓", "310a610a"] {
            assert!(decode(text, "").is_err(), "{text:?}");
        }
    }
}
