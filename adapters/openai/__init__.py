"""The OpenAI dialect as pure functions: bodies to send, streams to read. Opens no connection, reads no clock."""

from adapters.openai.dialect import Dialect, Route
from adapters.openai.event import Event, Usage, read_event
from adapters.openai.memo import EventMemo
from adapters.openai.request import Messages, encode_request
from adapters.openai.stream import StreamScanner

__all__ = [
    "Dialect",
    "Event",
    "EventMemo",
    "Messages",
    "Route",
    "StreamScanner",
    "Usage",
    "encode_request",
    "read_event",
]
