//! Generators of arbitrary model values.

use std::sync::Arc;

use latimer_protocol::{
    Artifact, ArtifactId, AuthenticationInfo, CancelTaskRequest, Content, ContextId,
    DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, Message, MessageId, Metadata, Part, PushConfigId, Reply,
    Request, Role, Secret, SendMessageConfiguration, SendMessageRequest, SendMessageResponse,
    StreamResponse, SubscribeToTaskRequest, Task, TaskArtifactUpdateEvent, TaskId,
    TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent, Timestamp,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use serde_json::{Number, Value};

/// Generates id strings. Slashes are excluded, because 0.3 resource names cannot represent them.
fn id_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z0-9-]{1,12}",
        1 => "[^/\\p{Cc}]{1,8}",
        1 => Just("a:cancel".to_owned()),
        1 => Just("50%20off?".to_owned()),
    ]
}

macro_rules! ids {
    ($($function:ident: $id:ident),+ $(,)?) => {$(
        pub(crate) fn $function() -> impl Strategy<Value = $id> {
            id_text().prop_map(|text| $id::new(text).expect("valid id"))
        }
    )+};
}

ids! {
    task_id: TaskId,
    context_id: ContextId,
    message_id: MessageId,
    artifact_id: ArtifactId,
    push_config_id: PushConfigId,
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[ -~]{0,12}", 1 => any::<String>()]
}

/// Generates non-empty strings, for fields where an empty string equals absence.
pub(crate) fn non_empty_text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[ -~]{1,12}", 1 => "\\PC{1,6}"]
}

/// Generates JSON values whose numbers every encoding preserves: integers up to 2^53, and halves.
pub(crate) fn json() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(1i64 << 53)..=1i64 << 53).prop_map(Value::from),
        any::<i32>().prop_map(|it| Value::from(Number::from_f64(f64::from(it) + 0.5))),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4).prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
    .boxed()
}

pub(crate) fn metadata() -> impl Strategy<Value = Metadata> {
    prop_oneof![
        2 => Just(Metadata::new()),
        1 => vec((text(), json()), 0..3).prop_map(|it| it.into_iter().collect()),
    ]
}

pub(crate) fn timestamp() -> impl Strategy<Value = Timestamp> {
    // The years 1 to 9999.
    (-62_135_596_800_000..=253_402_300_799_999i64)
        .prop_map(|it| Timestamp::from_millis(it).expect("in range"))
}

pub(crate) fn part() -> BoxedStrategy<Part> {
    let content = prop_oneof![
        text().prop_map(Content::Text),
        vec(any::<u8>(), 0..24).prop_map(|it| Content::Raw(it.into())),
        text().prop_map(Content::Url),
        json().prop_map(|it| Part::data(it).content),
    ];
    (content, metadata(), of(non_empty_text()), of(non_empty_text()))
        .prop_map(|(content, metadata, filename, media_type)| Part {
            content,
            metadata,
            filename,
            media_type,
        })
        .boxed()
}

pub(crate) fn message() -> BoxedStrategy<Message> {
    let role = prop_oneof![Just(Role::User), Just(Role::Agent)];
    let ids = (message_id(), of(context_id()), of(task_id()));
    (ids, role, vec(part(), 1..4), metadata(), vec(text(), 0..3), vec(task_id(), 0..3))
        .prop_map(
            |(
                (message_id, context_id, task_id),
                role,
                parts,
                metadata,
                extensions,
                reference_task_ids,
            )| {
                Message {
                    message_id,
                    context_id,
                    task_id,
                    role,
                    parts,
                    metadata,
                    extensions,
                    reference_task_ids,
                }
            },
        )
        .boxed()
}

/// Generates states except `Unspecified`, which is never written.
pub(crate) fn state() -> impl Strategy<Value = TaskState> {
    (1..TaskState::ALL.len()).prop_map(|it| TaskState::ALL[it])
}

pub(crate) fn status() -> BoxedStrategy<TaskStatus> {
    (state(), of(message().prop_map(Arc::new)), of(timestamp()))
        .prop_map(|(state, message, timestamp)| TaskStatus { state, message, timestamp })
        .boxed()
}

