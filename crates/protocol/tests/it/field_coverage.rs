//! Expected losses of each dialect, as functions on the model.
//!
//! They restate the lists of unsupported fields in the documentation of the dialects.

use std::sync::Arc;

use crate::arbitrary::ComparableReply;
use latimer_protocol::card::{
    AgentCard, AgentInterface, OAuthFlows, ProtocolBinding, SecurityScheme,
};
use latimer_protocol::{
    Artifact, ArtifactId, CancelTaskRequest, Content, Dialect,
    ListTaskPushNotificationConfigsResponse, ListTasksResponse, Message, MessageId, Metadata, Part,
    Request, SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
    Task, TaskArtifactUpdateEvent, TaskPushNotificationConfig, TaskState, TaskStatus,
    TaskStatusUpdateEvent, Version,
};

/// Encoding of a message: JSON in a dialect, or 0.3 protobuf, which loses more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Json(Dialect),
    V1_0Protobuf,
    V0_3Protobuf,
}

impl Wire {
    fn is_v1_0(self) -> bool {
        matches!(self, Self::Json(Dialect::V1_0) | Self::V1_0Protobuf)
    }

    fn is_v0_1(self) -> bool {
        matches!(self, Self::Json(Dialect::V0_1))
    }

    pub(crate) fn part(self, part: Part) -> Part {
        match (&part.content, self.is_v1_0()) {
            (_, true) | (Content::Raw(_) | Content::Url(_), false) => part,
            (Content::Text(_) | Content::Data(_), false) => {
                Part { filename: None, media_type: None, ..part }
            }
        }
    }

    fn parts(self, parts: Vec<Part>) -> Vec<Part> {
        parts.into_iter().map(|part| self.part(part)).collect()
    }

    /// Returns the message after a round trip; `generate_id` creates its id where messages have
    /// none.
    pub(crate) fn message(self, message: Message, generate_id: impl FnOnce() -> String) -> Message {
        let parts = self.parts(message.parts);
        let message = Message { parts, ..message };
        if self.is_v0_1() {
            return Message {
                message_id: MessageId::new(generate_id()).expect("valid id"),
                context_id: None,
                task_id: None,
                extensions: Vec::new(),
                reference_task_ids: Vec::new(),
                ..message
            };
        }
        match self {
            Self::Json(Dialect::V0_3Proto) => Message { reference_task_ids: Vec::new(), ..message },
            _ => message,
        }
    }

    pub(crate) fn status(self, status: TaskStatus, task: &str) -> TaskStatus {
        TaskStatus {
            state: self.state(status.state),
            message: status.message.map(|it| {
                let hash = fingerprint(&self.parts(it.parts.clone()));
                let message = Arc::unwrap_or_clone(it);
                self.message(message, || format!("{task}-status-{hash:016x}")).into()
            }),
            timestamp: status.timestamp,
        }
    }

    fn state(self, state: TaskState) -> TaskState {
        match (state, self.is_v0_1()) {
            (TaskState::Rejected, true) => TaskState::Failed,
            (TaskState::AuthRequired, true) => TaskState::InputRequired,
            _ => state,
        }
    }

    fn artifact(self, artifact: Artifact, index: u64) -> Artifact {
        let artifact = Artifact { parts: self.parts(artifact.parts), ..artifact };
        if self.is_v0_1() {
            let artifact_id = ArtifactId::from_index(index);
            return Artifact { artifact_id, extensions: Vec::new(), ..artifact };
        }
        artifact
    }

    pub(crate) fn task(self, task: Task) -> Task {
        let id = task.id.to_string();
        let artifacts = (0..).zip(task.artifacts).map(|(index, it)| {
            let artifact = Arc::unwrap_or_clone(it);
            Arc::new(self.artifact(artifact, index))
        });
        let history = task.history.into_iter().enumerate().map(|(index, it)| {
            let message = Arc::unwrap_or_clone(it);
            Arc::new(self.message(message, || format!("{id}-{index}")))
        });
        Task {
            status: self.status(task.status, &id),
            artifacts: artifacts.collect(),
            history: history.collect(),
            ..task
        }
    }

