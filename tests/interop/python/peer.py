"""Model of the protocol that the scenarios use, independent of SDK and binding."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Part:
    kind: str  # text, bytes, url or data
    value: object
    name: str = ''
    media_type: str = ''


@dataclass(frozen=True)
class Message:
    id: str
    role: str
    parts: list[Part]
    task: str
    context: str

    @property
    def text(self) -> str:
        return join_text(self.parts)


@dataclass(frozen=True)
class Artifact:
    id: str
    parts: list[Part]


@dataclass(frozen=True)
class Task:
    id: str
    context: str
    state: str  # in the notation of 0.3, such as input-required
    message: Message | None = None
    artifacts: list[Artifact] = field(default_factory=list)
    history: list[Message] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The concatenated text of all artifacts."""
        return ''.join(join_text(artifact.parts) for artifact in self.artifacts)

    @property
    def status_text(self) -> str:
        """The text of the status message."""
        return self.message.text if self.message else ''

    @property
    def parts(self) -> list[Part]:
        return [part for artifact in self.artifacts for part in artifact.parts]


@dataclass(frozen=True)
class Status:
    task: str
    context: str
    state: str
    message: Message | None
    final: bool | None = None  # in 0.x only


@dataclass(frozen=True)
class Chunk:
    task: str
    context: str
    artifact: Artifact
    append: bool
    last: bool


@dataclass(frozen=True)
class Card:
    name: str
    description: str
    streaming: bool
    push: bool
    extended: bool
    bindings: list[str]


@dataclass(frozen=True)
class Page:
    tasks: list[Task]
    next: str
    size: int
    total: int


@dataclass(frozen=True)
class Webhook:
    id: str
    url: str
    token: str
    scheme: str = ''
    credentials: str = ''


@dataclass(frozen=True)
class Delivery:
    """A request to a webhook."""

    headers: Mapping[str, str]  # with case-insensitive names
    body: bytes


Event = Task | Message | Status | Chunk


class Peer:
    """A client of one SDK over one binding. Calls raise the exceptions of the SDK."""

    card: Card
    #: A client of an agent that accepts only text and has no webhooks.
    minimal: 'Peer'
    #: Operations that the SDK does not support over this binding, with the reason.
    unsupported: dict[str, str] = {}
    #: Limitations of supported operations.
    notes: dict[str, str] = {}
    #: Whether a history length of zero differs from an unset one.
    supports_zero_history: bool = True
    #: Whether `get` has a history length.
    supports_history: bool = True
    #: Whether files keep their name and media type.
    keeps_file_metadata: bool = True
    #: Whether webhooks receive the task after each event, as before 1.0, instead of the event.
    webhooks_send_tasks: bool = False

    async def send(
        self, *parts: Part | str, task='', context='', wait=True, history=None,
        push: Webhook | None = None) -> Task | Message: ...
    def stream(
        self, *parts: Part | str, task='', context='', push: Webhook | None = None) -> AsyncIterator[Event]: ...
    async def get(self, task: str, history: int | None = None) -> Task: ...
    async def list(self, **filters) -> Page: ...
    async def cancel(self, task: str) -> Task: ...
    def subscribe(self, task: str) -> AsyncIterator[Event]: ...
    async def create_webhook(self, task: str, webhook: Webhook) -> Webhook: ...
    async def get_webhook(self, task: str, id: str) -> Webhook: ...
    async def list_webhooks(self, task: str) -> Sequence[Webhook]: ...
    async def delete_webhook(self, task: str, id: str) -> None: ...
    async def extended_card(self) -> Card: ...
    async def send_as(self, version: str) -> object: ...

    def parse_delivery(self, delivery: Delivery) -> Event:
        """Parses a webhook request as strictly as the SDK can."""

    def error_kinds(self, error: Exception) -> set[str]:
        """The errors of the specification that an exception can stand for; none if it is no error response."""


def join_text(parts: list[Part]) -> str:
    return ''.join(part.value for part in parts if part.kind == 'text')


def fold_events(events: list[Event]) -> Task:
    """Returns the task that a stream of events describes."""
    first, *rest = events
    state, message = first.state, first.message
    artifacts = {artifact.id: list(artifact.parts) for artifact in first.artifacts}
    for event in rest:
        match event:
            case Status():
                state, message = event.state, event.message
            case Chunk(artifact=artifact, append=True):
                artifacts[artifact.id] += artifact.parts
            case Chunk(artifact=artifact):
                artifacts[artifact.id] = list(artifact.parts)
            case other:
                raise AssertionError(f'{type(other).__name__} after the first event')
    return Task(first.id, first.context, state, message, [Artifact(*item) for item in artifacts.items()])


# Errors by HTTP or gRPC status in 0.3, where several errors share a status.
HTTP_ERRORS = {
    404: {'TaskNotFound'}, 409: {'TaskNotCancelable'}, 415: {'ContentTypeNotSupported'}, 422: {'InvalidParams'},
    501: {'PushNotificationNotSupported', 'UnsupportedOperation'},
}
GRPC_ERRORS = {
    'NOT_FOUND': {'TaskNotFound'}, 'INVALID_ARGUMENT': {'InvalidParams'}, 'FAILED_PRECONDITION': {'TaskNotCancelable'},
    'UNIMPLEMENTED': {'PushNotificationNotSupported', 'UnsupportedOperation', 'ContentTypeNotSupported'},
}
RPC_ERRORS = {
    -32001: {'TaskNotFound'}, -32002: {'TaskNotCancelable'}, -32003: {'PushNotificationNotSupported'},
    -32004: {'UnsupportedOperation'}, -32005: {'ContentTypeNotSupported'}, -32602: {'InvalidParams'},
    -32009: {'VersionNotSupported'},
}
