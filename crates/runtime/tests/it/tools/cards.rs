//! Tests of how often the card of an agent is fetched.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use futures_util::future::join_all;
use latimer_runtime::tools::{AgentTool, ToolErrorCode};
use serde_json::json;

use super::{call_with_text, toolbox};
use crate::remote::short_timeouts;
use crate::remote::stub::{RecordedRequest, Stub, StubResponse};

/// Starts an agent that numbers its cards and fails every call while `is_broken` is set.
async fn start_agent(is_broken: Arc<AtomicBool>) -> Stub {
    let cards = AtomicUsize::new(0);
    Stub::start(move |request| match is_card_request(request) {
        true => {
            let host = request.head.lines().find_map(|it| it.strip_prefix("host: ")).unwrap();
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
            StubResponse::new(200, "application/json", &card.to_string())
        }
        false if is_broken.load(SeqCst) => StubResponse::new(500, "text/html", "<h1>Oops</h1>"),
        false => {
            let reply = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]});
            StubResponse::Close(StubResponse::event_stream(&[
                &json!({ "message": reply }).to_string()
            ]))
        }
    })
    .await
}

fn is_card_request(request: &RecordedRequest) -> bool {
    request.head.starts_with("GET")
}

fn card_requests(stub: &Stub) -> usize {
    stub.requests().iter().filter(|it| is_card_request(it)).count()
}

#[tokio::test]
async fn card_is_fetched_once_and_again_after_error() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let stub = start_agent(Arc::clone(&is_broken)).await;
    let url = format!("http://{}", stub.address());
    let tools = toolbox(AgentTool::new("stub", url).configure_client(short_timeouts));
    for output in join_all((0..20).map(|_| call_with_text(&tools, "hello"))).await {
        assert_eq!(output.unwrap().text, "hi");
    }
    assert_eq!(card_requests(&stub), 1);
    assert_eq!(tools.definitions()[0].description, "Asks the agent card 0: d");

    is_broken.store(true, SeqCst);
    let failed = join_all((0..20).map(|_| call_with_text(&tools, "hello"))).await;
    assert!(
        failed.iter().all(|it| it.as_ref().is_err_and(|it| it.code() == ToolErrorCode::A2aError))
    );
    assert_eq!(
        tools.definitions()[0].description,
        "Asks the agent card 0: d",
        "the last known card"
    );

    is_broken.store(false, SeqCst);
    let before = card_requests(&stub);
    for _ in 0..3 {
        assert_eq!(call_with_text(&tools, "hello").await.unwrap().text, "hi");
    }
    assert_eq!(card_requests(&stub), before + 1);
    let description = format!("Asks the agent card {before}: d");
    assert_eq!(tools.definitions()[0].description, description);
}

#[tokio::test]
async fn failed_discovery_is_shared_but_not_cached() {
    let is_available = Arc::new(AtomicBool::new(false));
    let serves_card = Arc::clone(&is_available);
    let stub = Stub::start(move |_| match serves_card.load(SeqCst) {
        false => StubResponse::new(404, "text/plain", "none"),
        true => StubResponse::new(200, "application/json", "[]"),
    })
    .await;
    let url = format!("http://{}", stub.address());
    let tools = toolbox(AgentTool::new("stub", url).configure_client(short_timeouts));
    for failed in join_all((0..20).map(|_| call_with_text(&tools, "hello"))).await {
        let error = failed.unwrap_err();
        assert!(error.message().contains("as configured"), "{error}");
    }
    let once = card_requests(&stub);
    assert_eq!(once, 2, "at both well-known paths");
    // An invalid card is not cached, either.
    is_available.store(true, SeqCst);
    for round in 1..3 {
        call_with_text(&tools, "hello").await.unwrap_err();
        assert_eq!(card_requests(&stub), once + 2 * round);
    }
}
