//! Forbidden webhook URLs, at registration and at delivery.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use latimer_server::outbound::{Dial, Guard, HttpClient, Resolve, Rules};
use latimer_server::{PushSettings, Server, Settings, WebhookDispatcher};
use serde_json::json;
use tokio::net::TcpStream;

use super::{
    Receiver, chatty_agent, identified, send_with_webhook, short_timeouts, start_chatty_server,
    task_id, wait_for_dead_letters, webhook_at, webhook_server,
};
use crate::support::{TestServer, start_server};

/// URLs that a server on a public address must reject.
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
    "https://hooks.localhost/",
    "https://a.b.LOCALHOST./",
    "https://example.com:0/",
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

/// Resolver that knows `localhost` and resolves every other name to one public address.
#[derive(Debug)]
struct FakeResolver;

#[async_trait]
impl Resolve for FakeResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![if name == "localhost" { [127, 0, 0, 1] } else { [93, 184, 215, 14] }.into()])
    }
}

/// Resolver that returns its addresses in turn and then repeats the last one.
#[derive(Debug)]
struct ChangingResolver {
    addresses: Mutex<Vec<IpAddr>>,
}

#[async_trait]
impl Resolve for ChangingResolver {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let mut addresses = self.addresses.lock().unwrap();
        let address = if addresses.len() > 1 { addresses.remove(0) } else { addresses[0] };
        Ok(vec![address])
    }
}

/// Dialer that records addresses and refuses every connection.
#[derive(Clone, Debug, Default)]
struct DialRecorder(Arc<Mutex<Vec<SocketAddr>>>);

#[async_trait]
impl Dial for DialRecorder {
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.0.lock().unwrap().push(address);
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

/// Starts a server that resolves webhook hosts to these addresses, with a recording dialer.
async fn recording_server(
    rules: Rules,
    addresses: &[&str],
    push: PushSettings,
) -> (TestServer, DialRecorder, WebhookDispatcher) {
    let addresses = Mutex::new(addresses.iter().map(|it| it.parse().unwrap()).collect());
    recording_server_with(rules, Arc::new(ChangingResolver { addresses }), push).await
}

async fn recording_server_with(
    rules: Rules,
    resolver: Arc<dyn Resolve>,
    push: PushSettings,
) -> (TestServer, DialRecorder, WebhookDispatcher) {
    let recorder = DialRecorder::default();
    let guard = Guard::with_resolver(rules, resolver);
    let client =
        HttpClient::builder(guard.clone()).dialer(Arc::new(recorder.clone())).build().unwrap();
    let created = Arc::new(Mutex::new(None));
    let dispatcher = created.clone();
    let server = webhook_server(push.clone()).with_dispatcher(move |store| {
        let dispatcher =
            WebhookDispatcher::with_client(store, push.clone(), guard.clone(), client.clone());
        *created.lock().unwrap() = Some(dispatcher.clone());
        dispatcher
    });
    let server = start_server(server).await;
    let dispatcher = dispatcher.lock().unwrap().take().unwrap();
    (server, recorder, dispatcher)
}

#[tokio::test]
async fn forbidden_webhook_url_is_rejected_at_registration() {
    let (server, recorder, _dispatcher) =
        recording_server_with(Rules::default(), Arc::new(FakeResolver), short_timeouts()).await;
    let created = server.v1().post("/a2a", crate::support::send_body("SendMessage", "ask")).await;
    let task = task_id(&created);
    for url in FORBIDDEN {
        let response =
            server.v1().post("/a2a", send_with_webhook("one", &webhook_at(url), false)).await;
        assert_eq!(response.rpc_error_code(), -32602, "{url}: {}", response.text());
        let create = json!({"jsonrpc": "2.0", "id": 1, "method": "CreateTaskPushNotificationConfig",
            "params": {"taskId": task, "url": url}});
        let response = server.v1().post("/a2a", create.to_string()).await;
        assert_eq!(response.rpc_error_code(), -32602, "{url}: {}", response.text());
        let older = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/pushNotificationConfig/set",
            "params": {"taskId": task, "pushNotificationConfig": {"url": url}}});
        let response = server.post("/a2a", older.to_string()).await;
        assert_eq!(response.rpc_error_code(), -32602, "{url}: {}", response.text());
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTaskPushNotificationConfigs",
        "params": {"taskId": task}});
    let list = server.v1().post("/a2a", list.to_string()).await;
    assert_eq!(list.json()["result"]["configs"].as_array().map_or(0, Vec::len), 0);
    let tasks = server.v1().get("/a2a/tasks").await.json();
    assert_eq!(tasks["totalSize"], 1, "rejected calls created no task: {tasks}");
    assert_eq!(*recorder.0.lock().unwrap(), []);
}

#[tokio::test]
async fn rebound_host_is_not_called() {
    for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::ffff:192.168.0.1", "fd00::1"] {
        let push = PushSettings { max_attempts: 2, ..short_timeouts() };
        let addresses = ["93.184.215.14", address];
        let (server, recorder, dispatcher) =
            recording_server(Rules::default(), &addresses, push).await;
        let hook = webhook_at("https://hooks.example/");
        let response = server.v1().post("/a2a", send_with_webhook("one", &hook, false)).await;
        task_id(&response);
        wait_for_dead_letters(&dispatcher, 4).await;
        assert_eq!(*recorder.0.lock().unwrap(), [], "{address}");
        for dead_letter in dispatcher.dead_letters(9).await.unwrap() {
            let reason = dead_letter.dead_letter.reason;
            assert_eq!(reason, "the URL points to an address that is not allowed");
        }
    }
}

