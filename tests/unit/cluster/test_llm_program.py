import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from orchestrator.cluster.llm_program import at

CONFIG = SimpleNamespace(
    cache=SimpleNamespace(enable_prefix_caching=True, block_size=128, share=0.92, dtype="auto"), quantization=None
)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("cache.enable_prefix_caching", "true"),
        ("cache.block_size", "128"),
        ("cache.share", "0.92"),
        ("cache.dtype", "auto"),
        ("quantization", "null"),
    ],
)
def test_a_setting_is_spelled_as_in_the_json_of_the_engines_own_server(place: str, text: str) -> None:
    assert at(CONFIG, place) == text


def test_a_setting_that_is_not_there_is_not_told() -> None:
    assert at(CONFIG, "cache.missing") is None
    assert at(CONFIG, "nowhere.block_size") is None


def test_a_process_and_its_children_keep_to_the_cores() -> None:
    core = max(os.sched_getaffinity(0))
    code = (
        "import os, subprocess, sys, threading, time; from orchestrator.cluster.llm_program import pin\n"
        "threading.Thread(target=time.sleep, args=(5,), daemon=True).start()\n"
        "pin((int(sys.argv[1]),))\n"
        "seen = [os.sched_getaffinity(int(one)) for one in os.listdir('/proc/self/task')]\n"
        "look = 'import os; print(os.sched_getaffinity(0))'\n"
        "child = subprocess.check_output([sys.executable, '-c', look], text=True)\n"
        "print(seen == [{int(sys.argv[1])}] * 2, child.strip())"
    )
    told = subprocess.check_output([sys.executable, "-c", code, str(core)], text=True)
    assert told.strip() == f"True {{{core}}}"
