//! Calls of the package `lf.a2a.v1`, which is that of 1.0.

use latimer_pb::v1 as pb;
use latimer_protocol::binding::grpc::Package;
use latimer_protocol::card::AgentCard;
use latimer_protocol::{
    ListTaskPushNotificationConfigsResponse, ListTasksResponse, Reply, ReplyKind, Request,
    SendMessageResponse, Task, TaskPushNotificationConfig,
};

use super::{ExchangeResult, Rpc, unsupported_operation};

pub(super) async fn exchange(rpc: Rpc<'_>, request: &Request) -> ExchangeResult {
    let (reply, extensions) = match request {
        Request::SendMessage(it) => {
            let message = pb::SendMessageRequest::from(it);
            let (it, active) =
                rpc.unary::<_, pb::SendMessageResponse, SendMessageResponse>(message).await?;
            (Reply::SendMessage(it), active)
        }
        Request::SendStreamingMessage(it) => {
            let message = pb::SendMessageRequest::from(it);
            return rpc.stream::<_, pb::StreamResponse>(message).await;
        }
        Request::SubscribeToTask(it) => {
            let message = pb::SubscribeToTaskRequest::from(it);
            return rpc.stream::<_, pb::StreamResponse>(message).await;
        }
        Request::GetTask(it) => {
            let (it, active) = rpc.unary::<_, pb::Task, Task>(pb::GetTaskRequest::from(it)).await?;
            (Reply::Task(it.into()), active)
        }
        Request::ListTasks(it) => {
            let message = pb::ListTasksRequest::from(it);
            let (it, active) =
                rpc.unary::<_, pb::ListTasksResponse, ListTasksResponse>(message).await?;
            (Reply::TaskList(it), active)
        }
        Request::CancelTask(it) => {
            let (it, active) =
                rpc.unary::<_, pb::Task, Task>(pb::CancelTaskRequest::from(it)).await?;
            (Reply::Task(it.into()), active)
        }
        Request::CreateTaskPushNotificationConfig(it) => {
            let message = pb::TaskPushNotificationConfig::from(it);
            push_config(rpc, message).await?
        }
        Request::GetTaskPushNotificationConfig(it) => {
            push_config(rpc, pb::GetTaskPushNotificationConfigRequest::from(it)).await?
        }
        Request::ListTaskPushNotificationConfigs(it) => {
            let message = pb::ListTaskPushNotificationConfigsRequest::from(it);
            let (it, active) = rpc
                .unary::<
                    _,
                    pb::ListTaskPushNotificationConfigsResponse,
                    ListTaskPushNotificationConfigsResponse,
                >(message)
                .await?;
            (Reply::PushConfigList(it), active)
        }
        Request::DeleteTaskPushNotificationConfig(it) => {
            let message = pb::DeleteTaskPushNotificationConfigRequest::from(it);
            let ((), active) = rpc.unary::<_, (), ()>(message).await?;
            (Reply::PushConfigsDeleted(1), active)
        }
        Request::GetExtendedAgentCard(it) => {
            let message = pb::GetExtendedAgentCardRequest::from(it);
            let (it, active) = rpc.unary::<_, pb::AgentCard, AgentCard>(message).await?;
            (Reply::Card(it.into()), active)
        }
        Request::GetAgentCard => return Err(unsupported_operation(Package::V1_0)),
    };
    Ok((ReplyKind::Single(reply), extensions))
}

async fn push_config<M: prost::Message + Default + 'static>(
    rpc: Rpc<'_>,
    message: M,
) -> Result<(Reply, Vec<String>), crate::Error> {
    let (it, active) =
        rpc.unary::<M, pb::TaskPushNotificationConfig, TaskPushNotificationConfig>(message).await?;
    Ok((Reply::PushConfig(it), active))
}
