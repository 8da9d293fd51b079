"""From a placement plan to what Ray Serve wants, and whether a cluster could ever carry it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from adapters.protocol import Violation
from orchestrator.domain.placement import PlacementPlan

SLIVER = 0.001  # of a node's own resource: pins an actor to the node and takes nothing that others count

Resources = Mapping[str, float]
_OPTION_NAMES = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}


def pin(plan: PlacementPlan, node_resource: str) -> PlacementPlan:
    """Bind the first bundle, where the engine's HTTP server runs, to one node by that node's own resource."""
    first, *rest = plan.bundles
    return replace(plan, bundles=({**first, node_resource: SLIVER}, *rest))


def serve_options(plan: PlacementPlan) -> dict[str, Any]:
    """Spell the plan as options of a Serve deployment: its bundles, and a replica that takes the first one whole.

    The replica holds the devices of its bundle, so that the engine below it sees just these.
    """
    first = plan.bundles[0]
    actor = {"num_cpus": 0, **{_OPTION_NAMES[name]: amount for name, amount in first.items() if name in _OPTION_NAMES}}
    custom = {name: amount for name, amount in first.items() if name not in _OPTION_NAMES}
    return {
        "placement_group_bundles": [dict(bundle) for bundle in plan.bundles],
        "placement_group_strategy": plan.strategy,
        "ray_actor_options": {**actor, "resources": custom} if custom else actor,
    }


def find_misfit(plan: PlacementPlan, nodes: Sequence[Resources]) -> Violation | None:
    """Return why empty nodes could never carry the plan, with the numbers; None where they can.

    Bundles are laid on nodes first fit, the rarest first. That is exact for what we plan: equal bundles, one pinned.
    """
    units = [_total(plan.bundles)] if plan.strategy == "STRICT_PACK" else [dict(one) for one in plan.bundles]
    left = [dict(node) for node in nodes]
    for unit in sorted(units, key=lambda one: sum(_fits(one, node) for node in nodes)):
        host = next((node for node in left if _fits(unit, node)), None)
        if host is None:
            return _misfit(plan, nodes)
        if plan.strategy == "STRICT_SPREAD":
            left.remove(host)
        else:
            host.update({name: host[name] - amount for name, amount in unit.items()})
    return None


def _fits(unit: Resources, node: Resources) -> bool:
    return all(node.get(name, 0.0) >= amount for name, amount in unit.items())


def _total(bundles: Sequence[Resources]) -> dict[str, float]:
    names = {name for bundle in bundles for name in bundle}
    return {name: sum(bundle.get(name, 0.0) for bundle in bundles) for name in sorted(names)}


def _misfit(plan: PlacementPlan, nodes: Sequence[Resources]) -> Violation:
    names = {name for bundle in plan.bundles for name in bundle}
    offers = ["{" + _spell({name: node.get(name, 0.0) for name in sorted(names)}) + "}" for node in nodes]
    wanted = " + ".join("{" + _spell(bundle) + "}" for bundle in plan.bundles)
    return Violation(
        "placement", f"{wanted} {plan.strategy}", f"what the nodes have when idle: {', '.join(offers) or 'none'}"
    )


def _spell(resources: Resources) -> str:
    return ", ".join(f"{name}: {amount:g}" for name, amount in resources.items())
