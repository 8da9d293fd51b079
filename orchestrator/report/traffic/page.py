"""The portrait of a trace as one HTML file that needs nothing else: no script, no remote asset, pictures inside."""

from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from orchestrator.report.numbers import number
from orchestrator.report.traffic.key_figures import key_figures
from orchestrator.report.traffic.pictures import draw_all, to_inline
from orchestrator.report.traffic.sentences import describe, opening, trait_figures
from orchestrator.report.traffic.tables import topic_tables
from workloads.profile.model import TraceProfile
from workloads.trace import Trace


class _Shown(NamedTuple):
    title: str
    reading: str
    image: str | None
    absent: str


def render_profile(profile: TraceProfile, trace: Trace | None) -> str:
    """Spell a profile as HTML; whatever comes from a file's name or content is escaped.

    Args:
        profile: what was measured.
        trace: the rows it was measured on; None draws what the profile alone holds.
    """
    environment = Environment(
        loader=PackageLoader("orchestrator.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    verdict = profile.arrivals.verdict
    return environment.get_template("profile.html.j2").render(
        profile=profile,
        opening=opening(profile),
        verdict=verdict,
        evidence=tuple((one.name.replace("_", " "), number(one.value), one.says) for one in verdict.evidence),
        sentences=describe(profile),
        traits=tuple((one.name, trait_figures(one), one.look_at, one.engine_kind) for one in profile.traits),
        key_figures=key_figures(profile),
        pictures=_pictures(profile, trace),
        tables=topic_tables(profile),
    )


def _pictures(profile: TraceProfile, trace: Trace | None) -> tuple[_Shown, ...]:
    return tuple(
        _Shown(one.title, one.reading, None if one.figure is None else to_inline(one.figure), one.absent)
        for one in draw_all(profile, trace)
    )