pub(crate) fn artifact() -> BoxedStrategy<Artifact> {
    let texts = (of(non_empty_text()), of(non_empty_text()));
    (artifact_id(), texts, vec(part(), 1..4), metadata(), vec(text(), 0..3))
        .prop_map(|(artifact_id, (name, description), parts, metadata, extensions)| Artifact {
            artifact_id,
            name,
            description,
            parts,
            metadata,
            extensions,
        })
        .boxed()
}

pub(crate) fn task() -> BoxedStrategy<Task> {
    let artifacts = vec(artifact().prop_map(Arc::new), 0..3);
    let lists = (artifacts, vec(message().prop_map(Arc::new), 0..3));
    (task_id(), of(context_id()), status(), lists, metadata())
        .prop_map(|(id, context_id, status, (artifacts, history), metadata)| Task {
            id,
            context_id,
            status,
            artifacts,
            history,
            metadata,
        })
        .boxed()
}

pub(crate) fn status_update() -> BoxedStrategy<TaskStatusUpdateEvent> {
    (task_id(), of(context_id()), status(), metadata())
        .prop_map(|(task_id, context_id, status, metadata)| TaskStatusUpdateEvent {
            task_id,
            context_id,
            status,
            metadata,
        })
        .boxed()
}

pub(crate) fn artifact_update() -> BoxedStrategy<TaskArtifactUpdateEvent> {
    let flags = (any::<bool>(), any::<bool>());
    (task_id(), of(context_id()), artifact().prop_map(Arc::new), flags, metadata())
        .prop_map(|(task_id, context_id, artifact, (append, last_chunk), metadata)| {
            TaskArtifactUpdateEvent { task_id, context_id, artifact, append, last_chunk, metadata }
        })
        .boxed()
}

pub(crate) fn event() -> BoxedStrategy<StreamResponse> {
    prop_oneof![
        task().prop_map(StreamResponse::Task),
        message().prop_map(StreamResponse::Message),
        status_update().prop_map(StreamResponse::StatusUpdate),
        artifact_update().prop_map(StreamResponse::ArtifactUpdate),
    ]
    .boxed()
}

pub(crate) fn push_config() -> BoxedStrategy<TaskPushNotificationConfig> {
    let secret = || non_empty_text().prop_map(Secret::new);
    let authentication = (non_empty_text(), of(secret()))
        .prop_map(|(scheme, credentials)| AuthenticationInfo { scheme, credentials });
    (
        of(non_empty_text()),
        of(push_config_id()),
        task_id(),
        non_empty_text(),
        of(secret()),
        of(authentication),
    )
        .prop_map(|(tenant, id, task_id, url, token, authentication)| TaskPushNotificationConfig {
            tenant,
            id,
            task_id: Some(task_id),
            url,
            token,
            authentication,
        })
        .boxed()
}

fn count() -> impl Strategy<Value = u32> {
    0..=i32::MAX.unsigned_abs()
}

fn configuration() -> impl Strategy<Value = SendMessageConfiguration> {
    (vec(text(), 0..3), of(push_config()), of(count()), any::<bool>()).prop_map(
        |(accepted_output_modes, push, history_length, return_immediately)| {
            SendMessageConfiguration {
                accepted_output_modes,
                task_push_notification_config: push.map(Box::new),
                history_length,
                return_immediately,
            }
        },
    )
}

pub(crate) fn send_request() -> BoxedStrategy<SendMessageRequest> {
    (of(non_empty_text()), message(), of(configuration()), metadata())
        .prop_map(|(tenant, message, configuration, metadata)| SendMessageRequest {
            tenant,
            message,
            configuration,
            metadata,
        })
        .boxed()
}

fn list_request() -> impl Strategy<Value = ListTasksRequest> {
    let filters = (of(context_id()), of(state()), of(timestamp()));
    let page = (of(1..=100u32), of(non_empty_text()));
    (of(non_empty_text()), filters, page, of(count()), of(any::<bool>())).prop_map(
        |(
            tenant,
            (context_id, status, after),
            (page_size, page_token),
            history_length,
            include,
        )| {
            ListTasksRequest {
                tenant,
                context_id,
                status,
                page_size,
                page_token,
                history_length,
                status_timestamp_after: after,
                include_artifacts: include,
            }
        },
    )
}

