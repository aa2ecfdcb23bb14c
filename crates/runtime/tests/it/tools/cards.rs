//! How often the card of an agent is fetched.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use futures_util::future::join_all;
use latimer_runtime::tools::{AgentTool, Code};
use serde_json::json;

use super::{say, toolbox};
use crate::remote::hasty;
use crate::remote::stub::{Answer, Asked, Stub};

/// An agent that answers at once, whose cards are numbered, and which is broken while a test wants it.
async fn agent(broken: Arc<AtomicBool>) -> Stub {
    let cards = AtomicUsize::new(0);
    Stub::start(move |asked| match is_look(asked) {
        true => {
            let host = asked.head.lines().find_map(|it| it.strip_prefix("host: ")).unwrap();
            let card = json!({
                "name": format!("card {}", cards.fetch_add(1, SeqCst)),
                "description": "d", "version": "1",
                "supportedInterfaces": [{
                    "url": format!("http://{host}/a2a"),
                    "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
                }],
                "capabilities": {"streaming": true},
                "defaultInputModes": ["text"], "defaultOutputModes": ["text"], "skills": [],
            });
            Answer::of(200, "application/json", &card.to_string())
        }
        false if broken.load(SeqCst) => Answer::of(500, "text/html", "<h1>Oops</h1>"),
        false => {
            let said = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]});
            Answer::Close(Answer::stream(&[&json!({ "message": said }).to_string()]))
        }
    })
    .await
}

fn is_look(asked: &Asked) -> bool {
    asked.head.starts_with("GET")
}

fn looks(stub: &Stub) -> usize {
    stub.asked().iter().filter(|it| is_look(it)).count()
}

#[tokio::test]
async fn a_card_is_fetched_once_for_all_and_again_after_an_error() {
    let broken = Arc::new(AtomicBool::new(false));
    let stub = agent(Arc::clone(&broken)).await;
    let url = format!("http://{}", stub.address());
    let tools = toolbox(AgentTool::new("stub", url).client(hasty));
    for output in join_all((0..20).map(|_| say(&tools, "hello"))).await {
        assert_eq!(output.unwrap().text, "hi");
    }
    assert_eq!(looks(&stub), 1);
    assert_eq!(tools.definitions()[0].description, "Asks the agent card 0: d");

    broken.store(true, SeqCst);
    let failed = join_all((0..20).map(|_| say(&tools, "hello"))).await;
    assert!(failed.iter().all(|it| it.as_ref().is_err_and(|it| it.code() == Code::A2aError)));
    assert_eq!(tools.definitions()[0].description, "Asks the agent card 0: d", "it was that");

    broken.store(false, SeqCst);
    let before = looks(&stub);
    for _ in 0..3 {
        assert_eq!(say(&tools, "hello").await.unwrap().text, "hi");
    }
    assert_eq!(looks(&stub), before + 1);
    let now = format!("Asks the agent card {before}: d");
    assert_eq!(tools.definitions()[0].description, now);
}

#[tokio::test]
async fn a_card_that_was_not_found_is_looked_for_once_by_all_and_then_again() {
    let there = Arc::new(AtomicBool::new(false));
    let shows = Arc::clone(&there);
    let stub = Stub::start(move |_| match shows.load(SeqCst) {
        false => Answer::of(404, "text/plain", "none"),
        true => Answer::of(200, "application/json", "[]"),
    })
    .await;
    let url = format!("http://{}", stub.address());
    let tools = toolbox(AgentTool::new("stub", url).client(hasty));
    for failed in join_all((0..20).map(|_| say(&tools, "hello"))).await {
        let error = failed.unwrap_err();
        assert!(error.message().contains("as it is set up"), "{error}");
    }
    let once = looks(&stub);
    assert_eq!(once, 2, "at both well-known places");
    // What is no card is not kept either.
    there.store(true, SeqCst);
    for round in 1..3 {
        say(&tools, "hello").await.unwrap_err();
        assert_eq!(looks(&stub), once + 2 * round);
    }
}
