//! Servers inside an application: its own listener, its own routes, handles and in-process calls.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use latimer_protocol::{Call, GetTaskRequest, Reply, ReplyKind, Request, TaskId, TaskState};
use latimer_server::{Agent, Server, ServerHandle, Settings, Turn};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::support::{TestClient, TestResponse, send_body, shouter_server, test_agent, wait_until};

/// Exceeds the duration of every turn in these tests.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Application with its own listener, one route and the routes of the agents.
struct Application {
    client: TestClient,
    serving: JoinHandle<()>,
}

impl Application {
    async fn start(agents: Router) -> Self {
        let app = Router::new().route("/about", get(async || "an application")).merge(agents);
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TestClient::new(socket.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(socket, app).await.unwrap() });
        Self { client, serving }
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// An agent whose turns wait for a permit before they reply.
fn gated_agent() -> (Agent, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let turn_gate = Arc::clone(&gate);
    let agent = Agent::from_fn("gated", move |turn: Turn| {
        let gate = Arc::clone(&turn_gate);
        async move {
            turn.set_working().await?;
            if let Ok(permit) = gate.acquire().await {
                permit.forget();
            }
            turn.reply("done").await
        }
    });
    (agent, gate)
}

/// Sends a message and waits until the gated agent runs its turn.
async fn send_gated(client: &TestClient, handle: &ServerHandle) -> JoinHandle<TestResponse> {
    let caller = client.v1();
    let sending =
        tokio::spawn(async move { caller.post("/a2a", send_body("SendMessage", "go")).await });
    wait_until("the turn runs", async || handle.activity().turns > 0).await;
    sending
}

fn state(response: &TestResponse) -> String {
    response.json()["result"]["task"]["status"]["state"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn merged_router_drains_and_finishes_the_running_turn() {
    let (agent, gate) = gated_agent();
    let agents = Server::new(agent).assemble().await.unwrap();
    let app = Application::start(agents.router()).await;
    let handle = agents.handle();
    // The routers and handles outlive the assembled server.
    drop(agents);
    assert_eq!(app.client.get("/about").await.text(), "an application");

    let sending = send_gated(&app.client, &handle).await;
    assert_eq!(handle.activity().live_tasks, 1);
    let drain_handle = handle.clone();
    let draining = tokio::spawn(async move { drain_handle.drain(DRAIN_TIMEOUT).await });
    let is_draining = async || app.client.get("/ready").await.status == 503;
    wait_until("the server drains", is_draining).await;
    let rejected = app.client.v1().post("/a2a", send_body("SendMessage", "late")).await;
    assert_eq!(rejected.rpc_error_code(), -31503, "{}", rejected.text());
    assert!(!draining.is_finished());

    gate.add_permits(1);
    assert_eq!(state(&sending.await.unwrap()), "TASK_STATE_COMPLETED");
    draining.await.unwrap();
    assert_eq!(handle.activity().turns, 0);
    assert_eq!(app.client.get("/about").await.status, 200, "the listener is the application's");
}

#[tokio::test]
async fn drain_stops_at_its_limit() {
    let (agent, _gate) = gated_agent();
    let agents = Server::new(agent).assemble().await.unwrap();
    let app = Application::start(agents.router()).await;
    let handle = agents.handle();
    let sending = send_gated(&app.client, &handle).await;
    handle.drain(Duration::from_millis(50)).await;
    assert_eq!(handle.activity().turns, 0);
    assert_ne!(state(&sending.await.unwrap()), "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn nested_router_serves_calls_below_its_prefix() {
    let agents = shouter_server(Settings::default()).assemble().await.unwrap();
    let app = Application::start(Router::new().nest("/team", agents.router())).await;
    let sent = app.client.v1().post("/team/a2a", send_body("SendMessage", "hi")).await;
    assert_eq!(state(&sent), "TASK_STATE_COMPLETED");
    assert_eq!(app.client.get("/team/.well-known/agent-card.json").await.json()["name"], "shouter");
    assert_eq!(app.client.get("/about").await.text(), "an application");
    assert_eq!(app.client.get("/a2a").await.status, 404);
}

#[tokio::test]
async fn in_process_service_shares_tasks_with_the_router() {
    let agents = shouter_server(Settings::default()).assemble().await.unwrap();
    let app = Application::start(agents.router()).await;
    let sent = app.client.v1().post("/a2a", send_body("SendMessage", "hi")).await.json();
    let id = TaskId::new(sent["result"]["task"]["id"].as_str().unwrap()).unwrap();
    for service in [agents.service(), agents.handle().service()] {
        let call = Call::new(Request::GetTask(GetTaskRequest::from(id.clone())));
        match service.call(call).await.unwrap().kind {
            ReplyKind::Single(Reply::Task(task)) => {
                assert_eq!(task.status.state, TaskState::Completed);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn two_servers_serve_sockets_that_the_application_bound() {
    let mut servers = Vec::new();
    for name in ["first", "second"] {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let running = Server::new(test_agent(name)).serve(socket).await.unwrap();
        assert_eq!(running.address(), address);
        servers.push((name, TestClient::new(address), running));
    }
    for (name, client, _) in &servers {
        let card = client.get("/.well-known/agent-card.json").await.json();
        assert_eq!(card["name"], *name);
        assert_eq!(card["url"], format!("http://{}/a2a", client.address));
        let sent = client.v1().post("/a2a", send_body("SendMessage", "hi")).await;
        assert_eq!(state(&sent), "TASK_STATE_COMPLETED", "{name}");
    }
    let (_, first_client, first) = servers.remove(0);
    first.shutdown().await;
    assert!(tokio::net::TcpStream::connect(first_client.address).await.is_err());
    assert_eq!(servers[0].1.get("/ready").await.status, 200, "the other one still runs");
}

#[tokio::test]
async fn assembled_server_serves_a_socket_beside_its_router() {
    let agents = shouter_server(Settings::default()).assemble().await.unwrap();
    let app = Application::start(agents.router()).await;
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = agents.serve(socket).await.unwrap();
    let direct = TestClient::new(running.address());
    let sent = direct.v1().post("/a2a", send_body("SendMessage", "hi")).await.json();
    let id = sent["result"]["task"]["id"].as_str().unwrap();
    let fetched = app.client.v1().get(&format!("/a2a/tasks/{id}")).await;
    assert_eq!((fetched.status, &fetched.json()["id"]), (200, &sent["result"]["task"]["id"]));
    // Metrics are served on loopback, and not to clients of an unknown listener.
    assert_eq!(direct.get("/metrics").await.status, 200);
    assert_ne!(app.client.get("/metrics").await.status, 200);
}

#[tokio::test]
async fn handle_of_a_running_server_drains_and_leaves_the_socket_open() {
    let (agent, gate) = gated_agent();
    let running = Server::new(agent).bind("127.0.0.1:0").listen().await.unwrap();
    let (client, handle) = (TestClient::new(running.address()), running.handle());
    let sending = send_gated(&client, &handle).await;
    gate.add_permits(1);
    handle.drain(DRAIN_TIMEOUT).await;
    assert_eq!(state(&sending.await.unwrap()), "TASK_STATE_COMPLETED");
    assert_eq!(client.get("/ready").await.status, 503);
    assert_eq!(client.get("/health").await.status, 200);
    running.shutdown().await;
    assert!(tokio::net::TcpStream::connect(client.address).await.is_err());
}
