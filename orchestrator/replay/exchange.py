"""One request in flight: what was sent and received, and the verdict on how it ended. Touches no socket."""

from collections.abc import Callable, Sequence

from adapters.openai import StreamScanner
from orchestrator.domain.records import RequestFailure, RequestRecord
from orchestrator.replay.prepared import PreparedRequest
from orchestrator.replay.redaction import redact

HTTP_OK = 200
DETAIL_CHARS = 200
RETRY_AFTER_CHARS = 40
KEPT_BODY_BYTES = 4096
NOT_A_STREAM = (b"application/json", b"text/html")


class Exchange:
    """Collects one request's facts while it is in flight; `is_over` once it has its verdict."""

    __slots__ = (
        "_body",
        "_is_chunked",
        "_is_framed",
        "_is_stream",
        "_retry_after",
        "connect_ns",
        "deadline_ns",
        "detail",
        "dispatched_ns",
        "end_ns",
        "failure",
        "head",
        "intended_ns",
        "is_over",
        "on_end",
        "reconnects",
        "request",
        "scanner",
        "sent_ns",
        "status",
    )

    def __init__(self, request: PreparedRequest, head: bytes, *, scanner: StreamScanner) -> None:
        self.request = request
        self.head = head
        self.scanner = scanner
        self.intended_ns = 0
        self.dispatched_ns = 0
        self.deadline_ns = 0
        self.sent_ns: int | None = None
        self.connect_ns = 0
        self.reconnects = 0
        self.end_ns = 0
        self.status: int | None = None
        self.failure: RequestFailure | None = None
        self.detail: str | None = None
        self.is_over = False
        self.on_end: Callable[[Exchange], None] | None = None
        self._body = b""
        self._is_stream = True
        self._is_framed = False
        self._is_chunked = False
        self._retry_after = ""

    def take_header(self, name: bytes, value: bytes) -> None:
        """Note the headers that decide how the body is read, and when a busy server wants to be asked again."""
        match name.lower():
            case b"content-type":
                self._is_stream = not value.lower().startswith(NOT_A_STREAM)
            case b"content-length":
                self._is_framed = True
            case b"transfer-encoding":
                self._is_framed = True
                self._is_chunked = value.strip().lower() == b"chunked"
            case b"retry-after":
                self._retry_after = f" (Retry-After: {value.decode(errors='replace')[:RETRY_AFTER_CHARS]})"
            case _:
                pass

    def take_status(self, status: int) -> None:
        """Note the answer's status."""
        self.status = status

    @property
    def is_chunked_stream(self) -> bool:
        """Say whether what comes is a stream in chunks, whose end can be told from its last bytes."""
        return self._is_chunked and self._is_stream and self.status == HTTP_OK

    def take_bodies(self, bodies: Sequence[bytes], times_ns: Sequence[int]) -> None:
        """Scan pieces of the stream, each with its time, or keep the start of what is none for the record."""
        if self.status == HTTP_OK and self._is_stream:
            self.scanner.feed_all(bodies, times_ns)
        if not self.scanner.event_count and len(self._body) < KEPT_BODY_BYTES:
            self._body = (self._body + b"".join(bodies))[:KEPT_BODY_BYTES]

    def end_whole(self, now_ns: int) -> None:
        """End the exchange with its HTTP message: the verdict is on what the message said."""
        self._end(now_ns, *self._judge(None, "", now_ns))

    def end_closed(self, now_ns: int, detail: str) -> None:
        """End the exchange with its connection: whole only if the stream had ended, or nothing else marks the end."""
        is_whole = self.status is not None and not self._is_framed and self.scanner.may_end
        self._end(now_ns, *self._judge(None if is_whole else RequestFailure.CUT_STREAM, detail, now_ns))

    def end_failed(self, now_ns: int, failure: RequestFailure, detail: str) -> None:
        """End the exchange for a reason from outside its answer; what the answer said before counts first."""
        self._end(now_ns, *self._judge(failure, detail, now_ns))

    def _end(self, now_ns: int, failure: RequestFailure | None, detail: str) -> None:
        self.is_over = True
        self.failure = failure
        self.detail = detail or None
        done_ns = self.scanner.done_ns
        self.end_ns = now_ns if failure is not None or done_ns is None else done_ns

    def _judge(self, why: RequestFailure | None, detail: str, now_ns: int) -> tuple[RequestFailure | None, str]:
        self.scanner.close(now_ns)
        if self.status is None:
            return why or RequestFailure.CUT_STREAM, detail
        if self.status != HTTP_OK:
            return RequestFailure.HTTP_STATUS, f"{self.status}{self._retry_after}: {self._body_text()}"
        if not self._is_stream:
            return RequestFailure.BAD_RESPONSE, f"expected an event stream, seen {self._body_text()}"
        return self._judge_stream(why, detail)

    def _judge_stream(self, why: RequestFailure | None, detail: str) -> tuple[RequestFailure | None, str]:
        scanner = self.scanner
        if scanner.error is not None:
            return RequestFailure.STREAM_ERROR, scanner.error
        if scanner.malformed is not None:
            return RequestFailure.BAD_RESPONSE, scanner.malformed
        if scanner.done_ns is None and not (why is None and scanner.may_end):
            return self._judge_unended(why, detail)
        return (None, "") if scanner.chunk_ns else (RequestFailure.EMPTY_OUTPUT, "the stream ended without a token")

    def _judge_unended(self, why: RequestFailure | None, detail: str) -> tuple[RequestFailure, str]:
        if why is not None:
            return why, detail
        if self._body.strip() and not self.scanner.event_count:
            return RequestFailure.BAD_RESPONSE, f"expected an event stream, seen {self._body_text()}"
        return RequestFailure.CUT_STREAM, "the answer ended without [DONE]"

    def _body_text(self) -> str:
        return self._body.decode(errors="replace").strip()

    def record(self, key: str | None) -> RequestRecord:
        """Return the record; `key` never stands in it, even where the server repeated it."""
        scanner, usage = self.scanner, self.scanner.usage
        return RequestRecord(
            index=self.request.index,
            intended_ns=self.intended_ns,
            dispatched_ns=self.dispatched_ns,
            sent_ns=self.sent_ns,
            chunk_ns=scanner.chunk_ns,
            end_ns=self.end_ns,
            input_tokens=self.request.input_tokens,
            output_tokens_asked=self.request.output_tokens_asked,
            input_tokens_server=usage.input_tokens if usage else None,
            output_tokens_server=usage.output_tokens if usage else None,
            output_tokens_client=scanner.output_tokens,
            cached_tokens_server=usage.cached_tokens if usage else None,
            first_answer_ns=scanner.first_answer_ns,
            finish_reason=scanner.finish_reason,
            http_status=self.status,
            failure=self.failure,
            failure_detail=None if self.detail is None else redact(self.detail, key)[:DETAIL_CHARS],
            connect_ns=self.connect_ns,
            chunk_tokens=scanner.chunk_tokens,
        )
