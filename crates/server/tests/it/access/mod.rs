//! Whose tasks are whose: every operation, in every binding and version, by the table of rules.
//!
//! Each probe asks twice, once for what somebody else has and once for what nobody ever had, and the
//! two answers must be the same to the byte. So that this means something, the owner asks, too, and
//! must get another answer.

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
use latimer_server::{Agent, Limits, PerCaller, Rate, Rule, Server, Settings, Turn};
use serde_json::json;

use self::wire::{Binding, Line, Seen, Until, Wire};
use crate::support::{Site, site};

/// What a request is about.
#[derive(Clone, Default)]
struct About {
    task: Option<String>,
    text: &'static str,
    context: Option<String>,
    references: Vec<String>,
    /// The agent that the metadata of a message name.
    meant: Option<&'static str>,
    page_token: Option<String>,
    page_size: Option<u32>,
    /// The agent whose address is used.
    agent: Option<&'static str>,
    cursor: Option<&'static str>,
}

const CONFIG: &str = "c1";

impl About {
    fn task(id: &str) -> Self {
        Self { task: Some(id.to_owned()), text: "hello", ..Self::default() }
    }

    fn id(&self) -> TaskId {
        TaskId::new(self.task.as_deref().expect("the probe names a task")).unwrap()
    }

    /// The request of an operation.
    fn request(&self, operation: Operation) -> Request {
        let config = || Some(PushConfigId::new(CONFIG).unwrap());
        match operation {
            Operation::SendMessage => Request::SendMessage(self.send()),
            Operation::SendStreamingMessage => Request::SendStreamingMessage(self.send()),
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
                    // Nobody listens there.
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

    fn send(&self) -> SendMessageRequest {
        let id = |it: &String| TaskId::new(it.as_str()).unwrap();
        let mut message = Message::user(MessageId::new(uuid()).unwrap(), self.text);
        message.task_id = self.task.as_ref().map(id);
        message.context_id = self.context.as_deref().map(|it| ContextId::new(it).unwrap());
        message.reference_task_ids = self.references.iter().map(id).collect();
        let mut request = SendMessageRequest::from(message);
        if let Some(agent) = self.meant {
            request.metadata = [("agent".to_owned(), json!(agent))].into_iter().collect();
        }
        request
    }
}

fn uuid() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// A task that waits for its owner.
struct Made {
    id: String,
    context: String,
}

struct World {
    site: Site,
    line: Line,
}

impl World {
    async fn new() -> Self {
        let agent = |name| {
            Agent::from_fn(name, |turn: Turn| async move {
                match turn.text().as_str() {
                    "ask" => turn.ask("which one?").await,
                    // What can be seen from here of other tasks.
                    "look" => {
                        let conversation = turn.conversation(10).await.map_or(99, |it| it.len());
                        let references = turn.references().len();
                        turn.say(format!("{references} referred to, {conversation} before")).await
                    }
                    _ if turn.task().is_some() => turn.reply("again").await,
                    _ => turn.reply("for the first time").await,
                }
            })
        };
        let known = |headers: &HeaderMap| {
            let token = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
            Some(Caller::new(token))
        };
        let settings = Settings {
            rate: Rate { per_minute: 0, ..Rate::default() },
            limits: Limits {
                per_caller: PerCaller { tasks: 100_000, ..PerCaller::default() },
                ..Limits::default()
            },
            ..Settings::default()
        };
        let server = Server::new(agent("one")).with_agent(agent("two")).settings(settings);
        let site = site(server.auth(known)).await;
        let line = Line::to(site.address).await;
        Self { site, line }
    }

    /// Somebody has a task that waits, with a webhook.
    async fn made(&self, caller: &str, agent: &str) -> Made {
        let caller = self.site.v1().with("authorization", format!("Bearer {caller}"));
        let path = format!("/a2a/agents/{agent}");
        let sent = caller.post(&path, crate::support::send("SendMessage", "ask")).await.json();
        let task = &sent["result"]["task"];
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let made = Made { id: text(&task["id"]), context: text(&task["contextId"]) };
        let hook = json!({"jsonrpc": "2.0", "id": 1, "method": "CreateTaskPushNotificationConfig",
            "params": {"taskId": made.id, "id": CONFIG, "url": "http://127.0.0.1:9/hook"}});
        let hooked = caller.post(&path, hook.to_string()).await;
        assert_eq!(hooked.json()["result"]["id"], CONFIG, "{}", hooked.text());
        made
    }

    /// The task as its owner sees it.
    async fn shown(&self, caller: &str, made: &Made) -> String {
        let caller = self.site.v1().with("authorization", format!("Bearer {caller}"));
        caller.get(&format!("/a2a/tasks/{}", made.id)).await.text().to_owned()
    }

    async fn ask(&self, caller: &str, wire: Wire, operation: Operation, about: &About) -> Seen {
        let mut request = wire.write(&about.request(operation), about.agent);
        if !caller.is_empty() {
            let token = HeaderValue::try_from(format!("Bearer {caller}")).unwrap();
            request.headers_mut().insert(AUTHORIZATION, token);
        }
        if let Some(cursor) = about.cursor {
            request.headers_mut().insert("last-event-id", HeaderValue::from_static(cursor));
        }
        let until = if operation.is_streaming() { Until::FirstPiece } else { Until::End };
        self.line.ask(request, until).await
    }
}

/// One operation in one binding and version.
struct Probe<'a> {
    world: &'a World,
    wire: Wire,
    operation: Operation,
}

impl Probe<'_> {
    async fn ask(&self, caller: &str, about: &About) -> Seen {
        self.world.ask(caller, self.wire, self.operation, about).await
    }

