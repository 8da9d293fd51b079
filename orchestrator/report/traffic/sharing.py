"""How much of the prompts a prefix cache would have reused, over its size."""

from matplotlib.figure import Figure

from orchestrator.report.canvas import GREY, PALETTE, style
from orchestrator.report.traffic.picture import Absent, log_axis, short, wide
from workloads.profile.model import TraceProfile
from workloads.trace import Trace

MAX_NAMED = 6
SPELLED_TOKENS = (500_000, 5_000_000, 15_000_000, 51_000_000)  # the sizes that published figures are given for
Point = tuple[int, float]


def draw_reuse(profile: TraceProfile, trace: Trace | None) -> Figure | Absent:  # noqa: ARG001 - the pictures' common form
    """Draw the block hit rate of a least-recently-used cache over its capacity, and that of an infinite one."""
    prefix = profile.prefix
    if prefix is None:
        return Absent("the trace's format names no prompt blocks, so reuse of prefixes is unknown")
    if not prefix.lru:
        return Absent("no cache size was evaluated")
    capacity = [one.capacity_tokens for one in prefix.lru]
    percent = [100 * one.block_hit_ratio for one in prefix.lru]
    infinite = 100 * prefix.block_reuse_ratio
    with style():
        made = wide(f"Prefix reuse over cache size · n = {prefix.num_blocks:,} blocks of {prefix.block_tokens} tokens")
        axes = made.subplots()
        axes.plot(capacity, percent, "o-", color=PALETTE[0], label="least-recently-used cache")
        axes.axhline(infinite, color=GREY, ls="--", label=f"infinite cache: {infinite:.1f} %")
        for size, value in _named(tuple(zip(capacity, percent, strict=True))):
            text = f"{short(size)}: {value:.1f} %"
            axes.annotate(text, (size, value), xytext=(4, -12), textcoords="offset points", fontsize=7.5)
        log_axis(axes, which="x")
        axes.margins(x=0.1)
        axes.set_ylim(0, max(infinite, *percent) * 1.15 or 1)
        axes.set_xlabel("cache capacity (tokens)")
        axes.set_ylabel("blocks found in the cache (%)")
        made.legend(loc="outside lower left", ncols=2)
    return made


def _named(points: tuple[Point, ...]) -> tuple[Point, ...]:
    spelled = tuple(one for one in points if one[0] in SPELLED_TOKENS)
    return spelled or points[:: -(-len(points) // MAX_NAMED)]
