//! Isolation of callers: every operation, in every binding and version, against the table of access
//! rules.
//!
//! Each probe sends two requests, one for a task of another caller and one for a task that does not
//! exist. The responses must be byte for byte the same. As a check of the probe itself, the owner
//! sends both, too, and must get different responses.

mod wire;

use std::collections::HashSet;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use latimer_protocol::{
    Caller, ContextId, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest,
    Message, MessageId, Operation, PushConfigId, Request, SendMessageRequest, TaskId,
    TaskPushNotificationConfig, Version,
};
use latimer_server::{
    Access, AccessRule, Agent, CallerLimits, EngineLimits, RateLimit, Server, Settings, Turn,
};
use serde_json::json;

use self::wire::{Binding, Http2Connection, ObservedResponse, ReadUntil, WireFormat};
use crate::support::{TestServer, start_server};

/// Targets of a request.
#[derive(Clone, Default)]
struct RequestSpec {
    task: Option<String>,
    text: &'static str,
    context: Option<String>,
    references: Vec<String>,
    /// Agent in the message metadata.
    metadata_agent: Option<&'static str>,
    page_token: Option<String>,
    page_size: Option<u32>,
    /// Agent in the path or tenant.
    agent: Option<&'static str>,
    cursor: Option<&'static str>,
}

const CONFIG: &str = "c1";

impl RequestSpec {
    fn for_task(id: &str) -> Self {
        Self { task: Some(id.to_owned()), text: "hello", ..Self::default() }
    }

    fn id(&self) -> TaskId {
        TaskId::new(self.task.as_deref().expect("the probe names a task")).unwrap()
    }

    /// Creates the request of an operation.
    fn request(&self, operation: Operation) -> Request {
        let config = || Some(PushConfigId::new(CONFIG).unwrap());
        match operation {
            Operation::SendMessage => Request::SendMessage(self.send_request()),
            Operation::SendStreamingMessage => Request::SendStreamingMessage(self.send_request()),
            Operation::GetTask => Request::GetTask(self.id().into()),
            Operation::CancelTask => Request::CancelTask(self.id().into()),
            Operation::SubscribeToTask => Request::SubscribeToTask(self.id().into()),
            Operation::ListTasks => Request::ListTasks(ListTasksRequest {
                context_id: self.context.as_deref().map(|it| ContextId::new(it).unwrap()),
                page_token: self.page_token.clone(),
                page_size: self.page_size,
                ..ListTasksRequest::default()
            }),
            Operation::CreateTaskPushNotificationConfig => {
                Request::CreateTaskPushNotificationConfig(TaskPushNotificationConfig {
                    id: config(),
                    task_id: Some(self.id()),
                    // No server listens on this port.
                    url: "http://127.0.0.1:9/hook".into(),
                    ..TaskPushNotificationConfig::default()
                })
            }
            Operation::GetTaskPushNotificationConfig => {
                Request::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
                    tenant: None,
                    task_id: self.id(),
                    id: config(),
                })
            }
            Operation::ListTaskPushNotificationConfigs => {
                Request::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                    tenant: None,
                    task_id: self.id(),
                    page_size: None,
                    page_token: None,
                })
            }
            Operation::DeleteTaskPushNotificationConfig => {
                Request::DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest {
                    tenant: None,
                    task_id: self.id(),
                    id: config(),
                })
            }
            Operation::GetExtendedAgentCard => {
                Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default())
            }
            Operation::GetAgentCard => Request::GetAgentCard,
        }
    }

    fn send_request(&self) -> SendMessageRequest {
        let id = |it: &String| TaskId::new(it.as_str()).unwrap();
        let mut message = Message::user(MessageId::new(uuid()).unwrap(), self.text);
        message.task_id = self.task.as_ref().map(id);
        message.context_id = self.context.as_deref().map(|it| ContextId::new(it).unwrap());
        message.reference_task_ids = self.references.iter().map(id).collect();
        let mut request = SendMessageRequest::from(message);
        if let Some(agent) = self.metadata_agent {
            request.metadata = [("agent".to_owned(), json!(agent))].into_iter().collect();
        }
        request
    }
}

fn uuid() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// An interrupted task.
struct CreatedTask {
    id: String,
    context: String,
}

struct AccessFixture {
    server: TestServer,
    connection: Http2Connection,
}

