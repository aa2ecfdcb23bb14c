//! Who may look after dead letters.

use http::{HeaderMap, Method};
use latimer_protocol::Caller as Known;
use latimer_server::{OPERATOR, PushSettings, Server};

use super::{Receiver, at, hasty, send, server};
use crate::support::{Caller, Site, site};

const DEAD: &str = "/api/push/dead";

/// A server on which one event was given up, and the id of that.
async fn with_dead_letter(server: Server, caller: impl Fn(&Caller) -> Caller) -> (Site, String) {
    let receiver = Receiver::that(|number| Some(if number == 0 { 500 } else { 200 })).await;
    let site = site(server).await;
    let operator = caller(&site);
    operator.v1().post("/a2a", send("one", &at(&receiver.url("/")), false)).await;
    receiver.taken(3).await;
    let letters = operator.get(DEAD).await.json();
    let id = letters["letters"][0]["id"].as_str().unwrap().to_owned();
    (site, id)
}

fn impatient() -> PushSettings {
    PushSettings { attempts: 1, ..hasty() }
}

#[tokio::test]
async fn on_this_machine_everybody_does_but_no_page() {
    let (caller, id) = with_dead_letter(server(impatient()), Clone::clone).await;
    for stranger in
        [caller.with("host", "evil.example"), caller.with("origin", "http://evil.example")]
    {
        assert_eq!(stranger.get(DEAD).await.status, 403);
        assert_eq!(stranger.ask(Method::DELETE, &format!("{DEAD}/{id}"), "").await.status, 403);
        assert_eq!(stranger.post(&format!("{DEAD}/{id}/replay"), "").await.status, 403);
    }
    assert_eq!(caller.get(DEAD).await.json()["letters"].as_array().unwrap().len(), 1);
    let replayed = caller.post(&format!("{DEAD}/{id}/replay"), "").await;
    assert_eq!(replayed.json()["delivered"], true, "{}", replayed.text());
    assert_eq!(caller.ask(Method::DELETE, &format!("{DEAD}/{id}"), "").await.status, 404);
    for path in [&format!("{DEAD}/{id}/else"), &format!("{DEAD}/{id}")] {
        assert_eq!(caller.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn where_callers_are_known_operators_do_and_nobody_else() {
    let known = |headers: &HeaderMap| match headers.get("authorization")?.to_str().ok()? {
        "Bearer operator" => Some(Known::new("operator").with_scopes([OPERATOR])),
        "Bearer caller" => Some(Known::new("caller").with_scopes(["latimer:other"])),
        _ => None,
    };
    let operator = |it: &Caller| it.with("authorization", "Bearer operator");
    let (caller, id) = with_dead_letter(server(impatient()).auth(known), operator).await;
    for (who, want) in [("Bearer caller", 403), ("Bearer wrong", 401), ("", 401)] {
        let caller = caller.with("authorization", who);
        assert_eq!(caller.get(DEAD).await.status, want, "{who}");
        let forget = caller.ask(Method::DELETE, &format!("{DEAD}/{id}"), "").await;
        assert_eq!(forget.status, want, "{who}");
        assert!(!forget.text().contains("letter"), "{}", forget.text());
    }
    let dropped = operator(&caller).ask(Method::DELETE, &format!("{DEAD}/{id}"), "").await;
    assert_eq!((dropped.status, &dropped.json()["dropped"]), (200, &true.into()));
}

#[tokio::test]
async fn from_elsewhere_nobody_does_without_saying_who() {
    let running = server(impatient()).bind("0.0.0.0:0").listen().await.unwrap();
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], running.address().port()));
    assert_eq!(Caller::new(address).get(DEAD).await.status, 403);
}
