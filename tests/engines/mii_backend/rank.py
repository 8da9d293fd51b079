"""Stands in for `deepspeed`, which would start MII's ranks: serves the ranks' gRPC interface from a script.

Run with the engine's interpreter. Requests are judged by the engine's own class and written to stdout, one line of
JSON each; what is answered depends on the first word of SCRIPTS that the prompt contains.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
from mii.config import GenerateParamsConfig
from mii.grpc_related.proto import modelresponse_pb2, modelresponse_pb2_grpc
from mii.utils import unpack_proto_query_kwargs

GAP_S = 0.2
PROMPT_TOKENS = 7
SCRIPTS = {  # the engine sends an empty text while a character is incomplete, and at the end a chunk without text
    "count": (["One", "", " two", " three"], "stop"),
    "cut": (["So", " far"], "length"),
    "silent": ([], "stop"),
    "refuse": None,
    "break": (["Half"], None),
}


class ScriptedError(Exception):
    """What the script wants to go wrong."""


class ScriptedRank(modelresponse_pb2_grpc.ModelResponseServicer):
    """Answers as `mii.grpc_related.modelresponse_server.ModelResponse` does, from a script."""

    def GeneratorReply(self, request: Any, _context: Any) -> Any:  # noqa: N802 - gRPC's name
        texts, reason = self._look_up(request)
        return self._reply("".join(texts), reason or "stop", len(texts))

    def GeneratorReplyStream(self, request: Any, _context: Any) -> Iterator[Any]:  # noqa: N802 - gRPC's name
        texts, reason = self._look_up(request)
        for count, text in enumerate(texts, 1):
            time.sleep(GAP_S)
            yield self._reply(text, "none", count)
        if reason is None:
            raise ScriptedError("the rank breaks in the middle of an answer")
        yield self._reply("", reason, len(texts))

    def _look_up(self, request: Any) -> tuple[list[str], str | None]:
        options = unpack_proto_query_kwargs(request.query_kwargs)
        sys.stdout.write(json.dumps({"prompts": list(request.request), "options": options}) + "\n")
        sys.stdout.flush()
        GenerateParamsConfig(prompt_length=PROMPT_TOKENS, **{"max_length": 8192, **options})
        script = next(script for word, script in SCRIPTS.items() if word in request.request[0])
        if script is None:
            raise ScriptedError("the rank refuses")
        return script

    def _reply(self, text: str, reason: str, count: int) -> Any:
        one = modelresponse_pb2.SingleGenerationReply(
            response=text, finish_reason=reason, prompt_tokens=PROMPT_TOKENS, generated_tokens=count
        )
        return modelresponse_pb2.MultiGenerationReply(response=[one])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--server-port", required=True, type=int)
    options, _ = parser.parse_known_args()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    modelresponse_pb2_grpc.add_ModelResponseServicer_to_server(ScriptedRank(), server)
    server.add_insecure_port(f"localhost:{options.server_port}")
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
