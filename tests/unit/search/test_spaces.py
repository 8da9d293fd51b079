from orchestrator.domain.study import EngineChoice
from orchestrator.search import Proposer
from orchestrator.search.spaces import space_of


def test_a_flag_that_the_study_fixes_is_not_searched_unless_it_is_listed() -> None:
    whole = space_of(EngineChoice(name="llamacpp", config={"n_threads": 1}))
    assert "n_threads" not in {one.name for one in whole.parameters}
    listed = space_of(EngineChoice(name="llamacpp", config={"n_threads": 1}, search={"n_threads": [1, 2]}))
    assert [one.name for one in listed.parameters] == ["n_threads"]


def test_constraints_hold_under_what_the_study_fixes() -> None:
    """Continuous batching is off by default, and its settings may only be searched where it is on."""
    search = {"cb_block_size": [32, 256]}
    off = space_of(EngineChoice(name="transformers", search=search))
    on = space_of(EngineChoice(name="transformers", search=search, config={"continuous_batching": True}))
    assert off.violations({"cb_block_size": 32})
    assert not on.violations({"cb_block_size": 32})


def test_the_space_of_the_published_candidate_is_not_exhausted_after_its_defaults() -> None:
    choice = EngineChoice(
        name="transformers",
        config={"continuous_batching": True, "cb_max_batch_tokens": 512},
        search={"cb_block_size": [32, 256], "cb_max_batch_tokens": [64, 512]},
    )
    proposer = Proposer(space_of(choice), sampler="tpe", seed=1, prune_after=4)
    proposals = [proposer.ask() for _ in range(3)]
    assert [one.number for one in proposals if one is not None] == [0, 1, 2]
