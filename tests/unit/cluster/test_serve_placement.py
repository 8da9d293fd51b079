from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cluster.names import app_name, node_resource, owner_of
from orchestrator.cluster.placement import find_misfit, pin, serve_options
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.placement import PlacementPlan, plan_placement

NODE = "node:10.0.0.1"


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (
            plan_placement("process", tp=2, pp=1, device="CPU"),
            {
                "placement_group_bundles": [{"CPU": 2.0}],
                "placement_group_strategy": "STRICT_PACK",
                "ray_actor_options": {"num_cpus": 2.0},
            },
        ),
        (
            plan_placement("process", tp=4, pp=1, device="GPU"),
            {
                "placement_group_bundles": [{"GPU": 4.0}],
                "placement_group_strategy": "STRICT_PACK",
                "ray_actor_options": {"num_cpus": 0, "num_gpus": 4.0},
            },
        ),
        (
            plan_placement("ranks", tp=2, pp=1, device="npu"),
            {
                "placement_group_bundles": [{"npu": 1.0}, {"npu": 1.0}],
                "placement_group_strategy": "PACK",
                "ray_actor_options": {"num_cpus": 0, "resources": {"npu": 1.0}},
            },
        ),
    ],
)
def test_a_plan_in_serves_words(plan: PlacementPlan, expected: dict[str, Any]) -> None:
    assert serve_options(plan) == expected


def test_the_http_server_is_bound_to_the_clients_node() -> None:
    pinned = pin(plan_placement("ranks", tp=2, pp=1, device="GPU"), NODE)
    assert pinned.bundles == ({"GPU": 1.0, NODE: 0.001}, {"GPU": 1.0})
    assert serve_options(pinned)["ray_actor_options"]["resources"] == {NODE: 0.001}


def test_a_process_tree_needs_one_node_that_is_large_enough() -> None:
    nodes = [{"GPU": 2.0}, {"GPU": 2.0}]
    misfit = find_misfit(plan_placement("process", tp=4, pp=1, device="GPU"), nodes)
    assert misfit is not None
    assert misfit.seen == "{GPU: 4} STRICT_PACK"
    assert misfit.allowed == "what the nodes have when idle: {GPU: 2}, {GPU: 2}"
    assert find_misfit(plan_placement("ranks", tp=4, pp=1, device="GPU"), nodes) is None


def test_a_spread_plan_needs_as_many_nodes_as_bundles() -> None:
    plan = PlacementPlan(({"GPU": 1.0}, {"GPU": 1.0}), "STRICT_SPREAD", 2)
    assert find_misfit(plan, [{"GPU": 8.0}]) is not None
    assert find_misfit(plan, [{"GPU": 8.0}, {"GPU": 1.0}]) is None


def test_a_pinned_bundle_gets_its_node_before_others_take_it() -> None:
    pinned = pin(plan_placement("ranks", tp=2, pp=1, device="GPU"), NODE)
    assert find_misfit(pinned, [{"GPU": 1.0, NODE: 1.0}, {"GPU": 1.0}]) is None
    assert find_misfit(pinned, [{"GPU": 0.0, NODE: 1.0}, {"GPU": 8.0}]) is not None


@given(tp=st.integers(1, 6), nodes=st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_ranks_fit_exactly_where_there_are_as_many_devices(tp: int, nodes: list[int]) -> None:
    plan = plan_placement("ranks", tp=tp, pp=1, device="GPU")
    is_refused = find_misfit(plan, [{"GPU": float(one)} for one in nodes]) is not None
    assert is_refused == (sum(nodes) < tp)


@given(tp=st.integers(1, 6), nodes=st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_a_process_tree_fits_exactly_where_one_node_carries_it(tp: int, nodes: list[int]) -> None:
    plan = plan_placement("process", tp=tp, pp=1, device="GPU")
    is_refused = find_misfit(plan, [{"GPU": float(one)} for one in nodes]) is not None
    assert is_refused == (max(nodes) < tp)


def test_an_applications_owner_is_read_from_its_name() -> None:
    assert owner_of(app_name("study-1-000-abc", "01000000")) == "01000000"
    assert owner_of("somebody-elses") is None
    assert owner_of("seatrial-without") is None


def test_a_nodes_own_resource() -> None:
    assert node_resource(["CPU", "node:__internal_head__", NODE]) == NODE
    with pytest.raises(DeploymentError, match="expected a resource node:"):
        node_resource(["CPU"])