impl AccessFixture {
    async fn new() -> Self {
        let agent = |name| {
            Agent::from_fn(name, |turn: Turn| async move {
                match turn.text().as_str() {
                    "ask" => turn.request_input("which one?").await,
                    // Returns how many other tasks the turn can see.
                    "look" => {
                        let context_tasks = turn.context_tasks(10).await.map_or(99, |it| it.len());
                        let references = turn.referenced_tasks().len();
                        turn.direct_reply(format!(
                            "{references} referred to, {context_tasks} before"
                        ))
                        .await
                    }
                    _ if turn.task().is_some() => turn.reply("again").await,
                    _ => turn.reply("for the first time").await,
                }
            })
            .with_direct_replies()
        };
        let authenticate = |headers: &HeaderMap| {
            let token = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
            Some(Caller::new(token))
        };
        let settings = Settings {
            rate: RateLimit { per_minute: 0, ..RateLimit::default() },
            limits: EngineLimits {
                per_caller: CallerLimits { max_tasks: 100_000, ..CallerLimits::default() },
                ..EngineLimits::default()
            },
            ..Settings::default()
        };
        let server = Server::new(agent("one")).with_agent(agent("two")).settings(settings);
        let server = start_server(server.authenticate_with(authenticate)).await;
        let connection = Http2Connection::connect(server.address).await;
        Self { server, connection }
    }

    /// Creates an interrupted task with a webhook.
    async fn create_task(&self, caller: &str, agent: &str) -> CreatedTask {
        let caller = self.server.v1().with_header("authorization", format!("Bearer {caller}"));
        let path = format!("/a2a/agents/{agent}");
        let sent = caller.post(&path, crate::support::send_body("SendMessage", "ask")).await.json();
        let task = &sent["result"]["task"];
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let created = CreatedTask { id: text(&task["id"]), context: text(&task["contextId"]) };
        let create_webhook = json!({"jsonrpc": "2.0", "id": 1, "method": "CreateTaskPushNotificationConfig",
            "params": {"taskId": created.id, "id": CONFIG, "url": "http://127.0.0.1:9/hook"}});
        let webhook = caller.post(&path, create_webhook.to_string()).await;
        assert_eq!(webhook.json()["result"]["id"], CONFIG, "{}", webhook.text());
        created
    }

    /// Returns the task as its owner sees it.
    async fn owner_view(&self, caller: &str, created: &CreatedTask) -> String {
        let caller = self.server.v1().with_header("authorization", format!("Bearer {caller}"));
        caller.get(&format!("/a2a/tasks/{}", created.id)).await.text().to_owned()
    }

    async fn send(
        &self,
        caller: &str,
        format: WireFormat,
        operation: Operation,
        spec: &RequestSpec,
    ) -> ObservedResponse {
        let mut request = format.build_request(&spec.request(operation), spec.agent);
        if !caller.is_empty() {
            let token = HeaderValue::try_from(format!("Bearer {caller}")).unwrap();
            request.headers_mut().insert(AUTHORIZATION, token);
        }
        if let Some(cursor) = spec.cursor {
            request.headers_mut().insert("last-event-id", HeaderValue::from_static(cursor));
        }
        let until = if operation.is_streaming() { ReadUntil::FirstChunk } else { ReadUntil::End };
        self.connection.send(request, until).await
    }
}

/// Probe of one operation in one binding and version.
struct OperationProbe<'a> {
    fixture: &'a AccessFixture,
    format: WireFormat,
    operation: Operation,
}

