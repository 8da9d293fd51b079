"""Which path does what: the OpenAI routes, health, metrics, tokens, cache reset."""

import time
from collections.abc import Callable, Mapping

from adapters.simulated import metrics
from adapters.simulated.connection import Connection, HttpRequest
from adapters.simulated.dialect import BadRequestError, Kind, error_body, read_generation, read_object, tokenize
from adapters.simulated.engine import Engine
from adapters.simulated.options import served_models
from adapters.simulated.reply import Reply
from adapters.simulated.script import Script
from adapters.simulated.tape import TapeReply
from adapters.simulated.voices import Voice

NO_VOICES: Mapping[str, Voice] = {}
Handler = Callable[[HttpRequest, Connection], None]


class Routes:
    """Answers each request of every connection; healthy from `healthy_ns` on."""

    def __init__(
        self, engine: Engine, script: Script, *, healthy_ns: int, voices: Mapping[str, Voice] = NO_VOICES
    ) -> None:
        self._engine = engine
        self._script = script
        self._voices = voices
        self._voiced = {name: voice.options for name, voice in voices.items()}
        self._healthy_ns = healthy_ns
        self._handlers: dict[tuple[str, str], Handler] = {
            ("POST", "/v1/completions"): lambda request, peer: self._generate("text_completion", request, peer),
            ("POST", "/v1/chat/completions"): lambda request, peer: self._generate("chat.completion", request, peer),
            ("POST", "/tokenize"): self._tokenize,
            ("POST", "/reset_prefix_cache"): self._reset_prefix_cache,
            ("GET", "/v1/models"): self._models,
            ("GET", "/health"): self._health,
            ("GET", "/metrics"): self._metrics,
        }

    def handle(self, request: HttpRequest, peer: Connection) -> None:
        """Answer one request, now or over time."""
        handler = self._handlers.get((request.method, request.path))
        if handler is None:
            message = f"no route {request.method} {request.path}; routes: {sorted(self._handlers)}"
            peer.respond_json(404, error_body(message, 404))
            return
        try:
            handler(request, peer)
        except BadRequestError as error:
            peer.respond_json(error.status, error_body(str(error), error.status))

    def _generate(self, kind: Kind, request: HttpRequest, peer: Connection) -> None:
        request_id = request.headers.get("x-request-id")
        engine = self._engine
        generation = read_generation(
            request.body, kind, request_id=request_id, options=engine.options, voices=self._voiced
        )
        record = engine.arrive(generation, request.received_ns)
        voice = self._voices.get(generation.model)
        if voice is not None and voice.tape is not None:
            TapeReply(generation, voice.tape, engine=engine, peer=peer, record=record).start()
            return
        pacing = voice.pacing if voice else self._script.pacing(record.index, generation.request_id)
        options = voice.options if voice else engine.options
        Reply(generation, pacing, options=options, engine=engine, peer=peer, record=record).start()

    def _tokenize(self, request: HttpRequest, peer: Connection) -> None:
        row = read_object(request.body)
        text = row.get("prompt", row.get("content"))
        if not isinstance(text, str):
            raise BadRequestError("tokenize: expected a text under 'prompt' or 'content'")
        tokens = tokenize(text)
        limit = self._engine.options.max_model_len
        peer.respond_json(200, {"count": len(tokens), "max_model_len": limit, "tokens": list(tokens)})

    def _reset_prefix_cache(self, _request: HttpRequest, peer: Connection) -> None:
        self._engine.prefix_cache.reset()
        peer.respond_json(200, {})

    def _models(self, _request: HttpRequest, peer: Connection) -> None:
        options = self._engine.options
        about = {"object": "model", "owned_by": "simulated", "max_model_len": options.max_model_len}
        models = [{"id": name, **about} for name in (*served_models(options), *self._voices)]
        peer.respond_json(200, {"object": "list", "data": models})

    def _health(self, _request: HttpRequest, peer: Connection) -> None:
        is_healthy = time.monotonic_ns() >= self._healthy_ns
        peer.respond_json(200 if is_healthy else 503, {"status": "ok" if is_healthy else "loading"})

    def _metrics(self, _request: HttpRequest, peer: Connection) -> None:
        peer.respond(200, metrics.exposition(self._engine), metrics.CONTENT_TYPE)