    fn name(&self, what: &str, about: &About) -> String {
        let Wire { binding, version } = self.wire;
        let (operation, agent, cursor) = (self.operation, about.agent, about.cursor);
        format!("{operation:?} over {binding:?} {version}, {what}, {agent:?}, after {cursor:?}")
    }

    /// What bob, and somebody without a name, get for what is alice's is what they get for nothing.
    async fn same(&self, what: &str, foreign: &About, unknown: &About) {
        for caller in ["bob", ""] {
            let theirs = self.ask(caller, foreign).await;
            let nothing = self.ask(caller, unknown).await;
            assert_eq!(theirs, nothing, "{caller:?}: {}", self.name(what, foreign));
        }
    }

    /// What alice gets for what is hers is something else.
    async fn differs(&self, what: &str, own: &About, unknown: &About) {
        let hers = self.ask("alice", own).await;
        let nothing = self.ask("alice", unknown).await;
        assert!(hers != nothing, "{}: {hers:?}", self.name(what, own));
    }

    /// Every address that leads to the agents, and every cursor.
    fn ways(&self, about: &About) -> Vec<About> {
        let agents: &[Option<&str>] = match self.wire.names_agents() {
            true => &[None, Some("one"), Some("two")],
            false => &[None],
        };
        let cursors: &[Option<&str>] = match self.operation.is_streaming() {
            true => &[None, Some("1"), Some("1000000")],
            false => &[None],
        };
        let mut ways = Vec::new();
        for agent in agents {
            for cursor in cursors {
                ways.push(About { agent: *agent, cursor: *cursor, ..about.clone() });
            }
        }
        ways
    }

    /// One task by its id. The task is agent two's, which is not the primary one.
    async fn own(&self) {
        for way in self.ways(&About::task("")) {
            let made = self.world.made("alice", "two").await;
            let before = self.world.shown("alice", &made).await;
            let about = |id: &str| About { task: Some(id.to_owned()), ..way.clone() };
            let (foreign, unknown) = (about(&made.id), about(&uuid()));
            self.same("a task", &foreign, &unknown).await;
            assert_eq!(self.world.shown("alice", &made).await, before, "nothing came of it");
            match way.agent {
                // Another agent's address does not know it, either.
                Some("one") => {
                    let hers = self.ask("alice", &foreign).await;
                    assert_eq!(hers, self.ask("alice", &unknown).await, "at the wrong agent");
                }
                _ if !self.wire.has_task(self.operation) => {}
                _ => self.differs("a task", &foreign, &unknown).await,
            }
        }
    }