impl OperationProbe<'_> {
    async fn send(&self, caller: &str, spec: &RequestSpec) -> ObservedResponse {
        self.fixture.send(caller, self.format, self.operation, spec).await
    }

    fn describe(&self, what: &str, spec: &RequestSpec) -> String {
        let WireFormat { binding, version } = self.format;
        let (operation, agent, cursor) = (self.operation, spec.agent, spec.cursor);
        format!("{operation:?} over {binding:?} {version}, {what}, {agent:?}, after {cursor:?}")
    }

    /// Asserts that bob and an anonymous caller get the same response for alice's task as for an
    /// unknown one.
    async fn assert_indistinguishable(
        &self,
        what: &str,
        foreign: &RequestSpec,
        unknown: &RequestSpec,
    ) {
        for caller in ["bob", ""] {
            let foreign_response = self.send(caller, foreign).await;
            let unknown_response = self.send(caller, unknown).await;
            assert_eq!(
                foreign_response,
                unknown_response,
                "{caller:?}: {}",
                self.describe(what, foreign)
            );
        }
    }

    /// Asserts that alice gets different responses for her task and for an unknown one.
    async fn assert_distinguishable(&self, what: &str, own: &RequestSpec, unknown: &RequestSpec) {
        let owner_response = self.send("alice", own).await;
        let unknown_response = self.send("alice", unknown).await;
        assert!(
            owner_response != unknown_response,
            "{}: {owner_response:?}",
            self.describe(what, own)
        );
    }

    /// Returns the request for every agent path and every cursor.
    fn variants(&self, spec: &RequestSpec) -> Vec<RequestSpec> {
        let agents: &[Option<&str>] = match self.format.can_name_agent() {
            true => &[None, Some("one"), Some("two")],
            false => &[None],
        };
        let cursors: &[Option<&str>] = match self.operation.is_streaming() {
            true => &[None, Some("1"), Some("1000000")],
            false => &[None],
        };
        let mut variants = Vec::new();
        for agent in agents {
            for cursor in cursors {
                variants.push(RequestSpec { agent: *agent, cursor: *cursor, ..spec.clone() });
            }
        }
        variants
    }

    /// Probes single-task operations with a task of agent two, which is not the primary agent.
    async fn probe_own(&self) {
        for variant in self.variants(&RequestSpec::for_task("")) {
            let created = self.fixture.create_task("alice", "two").await;
            let before = self.fixture.owner_view("alice", &created).await;
            let spec_for = |id: &str| RequestSpec { task: Some(id.to_owned()), ..variant.clone() };
            let (foreign, unknown) = (spec_for(&created.id), spec_for(&uuid()));
            self.assert_indistinguishable("a task", &foreign, &unknown).await;
            assert_eq!(
                self.fixture.owner_view("alice", &created).await,
                before,
                "the task is unchanged"
            );
            match variant.agent {
                // The path of another agent does not find the task.
                Some("one") => {
                    let owner_response = self.send("alice", &foreign).await;
                    assert_eq!(
                        owner_response,
                        self.send("alice", &unknown).await,
                        "the path of another agent"
                    );
                }
                _ if !self.format.can_name_task(self.operation) => {}
                _ => self.assert_distinguishable("a task", &foreign, &unknown).await,
            }
        }
    }

    /// Probes operations that also create tasks: by task, agent metadata, reference and context.
    async fn probe_own_or_new(&self) {
        self.probe_own().await;
        for agent in ["one", "two"] {
            let created = self.fixture.create_task("alice", "two").await;
            let spec_for =
                |id: &str| RequestSpec { metadata_agent: Some(agent), ..RequestSpec::for_task(id) };
            self.assert_indistinguishable(
                "an agent by metadata",
                &spec_for(&created.id),
                &spec_for(&uuid()),
            )
            .await;
        }
        if self.format.clients_assign_task_ids() {
            // These versions have no references, and their messages always name a task.
            return;
        }
        for variant in self.variants(&RequestSpec { text: "look", ..RequestSpec::default() }) {
            let created = self.fixture.create_task("alice", "two").await;
            let with_reference =
                |id: &str| RequestSpec { references: vec![id.to_owned()], ..variant.clone() };
            let (foreign, unknown) = (with_reference(&created.id), with_reference(&uuid()));
            self.assert_indistinguishable("a reference", &foreign, &unknown).await;
            let in_context =
                |id: &str| RequestSpec { context: Some(id.to_owned()), ..variant.clone() };
            let (foreign_context, unknown_context) =
                (in_context(&created.context), in_context(&uuid()));
            self.assert_indistinguishable("a context", &foreign_context, &unknown_context).await;
            if variant.cursor.is_none() && self.format.has_references() {
                self.assert_distinguishable("a reference", &foreign, &unknown).await;
            }
            if variant.cursor.is_none() && variant.agent == Some("two") {
                self.assert_distinguishable("a context", &foreign_context, &unknown_context).await;
            }
        }
    }

    /// Asserts that a caller without tasks gets the list of an empty server.
    async fn probe_own_list(&self, empty: &AccessFixture) {
        let created = self.fixture.create_task("alice", "two").await;
        self.fixture.create_task("alice", "two").await;
        let send_to_empty = |spec: &RequestSpec| {
            let spec = spec.clone();
            async move { empty.send("carol", self.format, self.operation, &spec).await }
        };
        for variant in self.variants(&RequestSpec::default()) {
            let in_context =
                |context: &str| RequestSpec { context: Some(context.into()), ..variant.clone() };
            for spec in [
                &variant,
                &in_context(&created.context),
                &RequestSpec { page_size: Some(1), ..variant.clone() },
            ] {
                let listed = self.send("carol", spec).await;
                assert_eq!(listed, send_to_empty(spec).await, "{}", self.describe("a list", spec));
            }
            let token =
                |token: &str| RequestSpec { page_token: Some(token.into()), ..variant.clone() };
            let alice_token = self.fixture.page_token("alice").await;
            let (foreign, unknown) = (token(&alice_token), token("00"));
            self.assert_indistinguishable("a page", &foreign, &unknown).await;
            self.assert_distinguishable("a page", &foreign, &unknown).await;
            let (own, other) = (in_context(&created.context), in_context(&uuid()));
            if variant.agent != Some("one") {
                self.assert_distinguishable("a list", &own, &other).await;
            }
        }
    }

    /// Asserts that cards are the same for all authenticated callers.
    async fn probe_card(&self) {
        for variant in self.variants(&RequestSpec::default()) {
            let (alice_response, bob_response) =
                (self.send("alice", &variant).await, self.send("bob", &variant).await);
            assert_eq!(alice_response, bob_response, "{}", self.describe("a card", &variant));
            let anonymous_response = self.send("", &variant).await;
            assert_ne!(
                alice_response,
                anonymous_response,
                "{}",
                self.describe("a card for an anonymous caller", &variant)
            );
        }
    }
}