    pub(crate) fn event(self, event: StreamResponse) -> StreamResponse {
        match event {
            StreamResponse::Task(it) => StreamResponse::Task(self.task(it)),
            StreamResponse::Message(it) => {
                StreamResponse::Message(self.message(it, || "message".to_owned()))
            }
            StreamResponse::StatusUpdate(it) => {
                let status = self.status(it.status, it.task_id.as_str());
                let context_id = it.context_id.filter(|_| !self.is_v0_1());
                StreamResponse::StatusUpdate(TaskStatusUpdateEvent { status, context_id, ..it })
            }
            StreamResponse::ArtifactUpdate(it) => {
                let artifact = self.artifact(Arc::unwrap_or_clone(it.artifact), 0).into();
                let context_id = it.context_id.filter(|_| !self.is_v0_1());
                StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                    artifact,
                    context_id,
                    ..it
                })
            }
        }
    }

    fn push_config(self, config: TaskPushNotificationConfig) -> TaskPushNotificationConfig {
        let tenant = config.tenant.filter(|_| self.is_v1_0());
        let id = config.id.filter(|_| !self.is_v0_1());
        TaskPushNotificationConfig { tenant, id, ..config }
    }

    pub(crate) fn reply(self, reply: ComparableReply) -> ComparableReply {
        match reply {
            ComparableReply::SendMessage(SendMessageResponse::Task(it)) => {
                ComparableReply::SendMessage(SendMessageResponse::Task(
                    self.task(std::sync::Arc::unwrap_or_clone(it)).into(),
                ))
            }
            ComparableReply::SendMessage(SendMessageResponse::Message(it)) => {
                let it = self.message(it, || "message".to_owned());
                ComparableReply::SendMessage(SendMessageResponse::Message(it))
            }
            ComparableReply::Task(it) => ComparableReply::Task(self.task(it)),
            ComparableReply::TaskList(page) => {
                let tasks: Vec<_> = page.tasks.into_iter().map(|it| self.task(it)).collect();
                // The 0.3 protobuf file has no page size, so the items are counted.
                let counted = matches!(self, Self::Json(Dialect::V0_3Proto) | Self::V0_3Protobuf);
                let count = u32::try_from(tasks.len()).expect("count fits");
                let page_size = if counted { count } else { page.page_size };
                ComparableReply::TaskList(ListTasksResponse { tasks, page_size, ..page })
            }
            ComparableReply::PushConfig(it) => ComparableReply::PushConfig(self.push_config(it)),
            ComparableReply::PushConfigList(page) => {
                let configs = page.configs.into_iter().map(|it| self.push_config(it)).collect();
                let bare = matches!(self, Self::Json(Dialect::V0_3));
                let next_page_token = page.next_page_token.filter(|_| !bare);
                ComparableReply::PushConfigList(ListTaskPushNotificationConfigsResponse {
                    configs,
                    next_page_token,
                })
            }
        }
    }

    /// Returns the card after a round trip in 1.0 or 0.3.
    pub(crate) fn card(self, card: AgentCard) -> AgentCard {
        if self.is_v1_0() {
            return card;
        }
        let supported_interfaces = v0_3_interfaces(&card);
        let mut card = AgentCard { supported_interfaces, signatures: Vec::new(), ..card };
        for modes in [&mut card.default_input_modes, &mut card.default_output_modes] {
            if modes.is_empty() {
                modes.push("text/plain".to_owned());
            }
        }
        let flags = &mut card.capabilities;
        flags.extended_agent_card = flags.extended_agent_card.filter(|it| *it);
        if self == Self::V0_3Protobuf {
            flags.streaming = flags.streaming.filter(|it| *it);
            flags.push_notifications = flags.push_notifications.filter(|it| *it);
            card.documentation_url = card.documentation_url.filter(|it| !it.is_empty());
            card.icon_url = card.icon_url.filter(|it| !it.is_empty());
            card.security_schemes.retain(|_, scheme| is_v0_3_scheme(scheme));
        }
        card
    }

    /// Returns the request after a round trip in which all parameters are part of the payload.
    pub(crate) fn request(self, mut request: Request) -> Request {
        if self.is_v1_0() {
            return self.normalize_v1_0_request(request);
        }
        request.set_tenant(None);
        match &mut request {
            Request::SendMessage(it) | Request::SendStreamingMessage(it) => {
                *it = self.send(it.clone())
            }
            Request::ListTaskPushNotificationConfigs(it) if self == Self::Json(Dialect::V0_3) => {
                (it.page_size, it.page_token) = (None, None);
            }
            Request::ListTaskPushNotificationConfigs(it) => {
                it.page_size = it.page_size.filter(|it| *it != 0);
            }
            Request::GetTask(it) if self.is_v0_1() => {
                it.history_length.get_or_insert(0);
            }
            Request::GetTask(it) if self == Self::V0_3Protobuf => {
                it.history_length = it.history_length.filter(|it| *it != 0);
            }
            Request::ListTasks(it) if self == Self::V0_3Protobuf => {
                it.history_length = it.history_length.filter(|it| *it != 0);
                it.include_artifacts = it.include_artifacts.filter(|it| *it);
            }
            Request::CancelTask(it) if self == Self::V0_3Protobuf => it.metadata = Metadata::new(),
            Request::CreateTaskPushNotificationConfig(it) => *it = self.push_config(it.clone()),
            Request::GetTaskPushNotificationConfig(it) if self.is_v0_1() => it.id = None,
            _ => {}
        }
        request
    }

    /// Returns the request after a round trip as HTTP request, where the tenant is part of the
    /// path.
    pub(crate) fn over_http(self, request: Request) -> Request {
        let tenant = request.tenant().map(str::to_owned).filter(|_| self.is_v1_0());
        let mut expected = match request {
            // 0.3 does not support metadata in a cancellation.
            Request::CancelTask(it) if !self.is_v1_0() => {
                Request::CancelTask(CancelTaskRequest { metadata: Metadata::new(), ..it })
            }
            other => self.request(other),
        };
        expected.set_tenant(tenant);
        expected
    }

    fn normalize_v1_0_request(self, request: Request) -> Request {
        match (request, self) {
            (Request::ListTaskPushNotificationConfigs(mut it), Self::V1_0Protobuf) => {
                it.page_size = it.page_size.filter(|it| *it != 0);
                Request::ListTaskPushNotificationConfigs(it)
            }
            (request, _) => request,
        }
    }

    fn send(self, request: SendMessageRequest) -> SendMessageRequest {
        let (task_id, context_id) =
            (request.message.task_id.clone(), request.message.context_id.clone());
        let message = self.message(request.message, || "generated".to_owned());
        let message = Message { task_id, context_id, ..message };
        let configuration = request.configuration.map(|it| self.configuration(it));
        let configuration = match self.is_v0_1() {
            true => Some(configuration.unwrap_or_default()).map(|it| SendMessageConfiguration {
                accepted_output_modes: Vec::new(),
                history_length: it.history_length.or(Some(0)),
                return_immediately: false,
                ..it
            }),
            // Protobuf always has a configuration, which may be empty.
            false if matches!(self, Self::Json(Dialect::V0_3Proto) | Self::V0_3Protobuf) => {
                configuration.filter(|it| *it != SendMessageConfiguration::default())
            }
            false => configuration,
        };
        SendMessageRequest { message, configuration, ..request }
    }

    fn configuration(self, configuration: SendMessageConfiguration) -> SendMessageConfiguration {
        let push = configuration.task_push_notification_config.map(|it| {
            let task_id = None;
            Box::new(TaskPushNotificationConfig { task_id, ..self.push_config(*it) })
        });
        let mut expected =
            SendMessageConfiguration { task_push_notification_config: push, ..configuration };
        if self == Self::V0_3Protobuf {
            expected.history_length = expected.history_length.filter(|it| *it != 0);
        }
        expected
    }
}

