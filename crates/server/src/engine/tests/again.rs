//! Streams of messages that are sent again.

use super::*;

fn again(request: &SendMessageRequest, after: Option<u64>) -> Call {
    let call = Call::new(Request::SendStreamingMessage(request.clone()));
    Call { resume_after: after.map(Revision::new), ..call }
}

#[tokio::test]
async fn an_answer_that_is_sent_again_gets_what_came_of_it() {
    let engine = engine();
    let asked = task(&engine, says("ask what?")).await;
    let answer = answers(&asked, "this");
    let first = events(&engine, again(&answer, None)).await.unwrap();
    assert_eq!(kinds(&first), ["task Working", "artifact this", "status Completed"]);
    let second = events(&engine, again(&answer, None)).await.unwrap();
    assert_eq!(kinds(&second), ["task Completed"]);
    let last = second[0].revision.unwrap().get();
    let rest = events(&engine, again(&answer, Some(last - 1))).await.unwrap();
    assert_eq!(kinds(&rest), ["status Completed"]);
}

#[tokio::test]
async fn a_question_that_was_seen_ends_the_stream_that_is_resumed() {
    let engine = engine();
    let request = says("ask what?");
    let first = events(&engine, again(&request, None)).await.unwrap();
    let seen = first.last().unwrap().revision.unwrap().get();
    let rest =
        tokio::time::timeout(Duration::from_secs(1), events(&engine, again(&request, Some(seen))));
    assert_eq!(rest.await.unwrap().unwrap(), []);
}

#[tokio::test]
async fn a_new_message_has_no_events_that_were_seen() {
    let engine = engine();
    for after in [2, 50] {
        let seen = events(&engine, again(&says("hello"), Some(after))).await.unwrap();
        assert_eq!(revisions(&seen), [1, 2, 3, 4]);
    }
}

#[tokio::test]
async fn a_stream_that_is_asked_for_twice_at_a_time_is_one_task() {
    let engine = engine();
    let request = says("wait 30");
    let (one, other) = tokio::join!(
        events(&engine, again(&request, None)),
        events(&engine, again(&request, None)),
    );
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.last(), other.last());
    assert!(kinds(&other)[0].starts_with("task"), "{:?}", kinds(&other));
}
