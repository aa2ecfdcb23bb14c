//! Agents that are not for everybody.

use latimer_pb::v1;
use latimer_protocol::Secret;
use latimer_protocol::card::AgentCard;
use latimer_server::store::{MemoryStore, SqliteConfig, SqliteStore};
use latimer_server::{Access, Agent, KeyDigest, Keys, Server, Settings};
use serde_json::json;
use tonic::Code;
use tonic::transport::Endpoint;

use crate::support::{Site, agent, message, send, site};

/// Two keys: one has a scope.
fn keys() -> Keys {
    let digest = |key: &str| KeyDigest::of(&Secret::new(key));
    Keys::default().with("ann", digest("ann"), ["deploy"]).with("bob", digest("bob"), [""; 0])
}

fn only(principals: &[&str], scopes: &[&str]) -> Access {
    let texts = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
    Access { principals: texts(principals), scopes: texts(scopes) }
}

fn closed(name: &str, access: Access) -> Agent {
    let extended = AgentCard { name: format!("{name} for friends"), ..AgentCard::default() };
    agent(name).with_extended_card(extended).with_access(access)
}

fn call(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// Has a task made, and returns its name.
async fn make(site: &Site, key: &'static str, path: &str) -> String {
    let made = site.v1().with("x-api-key", key).post(path, send("SendMessage", "ask")).await.json();
    made["result"]["task"]["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
}

#[tokio::test]
async fn every_operation_asks_whether_the_caller_may() {
    let agents =
        [closed("listed", only(&["key:ann"], &[])), closed("scoped", only(&[], &["deploy"]))];
    let [listed, scoped] = agents;
    let server = Server::new(agent("open")).with_agent(listed).with_agent(scoped);
    let site = site(server.authenticate(keys())).await;
    for name in ["listed", "scoped"] {
        let path = format!("/a2a/agents/{name}");
        let id = make(&site, "ann", &path).await;
        let task = format!(r#"{{"id":"{id}"}}"#);
        let push = format!(r#"{{"taskId":"{id}","id":"p","url":"https://x.example"}}"#);
        let sent = format!(r#"{{"message":{}}}"#, message("hi"));
        for (method, params) in [
            ("SendMessage", &*sent),
            ("SendStreamingMessage", &sent),
            ("GetTask", &task),
            ("ListTasks", "{}"),
            ("CancelTask", &task),
            ("SubscribeToTask", &task),
            ("GetExtendedAgentCard", "{}"),
        ] {
            let bob = site.v1().with("x-api-key", "bob");
            let at_own = bob.post(&path, call(method, params)).await;
            assert_eq!((at_own.status, at_own.code()), (403, -31403), "{name} {method}");
            let tenant = params.replacen('{', &format!(r#"{{"tenant":"{name}","#), 1);
            let by_tenant = bob.post("/a2a", call(method, &tenant.replace(",}", "}"))).await;
            assert_eq!((by_tenant.status, by_tenant.code()), (403, -31403), "{name} {method}");
            let ann = site.v1().with("x-api-key", "ann");
            let allowed = ann.post(&path, call(method, params)).await;
            assert_eq!(allowed.status, 200, "{name} {method}: {}", allowed.text());
        }
        let bob = site.v1().with("x-api-key", "bob");
        for method in [
            "CreateTaskPushNotificationConfig",
            "GetTaskPushNotificationConfig",
            "ListTaskPushNotificationConfigs",
            "DeleteTaskPushNotificationConfig",
        ] {
            let refused = bob.post(&path, call(method, &push)).await;
            assert_eq!((refused.status, refused.code()), (403, -31403), "{name} {method}");
        }
        assert_eq!(bob.get(&format!("{path}/.well-known/agent-card.json")).await.status, 200);
    }
    let bob = site.v1().with("x-api-key", "bob");
    let by_metadata = message("hi").replacen('{', r#"{"metadata":{"agent":"listed"},"#, 1);
    let refused =
        bob.post("/a2a", call("SendMessage", &format!(r#"{{"message":{by_metadata}}}"#))).await;
    assert_eq!((refused.status, refused.code()), (403, -31403));
    assert_eq!(bob.post("/a2a", send("SendMessage", "hi")).await.status, 200);
    let rest = bob.get("/a2a/agents/scoped/tasks").await;
    assert_eq!((rest.status, &rest.json()["error"]["status"]), (403, &json!("PERMISSION_DENIED")));
    assert!(rest.header("www-authenticate").contains(r#"scope="deploy""#));
    let listed = bob.get("/a2a/agents/listed/tasks").await;
    assert_eq!(listed.header("www-authenticate"), "", "no other key would be of use");
    let endpoint = Endpoint::from_shared(format!("http://{}", site.address)).unwrap();
    let mut client = v1::client::A2aServiceClient::new(endpoint.connect().await.unwrap());
    let asked = v1::ListTasksRequest { tenant: "listed".into(), ..Default::default() };
    let mut request = tonic::Request::new(asked);
    request.metadata_mut().insert("x-api-key", "bob".parse().unwrap());
    assert_eq!(client.list_tasks(request).await.unwrap_err().code(), Code::PermissionDenied);
}

/// A task that was made when its caller was welcome is closed with the agent, also where the tasks
/// of all agents are found.
#[tokio::test]
async fn the_common_address_leads_to_no_closed_agent() {
    let folder = tempfile::TempDir::new().unwrap();
    let open =
        || SqliteStore::open(folder.path().join("tasks.db"), SqliteConfig::default()).unwrap();
    let serve = |access: Access| {
        let server = Server::new(agent("open")).with_agent(closed("other", access));
        server.store(open()).authenticate(keys())
    };
    let before = site(serve(Access::default())).await;
    let theirs = make(&before, "bob", "/a2a/agents/other").await;
    let own = make(&before, "bob", "/a2a/agents/open").await;
    before.running.shutdown().await;
    let after = site(serve(only(&["key:ann"], &[]))).await;
    let bob = after.v1().with("x-api-key", "bob");
    assert_eq!(bob.get(&format!("/a2a/tasks/{own}")).await.status, 200);
    assert_eq!(bob.get(&format!("/a2a/tasks/{theirs}")).await.status, 403);
    let list = bob.get("/a2a/tasks").await.json();
    assert_eq!((&list["totalSize"], &list["tasks"][0]["id"]), (&json!(1), &json!(own)));
    let answer = message("hi").replacen('{', &format!(r#"{{"taskId":"{theirs}","#), 1);
    let sent = bob.post("/a2a/message:send", format!(r#"{{"message":{answer}}}"#)).await;
    assert_eq!(sent.status, 403, "{}", sent.text());
}

#[tokio::test]
async fn a_closed_primary_agent_closes_no_other() {
    let server = Server::new(closed("first", only(&["key:ann"], &[]))).with_agent(agent("second"));
    let site = site(server.store(MemoryStore::default()).authenticate(keys())).await;
    let bob = site.v1().with("x-api-key", "bob");
    assert_eq!(bob.post("/a2a", send("SendMessage", "hi")).await.status, 403);
    let id = make(&site, "bob", "/a2a/agents/second").await;
    assert_eq!(bob.get(&format!("/a2a/tasks/{id}")).await.status, 200);
    assert_eq!(bob.get("/a2a/tasks").await.json()["totalSize"], 1);
    assert_eq!(bob.get("/.well-known/agent-card.json").await.json()["name"], "first");
}

#[tokio::test]
async fn somebody_unknown_is_asked_who_they_are() {
    let settings = Settings { public_paths: vec!["/a2a/*".into()], ..Settings::default() };
    let server = Server::new(closed("closed", only(&["key:ann"], &[]))).settings(settings);
    let site = site(server.authenticate(keys())).await;
    let refused = site.v1().get("/a2a/tasks/x").await;
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("www-authenticate"), r#"Bearer realm="latimer""#);
}
