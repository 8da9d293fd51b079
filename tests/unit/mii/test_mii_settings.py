import pytest

from adapters.mii.config import MiiConfig
from adapters.mii.memory import block_bytes, block_tokens
from adapters.mii.settings import PORT_NAMES, render_settings
from adapters.protocol import ModelRef

PORTS = {name: 1000 * (index + 1) for index, name in enumerate(PORT_NAMES)}


def test_one_replica_opens_the_named_ports_and_no_other(model: ModelRef) -> None:
    settings = render_settings(MiiConfig(), model, PORTS)
    (replica,) = settings["model_config"]["replica_configs"]
    assert settings["port_number"] == PORTS["load_balancer"]
    assert replica["tensor_parallel_ports"] == [PORTS["rank"]]
    assert (replica["torch_dist_port"], replica["zmq_port"]) == (PORTS["torch"], PORTS["zmq"])


def test_further_ranks_and_replicas_take_the_ports_and_devices_that_follow(model: ModelRef) -> None:
    settings = render_settings(MiiConfig(tp=3, replica_num=2), model, PORTS)
    first, second = settings["model_config"]["replica_configs"]
    assert [*first["tensor_parallel_ports"], *second["tensor_parallel_ports"]] == [3000, 3001, 3002, 3003, 3004, 3005]
    assert (first["torch_dist_port"], second["torch_dist_port"]) == (4000, 4001)
    assert (first["zmq_port"], second["zmq_port"]) == (5000, 5001)
    assert [*first["gpu_indices"], *second["gpu_indices"]] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("heads", "tokens"), [(9, 128), (6, 64), (4, 64)])
def test_the_size_of_a_block_follows_from_the_size_of_a_head(model: ModelRef, heads: int, tokens: int) -> None:
    assert block_tokens(model.model_copy(update={"num_heads": heads})) == tokens


def test_a_device_keeps_the_blocks_of_its_own_heads(model: ModelRef) -> None:
    whole = block_bytes(MiiConfig(), model)
    assert whole == 128 * 30 * 2 * 3 * 64 * 2
    assert block_bytes(MiiConfig(tp=3), model) == whole // 3
    assert block_bytes(MiiConfig(tp=9), model) == whole // 3
