"""Parses payloads written by Latimer with the Python SDK of the environment, and serializes them again.

Usage: python parse.py < requests > results

Each line in is a JSON object:

    form    "json" (over JSON-RPC), "proto-json" (over HTTP+JSON before 1.0), "protobuf" (over gRPC) or
            "superset" (a card for clients of 0.3 and 1.0)
    type    "request", "reply" (or one event of a stream), "card" or "error"
    method  name of the operation: the JSON-RPC method or, for the protobuf forms, the RPC
    wire    the JSON text, or the bytes as base64

Each line out is {"ok": true, "wire": the payload as the SDK serializes it, in the same form} or
{"ok": false, "error": "..."}.
A member that the SDK does not know is an error in JSON and is dropped in protobuf.
"""

import base64
import json
import signal
import sys
import typing
from importlib.metadata import version

from google.protobuf import json_format, message_factory

SDK = version('a2a-sdk')
if SDK.startswith('1.'):
    from a2a.client.card_resolver import parse_agent_card
    from a2a.client.transports.jsonrpc import JsonRpcTransport
    from a2a.types import a2a_pb2
    from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP
else:
    from a2a import types as t
    from a2a.grpc import a2a_pb2

TIME_LIMIT = 120  # seconds, so that no process remains
CARD = a2a_pb2.DESCRIPTOR.message_types_by_name['AgentCard']


def empty_message(request: dict):
    """Creates an empty protobuf message of the type that the operation has in the service definition."""
    if request['type'] == 'card':
        return message_factory.GetMessageClass(CARD)()
    service = a2a_pb2.DESCRIPTOR.services_by_name['A2AService']
    method = service.methods_by_name[request['method']]
    descriptor = method.input_type if request['type'] == 'request' else method.output_type
    return message_factory.GetMessageClass(descriptor)()


def through_protobuf(request: dict) -> str:
    message = empty_message(request)
    message.ParseFromString(base64.b64decode(request['wire']))
    message.DiscardUnknownFields()
    return base64.b64encode(message.SerializeToString()).decode()


def through_proto_json(request: dict) -> dict:
    message = empty_message(request)
    json_format.Parse(request['wire'], message, ignore_unknown_fields=False)
    return json_format.MessageToDict(message)


def through_pydantic(request: dict) -> dict:
    """Parses with the type of the complete envelope, as the SDK's servers and clients do, but strictly."""
    content = json.loads(request['wire'])
    if request['type'] == 'card':
        return validate_strictly(t.AgentCard, content)
    model, member = pydantic_type(request)
    envelope = {'jsonrpc': '2.0', 'id': 1, member: content}
    if member == 'params':
        envelope['method'] = request['method']
        if not content:
            del envelope['params']  # one of the types has no such member
    return validate_strictly(model, envelope).get(member, {})


def pydantic_type(request: dict) -> tuple[type, str]:
    """Returns the type of the envelope, and the member that contains the payload."""
    if request['type'] == 'error':
        return t.JSONRPCErrorResponse, 'error'
    union = t.A2ARequest.model_fields['root'].annotation
    requests = {it.model_fields['method'].default: it for it in typing.get_args(union)}
    model = requests[request['method']]
    if request['type'] == 'request':
        return model, 'params'
    name = model.__name__.replace('TaskResubscription', 'SendStreamingMessage')
    return getattr(t, name.replace('Request', 'Response')), 'result'


def validate_strictly(model: type, content: dict) -> dict:
    parsed = model.model_validate_json(json.dumps(content), strict=True, extra='forbid')
    return parsed.model_dump(mode='json', by_alias=True, exclude_unset=True)


def through_card_type(request: dict) -> dict:
    """Parses as the SDK's client does, which ignores unknown members."""
    card = t.AgentCard.model_validate(json.loads(request['wire']))
    return card.model_dump(mode='json', by_alias=True, exclude_unset=True)


def through_exception(request: dict) -> dict:
    """Converts to the exception that the SDK's client of 1.x raises."""
    error = JsonRpcTransport._create_jsonrpc_error(None, json.loads(request['wire']))
    return {'code': JSON_RPC_ERROR_CODE_MAP[type(error)], 'message': str(error)}


def codec_for(request: dict):
    """Returns the function that parses and serializes this kind of payload."""
    form, kind = request['form'], request['type']
    if form == 'protobuf':
        return through_protobuf
    if SDK.startswith('1.'):
        if kind == 'error':
            return through_exception
        if form == 'superset':
            return lambda request: json_format.MessageToDict(parse_agent_card(json.loads(request['wire'])))
        return through_proto_json
    if form == 'json':
        return through_pydantic
    return through_card_type if request['method'] == 'GetAgentCard' else through_proto_json


def main() -> None:
    signal.alarm(TIME_LIMIT)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            wire = codec_for(request)(request)
            result = {'ok': True, 'wire': wire if isinstance(wire, str) else json.dumps(wire)}
        except Exception as error:
            result = {'ok': False, 'error': f'{type(error).__name__}: {error}'}
        print(json.dumps(result), flush=True)


if __name__ == '__main__':
    main()
