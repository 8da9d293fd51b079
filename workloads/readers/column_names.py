"""Usual names of the columns that a trace needs, and the closest mapping for a file that has other ones."""

import difflib
import re
import shlex
from collections.abc import Iterable, Mapping

ALIASES = {"arrival": "arrival_ns", "session": "session_id", "client": "client_id"}
SHORT = {ours: alias for alias, ours in ALIASES.items()}
REQUIRED = ("arrival_ns", "input_tokens", "output_tokens")
USUAL: dict[str, tuple[str, ...]] = {
    "arrival_ns": (
        "arrival", "arrivaltime", "timestamp", "time", "ts", "starttime", "start", "startedat", "created", "createdat",
        "requesttime", "requesttimestamp", "receivedat", "datetime", "date", "eventtime", "sentat", "invocationtime",
    ),
    "input_tokens": (
        "inputtokens", "prompttokens", "numprompttokens", "numinputtokens", "inputlength", "inputlen", "promptlen",
        "promptlength", "contexttokens", "requesttokens", "tokensin", "prompttokencount", "isl", "inputtokencount",
        "tokensprompt", "nprompt", "intok", "inputtok", "prompttok", "tokin",
    ),
    "output_tokens": (
        "outputtokens", "completiontokens", "generatedtokens", "numcompletiontokens", "numoutputtokens", "outputlength",
        "outputlen", "responsetokens", "tokensout", "candidatestokencount", "osl", "generationlength",
        "tokenscompletion", "ngen", "outputtokencount", "outtok", "outputtok", "completiontok", "tokout",
    ),
    "session_id": ("sessionid", "session", "conversationid", "chatid", "threadid", "dialogid"),
    "client_id": ("clientid", "client", "user", "userid", "tenant", "tenantid", "customer", "apikey", "apikeyhash"),
    "model": ("model", "modelname", "modelid", "deployment", "engine"),
    "service_s": ("services", "durations", "latencys", "elapseds", "e2elatencys", "responsetimes"),
    "service_ms": ("servicems", "durationms", "latencyms", "elapsedms", "e2elatencyms", "responsetimems"),
    "ttft_s": ("ttfts", "timetofirsttokens", "firsttokenlatencys"),
    "ttft_ms": ("ttftms", "timetofirsttokenms", "firsttokenlatencyms"),
    "end": ("end", "endtime", "endedat", "finishedat", "completedat", "finishtime"),
}  # fmt: skip
MIN_LIKENESS = 0.85


def full_names(mapping: Mapping[str, str]) -> dict[str, str]:
    """Return a mapping with our columns spelled in full: `arrival` is `arrival_ns`."""
    return {ALIASES.get(ours, ours): theirs for ours, theirs in mapping.items()}


def known_names() -> str:
    """Return what may stand on the left of a mapping."""
    return ", ".join(SHORT.get(ours, ours) for ours in USUAL)


def closest_mapping(columns: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return what is given and, for the other columns of ours, the column whose name is likest to a usual one.

    Each column is used once. Names are compared without case and punctuation.
    """
    left = [name for name in columns if name not in given.values()]
    scored = sorted(
        ((_likeness(name, ours), ours, name) for ours in USUAL if ours not in given for name in left),
        key=lambda one: -one[0],
    )
    found = dict(given)
    for likeness, ours, name in scored:
        if likeness >= MIN_LIKENESS and ours not in found and name not in found.values():
            found[ours] = name
    return {ours: found[ours] for ours in USUAL if ours in found}


def spell_mapping(mapping: Mapping[str, str]) -> str:
    """Spell a mapping as it is given on a command line, with COLUMN where a column that is needed has none."""
    wanted = {ours: mapping.get(ours, "COLUMN") for ours in (*REQUIRED, *mapping)}
    return " ".join(f"--map {SHORT.get(ours, ours)}={shlex.quote(theirs)}" for ours, theirs in wanted.items())


def _likeness(name: str, ours: str) -> float:
    """Return how like a column's name is to the likest usual one; the last part of a nested name may count alone."""
    spelled = {_bare(name), _bare(name.rsplit(".", 1)[-1])}
    return max(difflib.SequenceMatcher(None, one, usual).ratio() for one in spelled for usual in USUAL[ours])


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
