//! Where nothing is sent to: at registration, and when it comes to it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use latimer_server::outbound::{Dial, Guard, HttpClient, Resolve, Rules};
use latimer_server::{Courier, PushSettings, Server, Settings};
use serde_json::json;
use tokio::net::TcpStream;

use super::{Receiver, at, hasty, id, send, server, talker, talking};
use crate::support::{Site, site};

/// Not one of these may be called, by a server that anybody reaches.
const FORBIDDEN: &[&str] = &[
    "http://example.com/hook",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:70/",
    "https://user:password@example.com/",
    "https://127.0.0.1/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f.0.0.1/",
    "https://0177.0.0.1/",
    "https://localhost/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://0.0.0.0/",
    "https://[::]/",
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://metadata.google.internal/",
    "https://[fd00:ec2::254]/",
    "https://[fe80::1]/",
    "https://[fc00::1]/",
    "https://[64:ff9b::a00:1]/",
    "https://[2002:7f00:1::]/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "not a url",
    "",
];

/// Knows this machine, and one that is elsewhere.
#[derive(Debug)]
struct Names;

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![if name == "localhost" { [127, 0, 0, 1] } else { [93, 184, 215, 14] }.into()])
    }
}

/// A resolver that says one thing first and another from then on.
#[derive(Debug)]
struct Fickle {
    answers: Mutex<Vec<IpAddr>>,
}

#[async_trait]
impl Resolve for Fickle {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0] };
        Ok(vec![answer])
    }
}

/// Opens no socket, and remembers where one should have led.
#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Vec<SocketAddr>>>);

#[async_trait]
impl Dial for Recorder {
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.0.lock().unwrap().push(address);
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

/// A server whose webhooks are resolved like this, and what it dials.
async fn recorded(rules: Rules, answers: &[&str], push: PushSettings) -> (Site, Recorder, Courier) {
    let answers = Mutex::new(answers.iter().map(|it| it.parse().unwrap()).collect());
    recorded_with(rules, Arc::new(Fickle { answers }), push).await
}

async fn recorded_with(
    rules: Rules,
    resolver: Arc<dyn Resolve>,
    push: PushSettings,
) -> (Site, Recorder, Courier) {
    let recorder = Recorder::default();
    let guard = Guard::with_resolver(rules, resolver);
    let client =
        HttpClient::builder(guard.clone()).dialer(Arc::new(recorder.clone())).build().unwrap();
    let made = Arc::new(Mutex::new(None));
    let courier = made.clone();
    let server = server(push.clone()).courier(move |store| {
        let courier = Courier::with_client(store, push.clone(), guard.clone(), client.clone());
        *made.lock().unwrap() = Some(courier.clone());
        courier
    });
    let site = site(server).await;
    let courier = courier.lock().unwrap().take().unwrap();
    (site, recorder, courier)
}

#[tokio::test]
async fn what_may_not_be_called_is_refused_at_registration() {
    let (site, recorder, _courier) =
        recorded_with(Rules::default(), Arc::new(Names), hasty()).await;
    let asked = site.v1().post("/a2a", crate::support::send("SendMessage", "ask")).await;
    let task = id(&asked);
    for url in FORBIDDEN {
        let answer = site.v1().post("/a2a", send("one", &at(url), false)).await;
        assert_eq!(answer.code(), -32602, "{url}: {}", answer.text());
        let create = json!({"jsonrpc": "2.0", "id": 1, "method": "CreateTaskPushNotificationConfig",
            "params": {"taskId": task, "url": url}});
        let answer = site.v1().post("/a2a", create.to_string()).await;
        assert_eq!(answer.code(), -32602, "{url}: {}", answer.text());
        let older = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/pushNotificationConfig/set",
            "params": {"taskId": task, "pushNotificationConfig": {"url": url}}});
        let answer = site.post("/a2a", older.to_string()).await;
        assert_eq!(answer.code(), -32602, "{url}: {}", answer.text());
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTaskPushNotificationConfigs",
        "params": {"taskId": task}});
    let list = site.v1().post("/a2a", list.to_string()).await;
    assert_eq!(list.json()["result"]["configs"].as_array().map_or(0, Vec::len), 0);
    let tasks = site.v1().get("/a2a/tasks").await.json();
    assert_eq!(tasks["totalSize"], 1, "nothing is left of what was refused: {tasks}");
    assert_eq!(*recorder.0.lock().unwrap(), []);
}