impl AccessFixture {
    /// Returns the token of the second page of a caller's tasks.
    async fn page_token(&self, caller: &str) -> String {
        let caller = self.server.v1().with_header("authorization", format!("Bearer {caller}"));
        let listed = caller.get("/a2a/tasks?pageSize=1").await.json();
        listed["nextPageToken"].as_str().filter(|it| !it.is_empty()).unwrap().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_tasks_are_indistinguishable_from_unknown_tasks() {
    let (fixture, empty) = (AccessFixture::new().await, AccessFixture::new().await);
    let mut probed = HashSet::new();
    for operation in Operation::ALL {
        let rule = AccessRule::for_operation(operation)
            .unwrap_or_else(|| panic!("{operation:?} has no rule"));
        for format in WireFormat::all().filter(|it| it.supports(operation)) {
            let probe = OperationProbe { fixture: &fixture, format, operation };
            match rule {
                AccessRule::Own => probe.probe_own().await,
                AccessRule::OwnOrNew => probe.probe_own_or_new().await,
                AccessRule::OwnList => probe.probe_own_list(&empty).await,
                AccessRule::Card => probe.probe_card().await,
            }
            probed.insert((operation, format.binding == Binding::Grpc));
        }
        assert!(probed.contains(&(operation, false)), "{operation:?} was not probed");
    }
    assert_eq!(WireFormat::all().count(), 3 * Version::ALL.len());
}

#[tokio::test]
async fn unauthenticated_call_is_rejected_for_every_operation() {
    let fixture = AccessFixture::new().await;
    let created = fixture.create_task("alice", "one").await;
    for operation in Operation::ALL {
        for format in WireFormat::all().filter(|it| it.supports(operation)) {
            let response =
                fixture.send("", format, operation, &RequestSpec::for_task(&created.id)).await;
            let want = if format.binding == Binding::Grpc { 200 } else { 401 };
            assert_eq!(response.status, want, "{operation:?} {format:?} {response:?}");
            assert!(
                response.contains("authentication is required"),
                "{operation:?} {format:?} {response:?}"
            );
        }
    }
}

#[tokio::test]
async fn reference_to_task_of_forbidden_agent_is_ignored() {
    let count_references = |turn: Turn| async move {
        match turn.text().as_str() {
            "ask" => turn.request_input("which one?").await,
            _ => turn.direct_reply(turn.referenced_tasks().len().to_string()).await,
        }
    };
    let agent = |name| Agent::from_fn(name, count_references).with_direct_replies();
    let restricted = Access { principals: Vec::new(), scopes: vec!["two".to_owned()] };
    // The scope of a caller is the text after the slash: it differs between calls.
    let authenticate = |headers: &HeaderMap| {
        let token = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
        let (name, scope) = token.split_once('/')?;
        Some(Caller::new(name).with_scopes([scope]))
    };
    let server = Server::new(agent("one")).with_agent(agent("two").with_access(restricted));
    let server = start_server(server.authenticate_with(authenticate)).await;
    let send = async |token: &str, agent: &str, body: serde_json::Value| {
        let caller = server.v1().with_header("authorization", format!("Bearer {token}"));
        caller.post(&format!("/a2a/agents/{agent}"), body.to_string()).await.json()
    };
    let send_body = |text: &str, references: &[&str]| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {
            "messageId": uuid(), "role": "ROLE_USER", "parts": [{"text": text}],
            "referenceTaskIds": references}}})
    };
    let sent = send("alice/two", "two", send_body("ask", &[])).await;
    let id = sent["result"]["task"]["id"].as_str().unwrap();
    for (token, want) in [("alice/two", "1"), ("alice/other", "0"), ("bob/two", "0")] {
        let sent = send(token, "one", send_body("count", &[id])).await;
        let text = &sent["result"]["message"]["parts"][0]["text"];
        assert_eq!(text, want, "{token}: {sent}");
    }
}
