"""The scripts that the ruler is held against: timings, shapes of chunks, faults, recorded bytes cut awkwardly."""

from adapters.conformance.transcript import Transcript
from tests.contracts.transcripts import STREAMS, read_transcripts

ENGINES = {
    "vllm": "vllm",
    "llamacpp": "llamacpp",
    "transformers": "transformers",
    "mii": "mii",
    "sglang": "sglang",
    "trtllm": "trtllm",
    "simulated": "simulated",
}
CUTS = {"whole": {}, "awkward": {"http_chunk_bytes": 97, "write_bytes": 61, "gap_s": 0.001}}
QUICK, SLOW = {"ttft_s": 0.02, "itl_s": 0.005}, {"ttft_s": 0.3, "itl_s": 0.05}
WORD = 'data: {"choices": [{"index": 0, "text": "%s", "finish_reason": null}]}\n\n'
ONE_TOKEN = WORD % "a"
DONE = "data: [DONE]\n\n"
HALF = "\udcc3"  # the first of two bytes of a letter, the second missing


def transcript(engine: str, name: str) -> Transcript:
    return Transcript(name, (STREAMS / engine / f"{name}.sse").read_bytes())


def tape_name(engine: str, name: str, cut: str) -> str:
    return f"{engine}/{name}/{cut}"


def _tapes() -> dict[str, object]:
    tapes: dict[str, object] = {}
    for engine in ENGINES:
        for name in read_transcripts(engine):
            recorded = {"path": str(STREAMS / engine / f"{name}.sse"), "is_cut": "cut" in name, "ttft_s": 0.01}
            for cut, how in CUTS.items():
                tapes[tape_name(engine, name, cut)] = {"tape": recorded | how}
    return tapes


def _failing(kind: str, **more: object) -> dict[str, object]:
    return {**QUICK, "failure": {"kind": kind, **more}}


def _playing(text: str, **more: object) -> dict[str, object]:
    return {"tape": {"text": text, **more}}


VOICES: dict[str, object] = {
    "quick": QUICK,
    "slow": SLOW,
    "empty first": QUICK | {"first_chunk": "empty"},
    "role first": QUICK | {"first_chunk": "role"},
    "comments": {"ttft_s": 0.2, "itl_s": 0.05, "keepalive_s": 0.02},
    "stalls and goes on": {"ttft_s": 0.02, "itl_s": [0.005, 0.005, 0.4, 0.005]},
    "several tokens": QUICK | {"tokens_per_chunk": [3, 1, 2]},
    "several tokens, with ids": QUICK | {"tokens_per_chunk": [3, 1, 2], "output_ids": "each_chunk"},
    "token in pieces": QUICK | {"chunks_per_token": 3},
    "token in pieces, with ids": QUICK | {"chunks_per_token": 3, "output_ids": "each_chunk"},
    "thinks": QUICK | {"reasoning_tokens": 2},
    "thinks only": QUICK | {"reasoning_tokens": 6},
    "calls a tool": QUICK | {"tool_call_tokens": 6},
    "counts last": QUICK | {"usage": "with_last"},
    "counts each": QUICK | {"usage": "each_chunk"},
    "counts first": QUICK | {"usage": "with_first"},
    "counts never": QUICK | {"usage": "never"},
    "falls short": QUICK | {"reply_tokens": 3},
    "goes beyond": QUICK | {"reply_tokens": 9},
    "never ends": {"ttft_s": 0.02, "itl_s": 0.02, "reply_tokens": 1_000_000},
    "stalls for ever": _failing("hang_after_headers", after_tokens=3),
    "says nothing": _failing("hang_before_headers"),
    "breaks": _failing("stream_error", after_tokens=2),
    "is cut": _failing("cut", after_tokens=2),
    "refuses the key": _failing("status", status=401),
    "is busy": _failing("status", status=429, retry_after_s=7),
    "speaks HTML": _playing("<html><body>Welcome to nginx!</body></html>", content_type="text/html"),
    "HTML as a stream": _playing("<html><body>Welcome to nginx!</body></html>"),
    "letter in two parts": _playing((WORD % "é") + DONE, http_chunk_bytes=1, gap_s=0.0005),
    "half a letter": _playing(ONE_TOKEN + (WORD % HALF) + DONE, http_chunk_bytes=7, write_bytes=5, gap_s=0.0005),
    "one endless line": _playing("x" * 65536, is_endless=True),
    "endless comments": _playing((": " + "x" * 1020 + "\n\n") * 64, is_endless=True),
    "one endless event": _playing(("data: " + "x" * 1020 + "\n") * 64, is_endless=True),
    **_tapes(),
}
