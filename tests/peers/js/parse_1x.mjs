// Parses with the codecs of @a2a-js/sdk 1.x. A member that they drop is an error.

import * as a2a from 'a2a-1.x';
import { fromJsonRpcErrorResponse } from 'a2a-1.x/errors';
import { A2AService } from 'a2a-1.x/server/grpc';

export { A2AService as service };

/** Request and response type of each operation. */
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
  const input = JSON.parse(wire);
  if (type === 'error') {
    const error = fromJsonRpcErrorResponse({ jsonrpc: '2.0', id: 1, error: input });
    return { code: error.envelopeCode, message: error.message };
  }
  const codec = type === 'card' ? a2a.AgentCard : types[method][type === 'request' ? 0 : 1];
  if (!codec) return input; // the response is empty, and the client ignores it
  const output = codec.toJSON(codec.fromJSON(input));
  if (form !== 'superset') requireAllMembers(input, output, '');
  return output;
}

/** Throws an error if a member was dropped, unless its value is a default. */
function requireAllMembers(input, output, path) {
  if (typeof input !== 'object' || input === null) return;
  for (const [name, value] of Object.entries(input)) {
    if (output?.[name] === undefined) {
      if (isEmpty(value)) continue;
      throw new Error(`the SDK does not know ${path}/${name}`);
    }
    requireAllMembers(value, output[name], `${path}/${name}`);
  }
}

function isEmpty(value) {
  return !value || (typeof value === 'object' && Object.values(value).every(isEmpty));
}
