//! Allow lists of agents.

use latimer_pb::v1;
use latimer_protocol::Secret;
use latimer_protocol::card::AgentCard;
use latimer_server::store::{MemoryStore, SqliteConfig, SqliteStore};
use latimer_server::{Access, Agent, ApiKeys, KeyDigest, Server, Settings};
use serde_json::json;
use tonic::Code;
use tonic::transport::Endpoint;

use crate::support::{TestServer, message, send_body, start_server, test_agent};

/// Creates two keys, one of them with a scope.
fn api_keys() -> ApiKeys {
    let digest = |key: &str| KeyDigest::from_key(&Secret::new(key));
    ApiKeys::default().with_key("ann", digest("ann"), ["deploy"]).with_key(
        "bob",
        digest("bob"),
        [""; 0],
    )
}

fn allow_only(principals: &[&str], scopes: &[&str]) -> Access {
    let texts = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
    Access { principals: texts(principals), scopes: texts(scopes) }
}

fn restricted_agent(name: &str, access: Access) -> Agent {
    let extended = AgentCard { name: format!("{name} extended"), ..AgentCard::default() };
    test_agent(name).with_extended_card(extended).with_access(access)
}

fn rpc_body(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// Creates a task and returns its id.
async fn create_task(server: &TestServer, key: &'static str, path: &str) -> String {
    let response = server
        .v1()
        .with_header("x-api-key", key)
        .post(path, send_body("SendMessage", "ask"))
        .await
        .json();
    response["result"]["task"]["id"].as_str().unwrap_or_else(|| panic!("{response}")).to_owned()
}

#[tokio::test]
async fn every_operation_checks_agent_access() {
    let agents = [
        restricted_agent("listed", allow_only(&["key:ann"], &[])),
        restricted_agent("scoped", allow_only(&[], &["deploy"])),
    ];
    let [listed, scoped] = agents;
    let server = Server::new(test_agent("open")).with_agent(listed).with_agent(scoped);
    let server = start_server(server.authenticate(api_keys())).await;
    for name in ["listed", "scoped"] {
        let path = format!("/a2a/agents/{name}");
        let id = create_task(&server, "ann", &path).await;
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
            let bob = server.v1().with_header("x-api-key", "bob");
            let by_path = bob.post(&path, rpc_body(method, params)).await;
            assert_eq!(
                (by_path.status, by_path.rpc_error_code()),
                (403, -31403),
                "{name} {method}"
            );
            let tenant = params.replacen('{', &format!(r#"{{"tenant":"{name}","#), 1);
            let by_tenant = bob.post("/a2a", rpc_body(method, &tenant.replace(",}", "}"))).await;
            assert_eq!(
                (by_tenant.status, by_tenant.rpc_error_code()),
                (403, -31403),
                "{name} {method}"
            );
            let ann = server.v1().with_header("x-api-key", "ann");
            let allowed = ann.post(&path, rpc_body(method, params)).await;
            assert_eq!(allowed.status, 200, "{name} {method}: {}", allowed.text());
        }
        let bob = server.v1().with_header("x-api-key", "bob");
        for method in [
            "CreateTaskPushNotificationConfig",
            "GetTaskPushNotificationConfig",
            "ListTaskPushNotificationConfigs",
            "DeleteTaskPushNotificationConfig",
        ] {
            let refused = bob.post(&path, rpc_body(method, &push)).await;
            assert_eq!(
                (refused.status, refused.rpc_error_code()),
                (403, -31403),
                "{name} {method}"
            );
        }
        assert_eq!(bob.get(&format!("{path}/.well-known/agent-card.json")).await.status, 200);
    }
    let bob = server.v1().with_header("x-api-key", "bob");
    let by_metadata = message("hi").replacen('{', r#"{"metadata":{"agent":"listed"},"#, 1);
    let refused =
        bob.post("/a2a", rpc_body("SendMessage", &format!(r#"{{"message":{by_metadata}}}"#))).await;
    assert_eq!((refused.status, refused.rpc_error_code()), (403, -31403));
    assert_eq!(bob.post("/a2a", send_body("SendMessage", "hi")).await.status, 200);
    let rest = bob.get("/a2a/agents/scoped/tasks").await;
    assert_eq!((rest.status, &rest.json()["error"]["status"]), (403, &json!("PERMISSION_DENIED")));
    assert!(rest.header("www-authenticate").contains(r#"scope="deploy""#));
    let listed = bob.get("/a2a/agents/listed/tasks").await;
    assert_eq!(listed.header("www-authenticate"), "", "other credentials would not help");
    let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap();
    let mut client = v1::client::A2aServiceClient::new(endpoint.connect().await.unwrap());
    let list = v1::ListTasksRequest { tenant: "listed".into(), ..Default::default() };
    let mut request = tonic::Request::new(list);
    request.metadata_mut().insert("x-api-key", "bob".parse().unwrap());
    assert_eq!(client.list_tasks(request).await.unwrap_err().code(), Code::PermissionDenied);
}

/// A caller that loses access to an agent loses access to its tasks there, also on the root path, which
/// finds the tasks of all agents.
#[tokio::test]
async fn shared_endpoint_does_not_expose_restricted_agents() {
    let directory = tempfile::TempDir::new().unwrap();
    let open_store =
        || SqliteStore::open(directory.path().join("tasks.db"), SqliteConfig::default()).unwrap();
    let serve = |access: Access| {
        let server = Server::new(test_agent("open")).with_agent(restricted_agent("other", access));
        server.store(open_store()).authenticate(api_keys())
    };
    let before = start_server(serve(Access::default())).await;
    let restricted_task = create_task(&before, "bob", "/a2a/agents/other").await;
    let open_task = create_task(&before, "bob", "/a2a/agents/open").await;
    before.running.shutdown().await;
    let after = start_server(serve(allow_only(&["key:ann"], &[]))).await;
    let bob = after.v1().with_header("x-api-key", "bob");
    assert_eq!(bob.get(&format!("/a2a/tasks/{open_task}")).await.status, 200);
    assert_eq!(bob.get(&format!("/a2a/tasks/{restricted_task}")).await.status, 403);
    let list = bob.get("/a2a/tasks").await.json();
    assert_eq!((&list["totalSize"], &list["tasks"][0]["id"]), (&json!(1), &json!(open_task)));
    let follow_up = message("hi").replacen('{', &format!(r#"{{"taskId":"{restricted_task}","#), 1);
    let sent = bob.post("/a2a/message:send", format!(r#"{{"message":{follow_up}}}"#)).await;
    assert_eq!(sent.status, 403, "{}", sent.text());
}

#[tokio::test]
async fn restricted_primary_agent_does_not_restrict_others() {
    let server = Server::new(restricted_agent("first", allow_only(&["key:ann"], &[])))
        .with_agent(test_agent("second"));
    let server = start_server(server.store(MemoryStore::default()).authenticate(api_keys())).await;
    let bob = server.v1().with_header("x-api-key", "bob");
    assert_eq!(bob.post("/a2a", send_body("SendMessage", "hi")).await.status, 403);
    let id = create_task(&server, "bob", "/a2a/agents/second").await;
    assert_eq!(bob.get(&format!("/a2a/tasks/{id}")).await.status, 200);
    assert_eq!(bob.get("/a2a/tasks").await.json()["totalSize"], 1);
    assert_eq!(bob.get("/.well-known/agent-card.json").await.json()["name"], "first");
}

#[tokio::test]
async fn anonymous_caller_of_restricted_agent_gets_a_challenge() {
    let settings = Settings { public_paths: vec!["/a2a/*".into()], ..Settings::default() };
    let server =
        Server::new(restricted_agent("closed", allow_only(&["key:ann"], &[]))).settings(settings);
    let server = start_server(server.authenticate(api_keys())).await;
    let refused = server.v1().get("/a2a/tasks/x").await;
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("www-authenticate"), r#"Bearer realm="latimer""#);
}