#[tokio::test]
async fn checked_address_is_the_one_dialed() {
    let push = PushSettings { max_attempts: 1, ..short_timeouts() };
    let (server, recorder, dispatcher) =
        recording_server(Rules::default(), &["93.184.215.14"], push).await;
    let hook = webhook_at("https://hooks.example:8443/");
    server.v1().post("/a2a", send_with_webhook("one", &hook, false)).await;
    wait_for_dead_letters(&dispatcher, 4).await;
    let want: SocketAddr = "93.184.215.14:8443".parse().unwrap();
    assert_eq!(*recorder.0.lock().unwrap(), [want; 4]);
}

#[tokio::test]
async fn allow_rule_covers_only_one_host_and_port() {
    let (receiver, neighbor) = (Receiver::new().await, Receiver::new().await);
    let allowed = receiver.url("").trim_start_matches("http://").parse().unwrap();
    let push =
        PushSettings { allow_loopback: Some(false), allow: vec![allowed], ..short_timeouts() };
    let server = start_chatty_server(push).await;
    let response = server
        .v1()
        .post("/a2a", send_with_webhook("one", &webhook_at(&neighbor.url("/")), false))
        .await;
    assert_eq!(response.rpc_error_code(), -32602, "{}", response.text());
    server
        .v1()
        .post("/a2a", send_with_webhook("one", &webhook_at(&receiver.url("/")), false))
        .await;
    receiver.wait_accepted(4).await;
    assert!(neighbor.received().is_empty());
}

#[tokio::test]
async fn loopback_webhooks_require_a_loopback_only_server() {
    let receiver = Receiver::new().await;
    let hook = webhook_at(&receiver.url("/"));
    let loopback_only = start_chatty_server(short_timeouts()).await;
    task_id(&loopback_only.v1().post("/a2a", send_with_webhook("one", &hook, false)).await);
    receiver.wait_accepted(4).await;
    let running =
        identified(webhook_server(short_timeouts())).bind("0.0.0.0:0").listen().await.unwrap();
    let port = running.address().port();
    let caller = crate::support::TestClient::new(SocketAddr::from(([127, 0, 0, 1], port)));
    let response = caller.v1().post("/a2a", send_with_webhook("one", &hook, false)).await;
    assert_eq!(response.rpc_error_code(), -32602, "{}", response.text());
    // A proxy on this machine forwards remote callers.
    let mut settings = Settings { push: short_timeouts(), ..Settings::default() };
    settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    let proxied = start_server(identified(Server::new(chatty_agent()).settings(settings))).await;
    let response = proxied.v1().post("/a2a", send_with_webhook("one", &hook, false)).await;
    assert_eq!(response.rpc_error_code(), -32602, "{}", response.text());
    let open = PushSettings { allow_loopback: Some(true), ..short_timeouts() };
    let running = identified(webhook_server(open)).bind("0.0.0.0:0").listen().await.unwrap();
    let port = running.address().port();
    let caller = crate::support::TestClient::new(SocketAddr::from(([127, 0, 0, 1], port)));
    task_id(&caller.v1().post("/a2a", send_with_webhook("one", &hook, false)).await);
    receiver.wait_accepted(8).await;
}

#[tokio::test]
async fn loopback_rule_does_not_allow_private_addresses() {
    let rules = Rules { allow_loopback: true, ..Rules::default() };
    let (server, recorder, _dispatcher) =
        recording_server_with(rules, Arc::new(FakeResolver), short_timeouts()).await;
    for url in ["http://10.0.0.1/", "https://192.168.0.1/", "http://169.254.169.254/"] {
        let response =
            server.v1().post("/a2a", send_with_webhook("one", &webhook_at(url), false)).await;
        assert_eq!(response.rpc_error_code(), -32602, "{}", response.text());
    }
    assert_eq!(*recorder.0.lock().unwrap(), []);
}

#[tokio::test]
async fn unresolvable_host_is_accepted_at_registration() {
    #[derive(Debug)]
    struct FailingResolver;
    #[async_trait]
    impl Resolve for FailingResolver {
        async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            Err(io::ErrorKind::NotFound.into())
        }
    }
    let guard = Guard::with_resolver(Rules::default(), Arc::new(FailingResolver));
    let client = HttpClient::builder(guard.clone()).build().unwrap();
    let push = PushSettings { initial_backoff: Duration::from_secs(600), ..short_timeouts() };
    let server = webhook_server(push.clone()).with_dispatcher(move |store| {
        WebhookDispatcher::with_client(store, push.clone(), guard.clone(), client.clone())
    });
    let server = start_server(server).await;
    let response = server
        .v1()
        .post("/a2a", send_with_webhook("one", &webhook_at("https://soon.example/"), false))
        .await;
    task_id(&response);
}
