"""The protocol as the scenarios see it, whatever SDK and wire it came over."""

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
        return text_of(self.parts)


@dataclass(frozen=True)
class Artifact:
    id: str
    parts: list[Part]


@dataclass(frozen=True)
class Task:
    id: str
    context: str
    state: str  # as 0.3 spells it: working, input-required and so on
    message: Message | None = None
    artifacts: list[Artifact] = field(default_factory=list)
    history: list[Message] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text of all artifacts."""
        return ''.join(text_of(artifact.parts) for artifact in self.artifacts)

    @property
    def said(self) -> str:
        """The text of the status."""
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
    final: bool | None = None  # only 0.x has it


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
    """What was posted to a webhook."""

    headers: Mapping[str, str]  # their names in any case
    body: bytes


Event = Task | Message | Status | Chunk


class Peer:
    """A client of one SDK over one binding. Failures are the SDK's own exceptions."""

    card: Card
    #: The same client of an agent that reads nothing but text, and has no webhooks.
    of_little: 'Peer'
    #: What this SDK cannot do over this binding, by operation, and why.
    lacks: dict[str, str] = {}
    #: What holds with a reservation, by operation.
    notes: dict[str, str] = {}
    #: Whether a history of length zero can be told from one of any length.
    asks_for_no_history: bool = True
    #: Whether get can ask for a length of history at all.
    asks_for_history: bool = True
    #: Whether files travel with name and type.
    describes_files: bool = True
    #: Whether webhooks are sent the task as it is after each event, as before 1.0, and not the event.
    hears_of_tasks: bool = False

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

    def heard(self, delivery: Delivery) -> Event:
        """What a webhook was sent, read as strictly as the SDK can."""

    def meanings(self, error: Exception) -> set[str]:
        """What an exception can mean, in the words of the specification; nothing if it is no answer of the server."""


def text_of(parts: list[Part]) -> str:
    return ''.join(part.value for part in parts if part.kind == 'text')


def folded(events: list[Event]) -> Task:
    """The task that a stream of events describes."""
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


# What 0.3 says with a bare status; several errors share one.
HTTP_MEANINGS = {
    404: {'TaskNotFound'}, 409: {'TaskNotCancelable'}, 415: {'ContentTypeNotSupported'}, 422: {'InvalidParams'},
    501: {'PushNotificationNotSupported', 'UnsupportedOperation'},
}
GRPC_MEANINGS = {
    'NOT_FOUND': {'TaskNotFound'}, 'INVALID_ARGUMENT': {'InvalidParams'}, 'FAILED_PRECONDITION': {'TaskNotCancelable'},
    'UNIMPLEMENTED': {'PushNotificationNotSupported', 'UnsupportedOperation', 'ContentTypeNotSupported'},
}
RPC_MEANINGS = {
    -32001: {'TaskNotFound'}, -32002: {'TaskNotCancelable'}, -32003: {'PushNotificationNotSupported'},
    -32004: {'UnsupportedOperation'}, -32005: {'ContentTypeNotSupported'}, -32602: {'InvalidParams'},
    -32009: {'VersionNotSupported'},
}