#[tokio::test]
async fn a_name_that_came_to_mean_something_else_is_not_called() {
    for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::ffff:192.168.0.1", "fd00::1"] {
        let push = PushSettings { attempts: 2, ..hasty() };
        let answers = ["93.184.215.14", address];
        let (site, recorder, courier) = recorded(Rules::default(), &answers, push).await;
        let hook = at("https://hooks.example/");
        let answer = site.v1().post("/a2a", send("one", &hook, false)).await;
        id(&answer);
        while courier.dead_letters(9).await.unwrap().len() < 4 {
            tokio::task::yield_now().await;
        }
        assert_eq!(*recorder.0.lock().unwrap(), [], "{address}");
        for letter in courier.dead_letters(9).await.unwrap() {
            let reason = letter.dead.reason;
            assert_eq!(reason, "the URL leads to an address that is not allowed");
        }
    }
}

#[tokio::test]
async fn what_was_checked_is_what_is_called() {
    let push = PushSettings { attempts: 1, ..hasty() };
    let (site, recorder, courier) = recorded(Rules::default(), &["93.184.215.14"], push).await;
    let hook = at("https://hooks.example:8443/");
    site.v1().post("/a2a", send("one", &hook, false)).await;
    while courier.dead_letters(9).await.unwrap().len() < 4 {
        tokio::task::yield_now().await;
    }
    let want: SocketAddr = "93.184.215.14:8443".parse().unwrap();
    assert_eq!(*recorder.0.lock().unwrap(), [want; 4]);
}

#[tokio::test]
async fn one_host_and_port_can_be_allowed_and_its_neighbour_is_not() {
    let (receiver, neighbour) = (Receiver::new().await, Receiver::new().await);
    let allowed = receiver.url("").trim_start_matches("http://").parse().unwrap();
    let push = PushSettings { allow_loopback: Some(false), allow: vec![allowed], ..hasty() };
    let site = talking(push).await;
    let answer = site.v1().post("/a2a", send("one", &at(&neighbour.url("/")), false)).await;
    assert_eq!(answer.code(), -32602, "{}", answer.text());
    site.v1().post("/a2a", send("one", &at(&receiver.url("/")), false)).await;
    receiver.taken(4).await;
    assert!(neighbour.got().is_empty());
}

#[tokio::test]
async fn this_machine_is_allowed_exactly_while_nobody_else_can_reach_the_server() {
    let receiver = Receiver::new().await;
    let hook = at(&receiver.url("/"));
    let local = talking(hasty()).await;
    id(&local.v1().post("/a2a", send("one", &hook, false)).await);
    receiver.taken(4).await;
    let running = server(hasty()).bind("0.0.0.0:0").listen().await.unwrap();
    let port = running.address().port();
    let caller = crate::support::Caller::new(SocketAddr::from(([127, 0, 0, 1], port)));
    let answer = caller.v1().post("/a2a", send("one", &hook, false)).await;
    assert_eq!(answer.code(), -32602, "{}", answer.text());
    // A proxy on this machine passes others on.
    let mut settings = Settings { push: hasty(), ..Settings::default() };
    settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    let proxied = site(Server::new(talker()).settings(settings)).await;
    let answer = proxied.v1().post("/a2a", send("one", &hook, false)).await;
    assert_eq!(answer.code(), -32602, "{}", answer.text());
    let open = PushSettings { allow_loopback: Some(true), ..hasty() };
    let running = server(open).bind("0.0.0.0:0").listen().await.unwrap();
    let port = running.address().port();
    let caller = crate::support::Caller::new(SocketAddr::from(([127, 0, 0, 1], port)));
    id(&caller.v1().post("/a2a", send("one", &hook, false)).await);
    receiver.taken(8).await;
}

#[tokio::test]
async fn private_addresses_are_no_part_of_this_machine() {
    let rules = Rules { allow_loopback: true, ..Rules::default() };
    let (site, recorder, _courier) = recorded_with(rules, Arc::new(Names), hasty()).await;
    for url in ["http://10.0.0.1/", "https://192.168.0.1/", "http://169.254.169.254/"] {
        let answer = site.v1().post("/a2a", send("one", &at(url), false)).await;
        assert_eq!(answer.code(), -32602, "{}", answer.text());
    }
    assert_eq!(*recorder.0.lock().unwrap(), []);
}

#[tokio::test]
async fn a_name_that_nobody_knows_yet_passes() {
    #[derive(Debug)]
    struct Nobody;
    #[async_trait]
    impl Resolve for Nobody {
        async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            Err(io::ErrorKind::NotFound.into())
        }
    }
    let guard = Guard::with_resolver(Rules::default(), Arc::new(Nobody));
    let client = HttpClient::builder(guard.clone()).build().unwrap();
    let push = PushSettings { first_pause: Duration::from_secs(600), ..hasty() };
    let server = server(push.clone()).courier(move |store| {
        Courier::with_client(store, push.clone(), guard.clone(), client.clone())
    });
    let site = site(server).await;
    let answer = site.v1().post("/a2a", send("one", &at("https://soon.example/"), false)).await;
    id(&answer);
}
