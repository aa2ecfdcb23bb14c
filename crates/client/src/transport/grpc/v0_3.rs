//! The messages of `a2a.v1`.

use latimer_pb::v0_3 as pb;
use latimer_protocol::card::AgentCard;
use latimer_protocol::{
    ListTaskPushNotificationConfigsResponse, ListTasksResponse, Reply, Request,
    SendMessageResponse, Task, TaskPushNotificationConfig,
};

use super::{Answered, Grpc, Rpc};
use crate::transport::Outcome;

pub(super) async fn exchange(grpc: &Grpc, rpc: Rpc<'_>, request: &Request) -> Answered {
    let (reply, extensions) = match request {
        Request::SendMessage(it) => {
            let asked = pb::SendMessageRequest::from(it);
            let (it, on) =
                rpc.unary::<_, pb::SendMessageResponse, SendMessageResponse>(asked).await?;
            (Reply::SendMessage(it), on)
        }
        Request::SendStreamingMessage(it) => {
            let asked = pb::SendMessageRequest::from(it);
            let (events, on) = rpc.stream::<_, pb::StreamResponse>(asked).await?;
            return Ok((Outcome::Events(grpc.events(events).await?), on));
        }
        Request::SubscribeToTask(it) => {
            let asked = pb::TaskSubscriptionRequest::from(it);
            let (events, on) = rpc.stream::<_, pb::StreamResponse>(asked).await?;
            return Ok((Outcome::Events(grpc.events(events).await?), on));
        }
        Request::GetTask(it) => {
            let (it, on) = rpc.unary::<_, pb::Task, Task>(pb::GetTaskRequest::from(it)).await?;
            (Reply::Task(it.into()), on)
        }
        Request::ListTasks(it) => {
            let asked = pb::ListTasksRequest::from(it);
            let (it, on) = rpc.unary::<_, pb::ListTasksResponse, ListTasksResponse>(asked).await?;
            (Reply::TaskList(it), on)
        }
        Request::CancelTask(it) => {
            let (it, on) = rpc.unary::<_, pb::Task, Task>(pb::CancelTaskRequest::from(it)).await?;
            (Reply::Task(it.into()), on)
        }
        Request::CreateTaskPushNotificationConfig(it) => {
            let asked = pb::CreateTaskPushNotificationConfigRequest::from(it);
            push_config(rpc, asked).await?
        }
        Request::GetTaskPushNotificationConfig(it) => {
            push_config(rpc, pb::GetTaskPushNotificationConfigRequest::from(it)).await?
        }
        Request::ListTaskPushNotificationConfigs(it) => {
            let asked = pb::ListTaskPushNotificationConfigRequest::from(it);
            let (it, on) = rpc
                .unary::<
                    _,
                    pb::ListTaskPushNotificationConfigResponse,
                    ListTaskPushNotificationConfigsResponse,
                >(asked)
                .await?;
            (Reply::PushConfigList(it), on)
        }
        Request::DeleteTaskPushNotificationConfig(it) => {
            let asked = pb::DeleteTaskPushNotificationConfigRequest::from(it);
            let ((), on) = rpc.unary::<_, (), ()>(asked).await?;
            (Reply::PushConfigsDeleted(1), on)
        }
        Request::GetExtendedAgentCard(_) => {
            let asked = pb::GetAgentCardRequest {};
            let (it, on) = rpc.unary::<_, pb::AgentCard, AgentCard>(asked).await?;
            (Reply::Card(it.into()), on)
        }
        // It has no path here, and so no call that was ready.
        Request::GetAgentCard => return Err(latimer_protocol::Error::internal().into()),
    };
    Ok((Outcome::Reply(reply), extensions))
}

async fn push_config<M: prost::Message + Default + 'static>(
    rpc: Rpc<'_>,
    asked: M,
) -> Result<(Reply, Vec<String>), crate::Error> {
    let (it, on) =
        rpc.unary::<M, pb::TaskPushNotificationConfig, TaskPushNotificationConfig>(asked).await?;
    Ok((Reply::PushConfig(it), on))
}
