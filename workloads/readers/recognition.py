"""Which format a file has, told by its beginning, or by what a person says of its columns."""

from collections.abc import Mapping
from pathlib import Path

from workloads.readers import mapped
from workloads.readers.column_names import USUAL
from workloads.readers.format import Format, Sample
from workloads.readers.registry import FORMATS
from workloads.readers.sample import take_sample
from workloads.trace import TraceError

SHOWN_CHARS = 100
YAML = (".yaml", ".yml")
TAKEN: dict[str, frozenset[str]] = {"access_log": frozenset(USUAL), "openai_log": frozenset({"arrival_ns"})}


def recognise(path: Path, mapping: Mapping[str, str] | None = None) -> tuple[Format, Sample]:
    """Tell a file's format from its beginning; one whose columns are mapped is read by the mapping.

    Formats that take single fields by a mapping keep their files as long as it names nothing else.

    Raises:
        TraceError: the file is missing, empty, binary, of no format known here, or begins with more than text.
    """
    sample = take_sample(path)
    given = mapping or {}
    found = next((one for one in FORMATS if one.recognises(sample)), None)
    if found is not None and set(given) <= TAKEN.get(found.name, frozenset()):
        return found, sample
    if given and sample.kind != "document":
        return mapped.FORMAT, sample
    if path.suffix in YAML:
        raise TraceError(
            "a YAML file is a profile or a workload, not a trace", path=path, advice="Give the trace it was made from"
        )
    known = "".join(f"\n  {one.name}: {one.looks_like}" for one in FORMATS)
    if sample.kind == "document":
        first = sample.head.split("\n", 1)[0][:SHOWN_CHARS]
        raise TraceError(
            f"format not recognised, first line {first!r}", path=path, row=1, advice=f"Formats known:{known}"
        )
    raise mapped.refuse_unmapped(sample, known, given)