/// Generates requests of all operations that have parameters.
pub(crate) fn request() -> BoxedStrategy<Request> {
    let tenant = || of(non_empty_text());
    prop_oneof![
        send_request().prop_map(Request::SendMessage),
        send_request().prop_map(Request::SendStreamingMessage),
        (tenant(), task_id(), of(count())).prop_map(|(tenant, id, history_length)| {
            Request::GetTask(GetTaskRequest { tenant, id, history_length })
        }),
        list_request().prop_map(Request::ListTasks),
        (tenant(), task_id(), metadata()).prop_map(|(tenant, id, metadata)| {
            Request::CancelTask(CancelTaskRequest { tenant, id, metadata })
        }),
        (tenant(), task_id()).prop_map(|(tenant, id)| {
            Request::SubscribeToTask(SubscribeToTaskRequest { tenant, id })
        }),
        push_config().prop_map(Request::CreateTaskPushNotificationConfig),
        (tenant(), task_id(), push_config_id()).prop_map(|(tenant, task_id, id)| {
            let id = Some(id);
            let request = GetTaskPushNotificationConfigRequest { tenant, task_id, id };
            Request::GetTaskPushNotificationConfig(request)
        }),
        (tenant(), task_id(), push_config_id()).prop_map(|(tenant, task_id, id)| {
            let id = Some(id);
            let request = DeleteTaskPushNotificationConfigRequest { tenant, task_id, id };
            Request::DeleteTaskPushNotificationConfig(request)
        }),
        (tenant(), task_id(), of(count()), of(non_empty_text())).prop_map(
            |(tenant, task_id, page_size, page_token)| {
                let request = ListTaskPushNotificationConfigsRequest {
                    tenant,
                    task_id,
                    page_size,
                    page_token,
                };
                Request::ListTaskPushNotificationConfigs(request)
            }
        ),
    ]
    .boxed()
}

pub(crate) fn page() -> BoxedStrategy<ListTasksResponse> {
    (vec(task(), 0..3), text(), count(), count())
        .prop_map(|(tasks, next_page_token, page_size, total_size)| ListTasksResponse {
            tasks,
            next_page_token,
            page_size,
            total_size,
        })
        .boxed()
}

pub(crate) fn push_configs() -> BoxedStrategy<ListTaskPushNotificationConfigsResponse> {
    (vec(push_config(), 0..3), of(non_empty_text()))
        .prop_map(|(configs, next_page_token)| ListTaskPushNotificationConfigsResponse {
            configs,
            next_page_token,
        })
        .boxed()
}

/// Generates requests with a matching reply, except streams and cards.
pub(crate) fn exchange() -> BoxedStrategy<(Request, ComparableReply)> {
    let reply = prop_oneof![
        task().prop_map(|it| ComparableReply::SendMessage(SendMessageResponse::Task(it.into()))),
        message().prop_map(|it| ComparableReply::SendMessage(SendMessageResponse::Message(it))),
        task().prop_map(ComparableReply::Task),
        page().prop_map(ComparableReply::TaskList),
        push_config().prop_map(ComparableReply::PushConfig),
        push_configs().prop_map(ComparableReply::PushConfigList),
    ];
    (request(), reply).boxed()
}

/// Reply that can be cloned and compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ComparableReply {
    SendMessage(SendMessageResponse),
    Task(Task),
    TaskList(ListTasksResponse),
    PushConfig(TaskPushNotificationConfig),
    PushConfigList(ListTaskPushNotificationConfigsResponse),
}

impl ComparableReply {
    pub(crate) fn to_reply(&self) -> Reply {
        match self.clone() {
            Self::SendMessage(it) => Reply::SendMessage(it),
            Self::Task(it) => Reply::Task(it.into()),
            Self::TaskList(it) => Reply::TaskList(it),
            Self::PushConfig(it) => Reply::PushConfig(it),
            Self::PushConfigList(it) => Reply::PushConfigList(it),
        }
    }

    pub(crate) fn from_reply(reply: Reply) -> Self {
        match reply {
            Reply::SendMessage(it) => Self::SendMessage(it),
            Reply::Task(it) => Self::Task(std::sync::Arc::unwrap_or_clone(it)),
            Reply::TaskList(it) => Self::TaskList(it),
            Reply::PushConfig(it) => Self::PushConfig(it),
            Reply::PushConfigList(it) => Self::PushConfigList(it),
            other => panic!("unexpected reply {other:?}"),
        }
    }
}
