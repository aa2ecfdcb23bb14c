//! Streams of resent messages.

use super::*;

fn resend_call(request: &SendMessageRequest, after: Option<u64>) -> Call {
    let mut call = Call::new(Request::SendStreamingMessage(request.clone()));
    call.context.resume_after = after.map(Revision::new);
    call
}

#[tokio::test]
async fn resent_follow_up_stream_replays_result() {
    let engine = engine();
    let interrupted = send_for_task(&engine, user_request("ask what?")).await;
    let follow_up = follow_up_request(&interrupted, "this");
    let first = events(&engine, resend_call(&follow_up, None)).await.unwrap();
    assert_eq!(kinds(&first), ["task Working", "artifact this", "status Completed"]);
    let second = events(&engine, resend_call(&follow_up, None)).await.unwrap();
    assert_eq!(kinds(&second), ["task Completed"]);
    let last = second[0].revision.unwrap().get();
    let remainder = events(&engine, resend_call(&follow_up, Some(last - 1))).await.unwrap();
    assert_eq!(kinds(&remainder), ["status Completed"]);
}

#[tokio::test]
async fn resumed_stream_ends_if_input_request_was_seen() {
    let engine = engine();
    let request = user_request("ask what?");
    let first = events(&engine, resend_call(&request, None)).await.unwrap();
    let last_revision = first.last().unwrap().revision.unwrap().get();
    let remainder = tokio::time::timeout(
        Duration::from_secs(1),
        events(&engine, resend_call(&request, Some(last_revision))),
    );
    assert_eq!(remainder.await.unwrap().unwrap(), []);
}

#[tokio::test]
async fn new_message_ignores_resume_cursor() {
    let engine = engine();
    for after in [2, 50] {
        let received =
            events(&engine, resend_call(&user_request("hello"), Some(after))).await.unwrap();
        assert_eq!(revisions(&received), [1, 2, 3, 4]);
    }
}

#[tokio::test]
async fn concurrent_duplicate_streams_share_one_task() {
    let engine = engine();
    let request = user_request("wait 30");
    let (one, other) = tokio::join!(
        events(&engine, resend_call(&request, None)),
        events(&engine, resend_call(&request, None)),
    );
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.last(), other.last());
    assert!(kinds(&other)[0].starts_with("task"), "{:?}", kinds(&other));
}