    async fn own_or_new(&self) {
        self.own().await;
        for agent in ["one", "two"] {
            let made = self.world.made("alice", "two").await;
            let about = |id: &str| About { meant: Some(agent), ..About::task(id) };
            self.same("an agent by metadata", &about(&made.id), &about(&uuid())).await;
        }
        if self.wire.names_tasks() {
            // There is no place for what follows, and every task begins with its name.
            return;
        }
        for way in self.ways(&About { text: "look", ..About::default() }) {
            let made = self.world.made("alice", "two").await;
            let refers = |id: &str| About { references: vec![id.to_owned()], ..way.clone() };
            let (foreign, unknown) = (refers(&made.id), refers(&uuid()));
            self.same("a reference", &foreign, &unknown).await;
            let talks = |id: &str| About { context: Some(id.to_owned()), ..way.clone() };
            let (their_talk, no_talk) = (talks(&made.context), talks(&uuid()));
            self.same("a conversation", &their_talk, &no_talk).await;
            if way.cursor.is_none() && self.wire.has_references() {
                self.differs("a reference", &foreign, &unknown).await;
            }
            if way.cursor.is_none() && way.agent == Some("two") {
                self.differs("a conversation", &their_talk, &no_talk).await;
            }
        }
    }

    /// Somebody who has nothing sees what there is where nobody has anything.
    async fn own_list(&self, empty: &World) {
        let made = self.world.made("alice", "two").await;
        self.world.made("alice", "two").await;
        let nobody = |about: &About| {
            let about = about.clone();
            async move { empty.ask("carol", self.wire, self.operation, &about).await }
        };
        for way in self.ways(&About::default()) {
            let of = |context: &str| About { context: Some(context.into()), ..way.clone() };
            for about in [&way, &of(&made.context), &About { page_size: Some(1), ..way.clone() }] {
                let listed = self.ask("carol", about).await;
                assert_eq!(listed, nobody(about).await, "{}", self.name("a list", about));
            }
            let token = |token: &str| About { page_token: Some(token.into()), ..way.clone() };
            let given = self.world.page_token("alice").await;
            let (foreign, unknown) = (token(&given), token("00"));
            self.same("a page", &foreign, &unknown).await;
            self.differs("a page", &foreign, &unknown).await;
            let (own, other) = (of(&made.context), of(&uuid()));
            if way.agent != Some("one") {
                self.differs("a list", &own, &other).await;
            }
        }
    }

    /// Cards are the same for everybody who was let in.
    async fn card(&self) {
        for way in self.ways(&About::default()) {
            let (hers, his) = (self.ask("alice", &way).await, self.ask("bob", &way).await);
            assert_eq!(hers, his, "{}", self.name("a card", &way));
            let nobody = self.ask("", &way).await;
            assert_ne!(hers, nobody, "{}", self.name("a card for nobody", &way));
        }
    }
}

impl World {
    /// A token for the second page of somebody's tasks.
    async fn page_token(&self, caller: &str) -> String {
        let caller = self.site.v1().with("authorization", format!("Bearer {caller}"));
        let listed = caller.get("/a2a/tasks?pageSize=1").await.json();
        listed["nextPageToken"].as_str().filter(|it| !it.is_empty()).unwrap().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_else_has_is_like_what_nobody_has() {
    let (world, empty) = (World::new().await, World::new().await);
    let mut probed = HashSet::new();
    for operation in Operation::ALL {
        let rule = Rule::of(operation).unwrap_or_else(|| panic!("{operation:?} has no rule"));
        for wire in Wire::all().filter(|it| it.has(operation)) {
            let probe = Probe { world: &world, wire, operation };
            match rule {
                Rule::Own => probe.own().await,
                Rule::OwnOrNew => probe.own_or_new().await,
                Rule::OwnList => probe.own_list(&empty).await,
                Rule::Card => probe.card().await,
            }
            probed.insert((operation, wire.binding == Binding::Grpc));
        }
        assert!(probed.contains(&(operation, false)), "{operation:?} exists nowhere");
    }
    assert_eq!(Wire::all().count(), 3 * Version::ALL.len());
}

#[tokio::test]
async fn nobody_is_let_in_without_a_name() {
    let world = World::new().await;
    let made = world.made("alice", "one").await;
    for operation in Operation::ALL {
        for wire in Wire::all().filter(|it| it.has(operation)) {
            let seen = world.ask("", wire, operation, &About::task(&made.id)).await;
            let want = if wire.binding == Binding::Grpc { 200 } else { 401 };
            assert_eq!(seen.status, want, "{operation:?} {wire:?} {seen:?}");
            assert!(seen.says("authentication is required"), "{operation:?} {wire:?} {seen:?}");
        }
    }
}
