"""Our own environment serves an engine only with everything that the engine's server needs."""

import importlib.metadata

import pytest

from orchestrator.environments import requirements
from orchestrator.environments.requirements import are_met

HERE = {"engine": "1.5", "web": "2.0"}
STATED = {
    "engine": ["core", 'web>=1; extra == "serving"', 'never; sys_platform == "none" and extra == "serving"',
               'gone; extra == "training"'],
}  # fmt: skip


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name not in HERE:
            raise importlib.metadata.PackageNotFoundError(name)
        return HERE[name]

    monkeypatch.setattr(requirements, "version", version)
    monkeypatch.setattr(requirements, "requires", STATED.get)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ([], True),
        (["engine"], True),
        (["engine==1.5"], True),
        (["engine==1.6"], False),
        (["absent"], False),
        (["engine", "absent"], False),
        (["engine[serving]"], True),
        (["engine[training]"], False),
        (["engine[serving,training]"], False),
    ],
    ids=str,
)
def test_extras_count(wanted: list[str], *, expected: bool) -> None:
    assert are_met(wanted) is expected
