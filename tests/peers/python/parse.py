"""Reads what Latimer writes with the Python SDK of the environment it runs in, and writes it again.

Usage: python parse.py < asks > answers

Each line in is a JSON object:

    form    "json" (over JSON-RPC), "proto-json" (over HTTP+JSON before 1.0), "protobuf" (over gRPC) or
            "superset" (a card for readers of 0.3 and 1.0)
    type    "request", "reply" (or one event of a stream), "card" or "error"
    method  what the operation is called: the JSON-RPC method or, for the protobuf forms, the RPC
    wire    the JSON text, or the bytes as base64

Each line out is {"ok": true, "wire": what the SDK writes, in the same form}, or {"ok": false, "error": "..."}.
A member or field that the SDK does not know is an error in JSON, and left out in protobuf.
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

TIME_LIMIT = 120  # seconds, so that nothing is left behind
CARD = a2a_pb2.DESCRIPTOR.message_types_by_name['AgentCard']


def message_of(ask: dict):
    """An empty protobuf message of the type that the service says the operation has."""
    if ask['type'] == 'card':
        return message_factory.GetMessageClass(CARD)()
    service = a2a_pb2.DESCRIPTOR.services_by_name['A2AService']
    method = service.methods_by_name[ask['method']]
    found = method.input_type if ask['type'] == 'request' else method.output_type
    return message_factory.GetMessageClass(found)()


def through_protobuf(ask: dict) -> str:
    message = message_of(ask)
    message.ParseFromString(base64.b64decode(ask['wire']))
    message.DiscardUnknownFields()
    return base64.b64encode(message.SerializeToString()).decode()


def through_proto_json(ask: dict) -> dict:
    message = message_of(ask)
    json_format.Parse(ask['wire'], message, ignore_unknown_fields=False)
    return json_format.MessageToDict(message)


def through_pydantic(ask: dict) -> dict:
    """Through the type of the whole envelope, as the SDK's servers and clients do, but strictly."""
    content = json.loads(ask['wire'])
    if ask['type'] == 'card':
        return strictly(t.AgentCard, content)
    model, member = pydantic_type(ask)
    envelope = {'jsonrpc': '2.0', 'id': 1, member: content}
    if member == 'params':
        envelope['method'] = ask['method']
        if not content:
            del envelope['params']  # nothing to say, and one of the types has no place for it
    return strictly(model, envelope).get(member, {})


def pydantic_type(ask: dict) -> tuple[type, str]:
    """The type of the envelope, and the member that holds the content."""
    if ask['type'] == 'error':
        return t.JSONRPCErrorResponse, 'error'
    union = t.A2ARequest.model_fields['root'].annotation
    requests = {it.model_fields['method'].default: it for it in typing.get_args(union)}
    request = requests[ask['method']]
    if ask['type'] == 'request':
        return request, 'params'
    name = request.__name__.replace('TaskResubscription', 'SendStreamingMessage')
    return getattr(t, name.replace('Request', 'Response')), 'result'


def strictly(model: type, content: dict) -> dict:
    read = model.model_validate_json(json.dumps(content), strict=True, extra='forbid')
    return read.model_dump(mode='json', by_alias=True, exclude_unset=True)


def card_over_http(ask: dict) -> dict:
    """As the SDK's client does: the schema's type, and no matter what else is in it."""
    read = t.AgentCard.model_validate(json.loads(ask['wire']))
    return read.model_dump(mode='json', by_alias=True, exclude_unset=True)


def error_of_1_0(ask: dict) -> dict:
    """Through the exception that the SDK's client raises."""
    error = JsonRpcTransport._create_jsonrpc_error(None, json.loads(ask['wire']))
    return {'code': JSON_RPC_ERROR_CODE_MAP[type(error)], 'message': str(error)}


def reader_of(ask: dict):
    form, kind = ask['form'], ask['type']
    if form == 'protobuf':
        return through_protobuf
    if SDK.startswith('1.'):
        if kind == 'error':
            return error_of_1_0
        if form == 'superset':
            return lambda ask: json_format.MessageToDict(parse_agent_card(json.loads(ask['wire'])))
        return through_proto_json
    if form == 'json':
        return through_pydantic
    return card_over_http if ask['method'] == 'GetAgentCard' else through_proto_json


def main() -> None:
    signal.alarm(TIME_LIMIT)
    for line in sys.stdin.buffer:
        ask = json.loads(line)
        try:
            wire = reader_of(ask)(ask)
            answer = {'ok': True, 'wire': wire if isinstance(wire, str) else json.dumps(wire)}
        except Exception as error:
            answer = {'ok': False, 'error': f'{type(error).__name__}: {error}'}
        print(json.dumps(answer), flush=True)


if __name__ == '__main__':
    main()
