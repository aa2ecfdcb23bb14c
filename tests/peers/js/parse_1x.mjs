// Reads with the codecs of @a2a-js/sdk 1.x; a member that they leave out is an error.

import * as a2a from 'a2a-1.x';
import { fromJsonRpcErrorResponse } from 'a2a-1.x/errors';
import { A2AService } from 'a2a-1.x/server/grpc';

export { A2AService as service };

/** What each operation takes and gives. */
const types = {
  SendMessage: [a2a.SendMessageRequest, a2a.SendMessageResponse],
  SendStreamingMessage: [a2a.SendMessageRequest, a2a.StreamResponse],
  GetTask: [a2a.GetTaskRequest, a2a.Task],
  ListTasks: [a2a.ListTasksRequest, a2a.ListTasksResponse],
  CancelTask: [a2a.CancelTaskRequest, a2a.Task],
  SubscribeToTask: [a2a.SubscribeToTaskRequest, a2a.StreamResponse],
  CreateTaskPushNotificationConfig: [a2a.TaskPushNotificationConfig, a2a.TaskPushNotificationConfig],
  GetTaskPushNotificationConfig: [a2a.GetTaskPushNotificationConfigRequest, a2a.TaskPushNotificationConfig],
  ListTaskPushNotificationConfigs:
    [a2a.ListTaskPushNotificationConfigsRequest, a2a.ListTaskPushNotificationConfigsResponse],
  DeleteTaskPushNotificationConfig: [a2a.DeleteTaskPushNotificationConfigRequest, undefined],
  GetExtendedAgentCard: [a2a.GetExtendedAgentCardRequest, a2a.AgentCard],
};

export function read({ form, type, method, wire }) {
  const sent = JSON.parse(wire);
  if (type === 'error') {
    const error = fromJsonRpcErrorResponse({ jsonrpc: '2.0', id: 1, error: sent });
    return { code: error.envelopeCode, message: error.message };
  }
  const codec = type === 'card' ? a2a.AgentCard : types[method][type === 'request' ? 0 : 1];
  if (!codec) return sent; // nothing is answered, and the client does not look at it
  const written = codec.toJSON(codec.fromJSON(sent));
  if (form !== 'superset') mustKeep(sent, written, '');
  return written;
}

/** Fails on a member that was left out, unless it says as much as none. */
function mustKeep(sent, written, place) {
  if (typeof sent !== 'object' || sent === null) return;
  for (const [name, value] of Object.entries(sent)) {
    if (written?.[name] === undefined) {
      if (isNone(value)) continue;
      throw new Error(`the SDK does not know ${place}/${name}`);
    }
    mustKeep(value, written[name], `${place}/${name}`);
  }
}

function isNone(value) {
  return !value || (typeof value === 'object' && Object.values(value).every(isNone));
}
