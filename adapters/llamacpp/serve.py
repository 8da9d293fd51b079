"""The child process: runs llama.cpp's server on loopback until SIGTERM.

Run by file path with the engine's interpreter, so it imports the standard library and `xllamacpp` only. The engine
logs to stderr; one line of JSON on stdout says which version runs with which settings. A key for the server comes
from SEATRIAL_ENGINE_KEY, never from the command line.
"""

import argparse
import http.client
import json
import os
import signal
import sys
from enum import Enum
from importlib.metadata import version

import xllamacpp

LOOPBACK = "127.0.0.1"
KEY_ENV = "SEATRIAL_ENGINE_KEY"
QUERY_TIMEOUT_S = 10.0
PATHS = {
    "n_threads": "cpuparams.n_threads",
    "n_threads_batch": "cpuparams_batch.n_threads",
    "poll": "cpuparams.poll",
    "speculative_types": "speculative.types",
    "speculative_ngram_simple_size_n": "speculative.ngram_simple.size_n",
    "speculative_ngram_simple_size_m": "speculative.ngram_simple.size_m",
    "speculative_ngram_mod_n_match": "speculative.ngram_mod.n_match",
    "speculative_ngram_mod_n_min": "speculative.ngram_mod.n_min",
    "speculative_ngram_mod_n_max": "speculative.ngram_mod.n_max",
}
ENUMS = {
    "cache_type_k": "ggml_type.GGML_TYPE_",
    "cache_type_v": "ggml_type.GGML_TYPE_",
    "flash_attn_type": "llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_",
    "load_mode": "llama_load_mode.LLAMA_LOAD_MODE_",
    "speculative_types": "common_speculative_type.COMMON_SPECULATIVE_TYPE_",
}
LISTS = {"speculative_types"}


class StartError(Exception):
    """The engine cannot start: a setting that this build does not have, or its own refusal, logged just before."""


def apply(params: object, settings: dict[str, object]) -> None:
    """Set every setting on the engine's parameters.

    Raises:
        StartError: the engine has no such flag or no such value.
    """
    for name, value in settings.items():
        owner, attribute = _locate(params, name)
        member = _to_engine(name, value)
        try:
            setattr(owner, attribute, [member] if name in LISTS else member)
        except TypeError as error:
            raise StartError(f"bad value {value!r} of {name}: {error}") from error


def read(params: object, names: list[str]) -> dict[str, object]:
    """Read settings back from the engine's parameters, in the words of `apply`."""
    found = {}
    for name in names:
        owner, attribute = _locate(params, name)
        value = getattr(owner, attribute)
        found[name] = _from_engine(name, value[0] if name in LISTS else value)
    return found


def _locate(params: object, name: str) -> tuple[object, str]:
    *parents, attribute = PATHS.get(name, name).split(".")
    owner = params
    for parent in parents:
        owner = getattr(owner, parent, None)
    if not hasattr(owner, attribute):
        raise StartError(f"unknown flag {name}: xllamacpp {version('xllamacpp')} has no such parameter")
    return owner, attribute


def _enum(name: str) -> tuple[type[Enum], str]:
    enum, _, prefix = ENUMS[name].partition(".")
    return getattr(xllamacpp, enum), prefix


def _to_engine(name: str, value: object) -> object:
    if name not in ENUMS:
        return value
    enum, prefix = _enum(name)
    member = getattr(enum, prefix + str(value).upper(), None)
    if member is None:
        raise StartError(f"bad value {value!r} of {name}: xllamacpp {version('xllamacpp')} does not know it")
    return member


def _from_engine(name: str, value: object) -> object:
    if name not in ENUMS:
        return value
    enum, prefix = _enum(name)
    return enum(value).name.removeprefix(prefix).lower()


def _fit_to_cores(settings: dict[str, object]) -> dict[str, object]:
    """Replace an unset thread count where the process is pinned: the engine counts the machine's cores, not ours."""
    cores = len(os.sched_getaffinity(0))
    if settings.get("n_threads", -1) != -1 or cores == os.cpu_count():
        return settings
    return {**settings, "n_threads": cores}


def _listen_on_loopback(params: xllamacpp.CommonParams) -> None:
    """Set the one address: builds up to 2026.9 know one host, later ones a list."""
    if hasattr(params, "hostnames"):
        params.hostnames = [LOOPBACK]
    else:
        params.hostname = LOOPBACK


def _parameters(options: argparse.Namespace) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    apply(params, _fit_to_cores(options.settings))
    params.model.path = options.model
    params.model_alias = {options.alias}
    _listen_on_loopback(params)
    params.port = options.port
    params.endpoint_metrics = True
    params.endpoint_slots = True
    params.ui = False
    key = os.environ.get(KEY_ENV)
    if key:
        params.api_keys = [key]
    return params


def _start(params: xllamacpp.CommonParams) -> xllamacpp.Server:
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise StartError(str(error)) from error


def _slots(port: int) -> list[int]:
    """Ask the running server how many tokens each of its slots carries."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=QUERY_TIMEOUT_S)
    connection.request("GET", "/slots", headers={"Authorization": f"Bearer {os.environ.get(KEY_ENV, '')}"})
    answer = connection.getresponse()
    slots = json.loads(answer.read())
    connection.close()
    return [slot["n_ctx"] for slot in slots]


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--model", required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--port", required=True, type=int)
    parser.add_argument("--settings", required=True, type=json.loads)
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Serve until SIGTERM or SIGINT."""
    options = _options(argv)
    stops = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)  # before the engine's threads exist, so that only sigwait sees them
    params = _parameters(options)
    server = _start(params)
    facts = {
        "engine": "llamacpp",
        "version": version("xllamacpp"),
        "settings": read(params, sorted(options.settings)),
        "slot_tokens": _slots(options.port),
    }
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()
    signal.sigwait(stops)
    del server  # its destructor ends the engine's loop
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (StartError, AttributeError) as error:  # another build may lack what this one has
        sys.exit(f"bad value or unknown flag: {error}" if isinstance(error, AttributeError) else str(error))
