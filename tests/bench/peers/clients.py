"""How each load generator is told of a run and where it leaves its result: ours, vLLM's bench, AIPerf, GuideLLM.

All send a constant rate of streaming completions, 32 tokens in, 16 out. Settings are each one's own, or it is said.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from tests.bench.peers.environment import CPU_TORCH, find_vllm, install
from tests.bench.peers.order import INPUT_TOKENS, OUTPUT_TOKENS, Client, Order, Reported

AIPERF, GUIDELLM = "0.13.0", "0.8.1"
NEARLY_CONSTANT = "1e6"  # shape of the gamma law of gaps: one in a thousand of a gap
OFFLINE = {"HF_HUB_OFFLINE": "1"}
TOKENIZER_NAME, REVISION = "seatrial/tokenizer", "0" * 40
VLLM_PROGRAM = Path(__file__).with_name("vllm_serve.py")
MS = 1e-3


def seatrial() -> Client:
    """Return our own client: its measuring core for the ladder, its command for the ten requests."""

    def command(order: Order) -> list[str]:
        told = ["--url", order.url, "--model", order.model, "--rate", str(order.rate_rps)]
        told += ["--count", str(order.count), "--out", str(order.folder / "own.json")]
        return [sys.executable, "-m", "tests.bench.peers.own_client", *told]

    def read(order: Order) -> Reported:
        row = json.loads((order.folder / "own.json").read_text(encoding="utf-8"))
        return Reported(row["ttft_s"], row["num_failed"])

    def quick(order: Order) -> list[str]:
        told = ["--url", order.url, "--rate", str(order.rate_rps), "--duration", str(order.count / order.rate_rps)]
        told += ["--warmup", "0", "--pattern", "constant", "--input-tokens", str(INPUT_TOKENS)]
        return [str(Path(sys.executable).with_name("seatrial")), "replay", *told, "--output-tokens", str(OUTPUT_TOKENS)]

    return Client("seatrial", "this checkout", command, read, quick, lambda _: {})


def vllm_bench() -> Client:
    """Return vLLM's serving benchmark.

    Raises:
        PeerError: there is no vLLM environment.
    """
    python, version = find_vllm()

    def command(order: Order) -> list[str]:
        told = ["--backend", "openai", "--base-url", order.url, "--model", order.model]
        told += ["--tokenizer", str(order.tokenizer), "--dataset-name", "random", "--input-len", str(INPUT_TOKENS)]
        told += ["--output-len", str(OUTPUT_TOKENS), "--ignore-eos", "--num-prompts", str(order.count)]
        told += ["--request-rate", str(order.rate_rps), "--burstiness", NEARLY_CONSTANT, "--disable-tqdm"]
        told += ["--save-result", "--save-detailed", "--result-dir", str(order.folder)]
        return [str(python), str(VLLM_PROGRAM), *told, "--result-filename", "vllm.json"]

    def read(order: Order) -> Reported:
        row = json.loads((order.folder / "vllm.json").read_text(encoding="utf-8"))
        by_start = sorted(zip(row["start_times"], row["ttfts"], row["errors"], strict=True))
        return Reported([ttft for _, ttft, error in by_start if not error], row["failed"])

    return Client("vllm_bench", version, command, read, command, lambda _: OFFLINE)


def aiperf() -> Client:
    """Return AIPerf; offline it takes a tokenizer only by its name in Hugging Face's cache, so each run is given one.

    Raises:
        PeerError: it cannot be installed.
    """
    program = install("aiperf", AIPERF).with_name("aiperf")

    def command(order: Order) -> list[str]:
        _shelve(order.tokenizer, _shelf(order))
        told = ["--model", order.model, "--url", order.url, "--endpoint-type", "completions", "--streaming"]
        told += ["--tokenizer", TOKENIZER_NAME, "--prompt-input-tokens-mean", str(INPUT_TOKENS)]
        told += ["--prompt-output-tokens-mean", str(OUTPUT_TOKENS), "--use-legacy-max-tokens"]
        told += ["--extra-inputs", "ignore_eos:true", "--use-server-token-count"]
        told += ["--request-rate", str(order.rate_rps), "--arrival-pattern", "constant"]
        told += ["--request-count", str(order.count), "--ui", "none", "--no-server-metrics", "--no-gpu-telemetry"]
        return [str(program), "profile", *told, "--output-artifact-dir", str(order.folder)]

    def read(order: Order) -> Reported:
        lines = (order.folder / "profile_export.jsonl").read_text(encoding="utf-8").splitlines()
        rows = sorted(map(json.loads, lines), key=lambda row: row["metadata"]["request_start_ns"])
        found = [row["metrics"]["time_to_first_token"]["value"] * MS for row in rows if not row.get("error")]
        return Reported(found, len(rows) - len(found))

    def env(order: Order) -> dict[str, str]:
        return {**OFFLINE, "HF_HUB_CACHE": str(_shelf(order))}

    return Client("aiperf", AIPERF, command, read, command, env)


def guidellm() -> Client:
    """Return GuideLLM, told of the one core that it has: one worker in place of ten, no thousands of prompts ahead.

    Raises:
        PeerError: it cannot be installed.
    """
    program = install("guidellm", GUIDELLM, beside=(CPU_TORCH,)).with_name("guidellm")

    def command(order: Order) -> list[str]:
        told = ["--backend", f"kind=openai_http,target={order.url},model={order.model},request_format=/v1/completions"]
        told += ["--profile", f"kind=constant,rate={order.rate_rps}"]
        told += ["--constraint", f"kind=max_requests,count={order.count}"]
        told += ["--tokenizer", f"kind=hf_auto,model={order.tokenizer}"]
        told += ["--data", f"kind=synthetic_text,prompt_tokens={INPUT_TOKENS},output_tokens={OUTPUT_TOKENS}"]
        told += ["--data-loader", f"kind=pytorch,samples={order.count}"]
        told += ["--output", f"kind=json,path={order.folder / 'guidellm.json'}"]
        return [str(program), "run", *told, "--disable-console-interactive"]

    def read(order: Order) -> Reported:
        row = json.loads((order.folder / "guidellm.json").read_text(encoding="utf-8"))
        requests = row["benchmarks"][0]["requests"]
        ended = sorted(requests["successful"], key=lambda one: one["request_start_time"])
        return Reported([one["time_to_first_token_ms"] * MS for one in ended], len(requests["errored"]))

    env = {**OFFLINE, "GUIDELLM__MAX_WORKER_PROCESSES": "1"}
    return Client("guidellm", GUIDELLM, command, read, command, lambda _: env)


PEERS: dict[str, Callable[[], Client]] = {"vllm_bench": vllm_bench, "aiperf": aiperf, "guidellm": guidellm}


def _shelf(order: Order) -> Path:
    return order.folder / "hub"


def _shelve(tokenizer: Path, shelf: Path) -> None:
    """Lay a tokenizer's folder where Hugging Face's cache would have it."""
    place = shelf / f"models--{TOKENIZER_NAME.replace('/', '--')}"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(REVISION, encoding="ascii")
    (place / "snapshots").mkdir()
    (place / "snapshots" / REVISION).symlink_to(tokenizer)