/// Returns the interfaces that a 0.3 card contains: those of 0.3 without a tenant, else any without
/// a tenant, else all. JSON-RPC comes first, and duplicates are removed.
fn v0_3_interfaces(card: &AgentCard) -> Vec<AgentInterface> {
    let all = card.supported_interfaces.iter();
    let without_tenant: Vec<_> = all.clone().filter(|it| it.tenant.is_none()).collect();
    let v0_3: Vec<_> =
        without_tenant.iter().copied().filter(|it| it.version() == Some(Version::V0_3)).collect();
    let candidates = [v0_3, without_tenant, all.collect()].into_iter().find(|it| !it.is_empty());
    let (first, others): (Vec<_>, Vec<_>) = candidates
        .unwrap_or_default()
        .into_iter()
        .map(|it| AgentInterface::new(&it.url, it.protocol_binding.clone()))
        .map(|it| it.with_version(Version::V0_3))
        .partition(|it| it.protocol_binding == ProtocolBinding::JsonRpc);
    let mut unique = Vec::new();
    for interface in first.into_iter().chain(others) {
        if !unique.contains(&interface) {
            unique.push(interface);
        }
    }
    unique
}

/// Returns whether the 0.3 protobuf file supports the scheme, and removes members that 1.0 added.
fn is_v0_3_scheme(scheme: &mut SecurityScheme) -> bool {
    let SecurityScheme::OAuth2(oauth) = scheme else { return true };
    if let OAuthFlows::AuthorizationCode(flow) = &mut oauth.flows {
        flow.pkce_required = false;
    }
    !matches!(oauth.flows, OAuthFlows::DeviceCode(_))
}

/// Computes the FNV-1a hash of the parts' JSON, part of the id of a status message without one.
fn fingerprint(parts: &[Part]) -> u64 {
    let text = serde_json::to_vec(parts).expect("parts are encodable");
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    text.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
