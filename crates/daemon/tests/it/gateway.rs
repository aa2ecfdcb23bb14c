//! The card of an agent elsewhere: checked before it is believed, and signed anew.

use std::fs;
use std::time::{Duration, Instant};

use latimer_client::{Client, Error, Trust, says};
use latimer_daemon::Daemon;
use latimer_protocol::SendMessageResponse;
use latimer_protocol::card::{JwsAlgorithm, KeySet, SigningKey};
use latimer_server::generate;

use crate::surroundings::Place;

/// Longer than anything here takes, on a busy machine too.
const PATIENT: Duration = Duration::from_secs(30);

struct Keys {
    private: String,
    public: KeySet,
}

fn keys() -> Keys {
    let private = generate(JwsAlgorithm::EdDsa).unwrap().reveal().to_owned();
    let mut public = KeySet::default();
    public.insert(SigningKey::read(&private).unwrap().verifying_key().unwrap());
    Keys { private, public }
}

async fn start(place: &Place) -> Daemon {
    Daemon::start(&place.load().unwrap().config).await.unwrap()
}

fn demo(key: &Keys) -> Place {
    let place = Place::with(
        "listen = \"127.0.0.1:0\"\n[[agents]]\nname = \"demo\"\nkind = \"demo\"\n\
         [signing]\nkey = \"own.pem\"\n[store]\nkind = \"memory\"\n",
    );
    fs::write(place.folder.path().join("own.pem"), &key.private).unwrap();
    place
}

fn gateway(behind: &Daemon, trusted: &Keys, own: &Keys) -> Place {
    let place = Place::with(&format!(
        "listen = \"127.0.0.1:0\"\n[[agents]]\nname = \"partner\"\nkind = \"a2a\"\n\
         url = \"http://{}\"\nsignatures = \"required\"\ntrusted_keys = [\"theirs.json\"]\n\
         [signing]\nkey = \"own.pem\"\n[store]\nkind = \"memory\"\n",
        behind.address(),
    ));
    let trusted: Vec<_> = trusted.public.iter().map(|it| it.to_jwk().unwrap()).collect();
    let trusted = serde_json::json!({ "keys": trusted });
    fs::write(place.folder.path().join("theirs.json"), trusted.to_string()).unwrap();
    fs::write(place.folder.path().join("own.pem"), &own.private).unwrap();
    place
}

#[tokio::test]
async fn a_card_is_checked_and_signed_anew() {
    let (theirs, own, other) = (keys(), keys(), keys());
    let behind = start(&demo(&theirs)).await;

    let trusting = start(&gateway(&behind, &theirs, &own)).await;
    let url = format!("http://{}", trusting.address());
    let client = Client::new(&format!("{url}/a2a")).unwrap();
    let Ok(SendMessageResponse::Task(task)) = client.send(says("echo hello")).await else {
        panic!("no task")
    };
    assert_eq!(task.text(), "hello");
    let card = |keys: &Keys| Client::builder(&url).trust(Trust::Signed(keys.public.clone())).card();
    let found = card(&own).await.unwrap();
    assert_eq!(found.name, "demo", "it is that of the agent, signed by us");
    assert!(matches!(card(&theirs).await, Err(Error::Signature(_))));

    let distrustful = start(&gateway(&behind, &other, &own)).await;
    let client = Client::new(&format!("http://{}/a2a", distrustful.address())).unwrap();
    let since = Instant::now();
    let Err(Error::Agent(refused)) = client.send(says("echo hello")).await else {
        panic!("a card of somebody else is believed")
    };
    assert!(refused.message().contains("not been found yet"), "{refused}");
    assert!(since.elapsed() < PATIENT);
}
