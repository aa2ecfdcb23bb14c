"""Records what the official Python SDK puts on the wire, one filled instance of every message.

    pip install 'a2a-sdk[grpc]==1.3.0'  && python record.py 1.0 && python record.py google.rpc
    pip install 'a2a-sdk[grpc]==0.3.26' && python record.py 0.3

Writes `1.0.json`, `0.3.json` and `google.rpc.json` beside this file. Every field is filled by a
rule that the Rust test repeats (`tests/it/sample.rs`):

- a string is the name of its field, bytes are that name, a repeated field has one element;
- an int32 is the number of letters of that name, a bool is true, an enum is 2;
- a Struct or a map has one entry, whose key is that name; a Value is that name as a string;
- a Timestamp or a Duration is as many seconds as the name has letters, and a half;
- an Any holds an ErrorInfo;
- a oneof holds its first member, and at the top there is one instance for each member.
"""

import base64
import importlib
import json
import pathlib
import sys
from importlib.metadata import version

from google.protobuf import descriptor_pb2, json_format, message_factory
from google.rpc import error_details_pb2

A2A_MODULES = {
    "1.0": ["a2a.types.a2a_pb2"],
    # The second one is the copy that the SDK for 1.0 keeps to talk to 0.3.
    "0.3": ["a2a.grpc.a2a_pb2", "a2a.compat.v0_3.a2a_v0_3_pb2"],
}
RPC_MODULES = ["google.rpc.status_pb2", "google.rpc.error_details_pb2"]
RPC_TYPES = {"Status", "ErrorInfo", "RetryInfo", "BadRequest", "LocalizedMessage"}


def main(name):
    if name == "google.rpc":
        peer = f"googleapis-common-protos {version('googleapis-common-protos')}"
        files = [importlib.import_module(module).DESCRIPTOR for module in RPC_MODULES]
        wanted = RPC_TYPES
    else:
        peer = f"a2a-sdk {version('a2a-sdk')}"
        files = [first_present(A2A_MODULES[name]).DESCRIPTOR]
        wanted = None
    types = [kind for file in files for kind in messages(file, wanted)]
    recorded = {
        "peer": peer,
        "messages": [record(kind) for kind in types],
        "enums": {e.full_name: enum(e) for f in files for e in f.enum_types_by_name.values()},
        "methods": [method(m) for f in files for s in f.services_by_name.values() for m in s.methods],
    }
    text = json.dumps(recorded, indent=1, ensure_ascii=False) + "\n"
    pathlib.Path(__file__).with_name(f"{name}.json").write_text(text, encoding="utf-8")


def first_present(modules):
    for module in modules:
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError:
            continue
    raise SystemExit(f"none of {', '.join(modules)} is installed")


def messages(file, wanted):
    """All message types of a file with those nested in them, without the entries of maps."""
    queue = [t for n, t in file.message_types_by_name.items() if wanted is None or n in wanted]
    while queue:
        kind = queue.pop(0)
        if not kind.GetOptions().map_entry:
            yield kind
            queue[:0] = kind.nested_types


def record(kind):
    samples = []
    for member in members(kind):
        message = sample(kind, member)
        samples.append({
            "bytes": base64.b64encode(message.SerializeToString(deterministic=True)).decode(),
            "json": json_format.MessageToDict(message),
        })
    return {"type": kind.full_name, "fields": fields(kind), "samples": samples}


def fields(kind):
    """One line for each field: number, name, JSON name, presence, type, oneof."""
    proto = descriptor_pb2.DescriptorProto()
    kind.CopyToProto(proto)
    lines = []
    for field in proto.field:
        types = descriptor_pb2.FieldDescriptorProto
        if field.label == types.LABEL_REPEATED:
            presence = "repeated"
        else:
            presence = "optional" if field.proto3_optional else "single"
        content = field.type_name or types.Type.Name(field.type)
        in_oneof = field.HasField("oneof_index") and not field.proto3_optional
        oneof = proto.oneof_decl[field.oneof_index].name if in_oneof else "-"
        json_name = kind.fields_by_number[field.number].json_name
        lines.append(f"{field.number} {field.name} {json_name} {presence} {content} {oneof}")
    return sorted(lines)


def enum(kind):
    return [f"{value.number} {value.name}" for value in kind.values]


def method(rpc):
    stream = "stream " if rpc.server_streaming else ""
    return f"{rpc.full_name} {rpc.input_type.full_name} {stream}{rpc.output_type.full_name}"


def real_oneofs(kind):
    return [o for o in kind.oneofs if not o.name.startswith("_")]


def members(kind):
    """The members of the type's oneof; a single None when there is none."""
    oneofs = real_oneofs(kind)
    assert len(oneofs) < 2, f"{kind.full_name} has two oneofs"
    return oneofs[0].fields if oneofs else [None]


def sample(kind, member):
    message = message_factory.GetMessageClass(kind)()
    for field in kind.fields:
        oneof = field.containing_oneof
        if oneof in real_oneofs(kind) and field != member:
            continue
        fill(message, field)
    return message


def fill(message, field):
    name = field.name
    kind = field.message_type
    if kind is None and field.is_repeated:
        getattr(message, name).append(scalar(field, name))
    elif kind is None:
        setattr(message, name, scalar(field, name))
    elif kind.GetOptions().map_entry:
        value = kind.fields_by_name["value"]
        if value.message_type is None:
            getattr(message, name)[name] = scalar(value, name)
        else:
            getattr(message, name)[name].CopyFrom(nested(value.message_type, name))
    elif field.is_repeated:
        getattr(message, name).add().CopyFrom(nested(kind, name))
    else:
        getattr(message, name).CopyFrom(nested(kind, name))


def scalar(field, name):
    if field.enum_type is not None:
        return 2
    if field.cpp_type == field.CPPTYPE_BOOL:
        return True
    if field.cpp_type == field.CPPTYPE_INT32:
        return len(name)
    return name.encode() if field.type == field.TYPE_BYTES else name


def nested(kind, name):
    message = message_factory.GetMessageClass(kind)()
    if kind.full_name == "google.protobuf.Struct":
        message.update({name: name})
    elif kind.full_name == "google.protobuf.Value":
        message.string_value = name
    elif kind.full_name in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
        message.seconds = len(name)
        message.nanos = 500_000_000
    elif kind.full_name == "google.protobuf.Any":
        message.Pack(sample(error_details_pb2.ErrorInfo.DESCRIPTOR, None), deterministic=True)
    else:
        return sample(kind, members(kind)[0])
    return message


if __name__ == "__main__":
    main(*sys.argv[1:])
