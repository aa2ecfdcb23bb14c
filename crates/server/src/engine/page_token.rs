//! Page tokens of lists: of tasks, and of the webhooks of a task.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latimer_protocol::{Error, InvalidField, PushConfigId, TaskId, Timestamp};
use latimer_store::ListCursor;
use sha2::{Digest, Sha256};

/// Length of the digest prefix that binds a token to its list.
const TAG_BYTES: usize = 8;

/// Encodes the token of the page after `cursor`. The token is opaque, and [`decode`] accepts it
/// only for the same owner.
pub(super) fn encode(cursor: &ListCursor, owner: &str) -> String {
    let payload =
        format!("{}\n{}\n{}", cursor.status_changed_at.as_millis(), cursor.agent, cursor.id);
    encode_payload(payload.as_bytes(), owner)
}

/// Encodes the token of the page after the webhook `id`. [`decode_webhook`] accepts it only for the
/// same task.
pub(super) fn encode_webhook(id: &PushConfigId, task: &TaskId) -> String {
    encode_payload(id.as_str().as_bytes(), task.as_str())
}

/// Decodes a token of this owner.
///
/// # Errors
/// Fails if the token is malformed or belongs to another owner.
pub(super) fn decode(token: &str, owner: &str) -> Result<ListCursor, Error> {
    parse(token, owner).ok_or_else(invalid_token)
}

/// Decodes a token of this task's webhooks.
///
/// # Errors
/// Fails if the token is malformed or belongs to another task.
pub(super) fn decode_webhook(token: &str, task: &TaskId) -> Result<PushConfigId, Error> {
    let id = decode_payload(token, task.as_str()).and_then(|it| PushConfigId::new(it).ok());
    id.ok_or_else(invalid_token)
}

fn invalid_token() -> Error {
    let problem = "is not a page token that this server returned for the list";
    InvalidField::new("pageToken", problem).into()
}

/// Computes the tag that binds a token to its list: the owner of the tasks, or the task of the
/// webhooks. It is not a secret: a forged token lists only data of the caller that sends it.
fn list_tag(payload: &[u8], list: &str) -> [u8; TAG_BYTES] {
    let mut digest = Sha256::new();
    digest.update((list.len() as u64).to_le_bytes());
    digest.update(list);
    digest.update(payload);
    let mut tag = [0; TAG_BYTES];
    tag.copy_from_slice(&digest.finalize()[..TAG_BYTES]);
    tag
}

fn encode_payload(payload: &[u8], list: &str) -> String {
    URL_SAFE_NO_PAD.encode([&list_tag(payload, list), payload].concat())
}

fn decode_payload(token: &str, list: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
    let (tag, payload) = bytes.split_at_checked(TAG_BYTES)?;
    if tag != list_tag(payload, list) {
        return None;
    }
    String::from_utf8(payload.to_vec()).ok()
}

fn parse(token: &str, owner: &str) -> Option<ListCursor> {
    let payload = decode_payload(token, owner)?;
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
        let tagged = |payload: &[u8]| encode_payload(payload, "");
        for payload in [&b""[..], b"1", b"x\na\nb", b"1\na", b"1\na\n", b"\xff"] {
            assert!(decode(&tagged(payload), "").is_err(), "{payload:?}");
        }
        assert!(decode(&tagged(b"1\na\nb"), "").is_ok());
        for text in ["", "x", "zz", "00", "+1", "31", "310a61", "✓✓", "310a610a"] {
            assert!(decode(text, "").is_err(), "{text:?}");
        }
    }
    #[test]
    fn webhook_page_token_decodes_only_for_its_task() {
        let [id, task, other] = ["w/1 ✓", "t", "u"];
        let id = PushConfigId::new(id).unwrap();
        let [task, other] = [task, other].map(|it| TaskId::new(it).unwrap());
        let token = encode_webhook(&id, &task);
        assert_eq!(decode_webhook(&token, &task), Ok(id));
        for token in [&token, "", "x"] {
            assert_eq!(decode_webhook(token, &other), Err(invalid_token()), "{token:?}");
        }
    }
}
