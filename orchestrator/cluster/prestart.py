"""Has Ray start worker processes before they are asked for: a replica's imports would be most of a trial's overhead.

A worker started while one engine stops imports beside the next engine's start and warm-up, and serves the trial after
that. The only file that speaks to a raylet itself: Ray offers the call to its own core alone. Where it fails, workers
start when they are needed, as ever.
"""

import logging
from collections.abc import Mapping
from typing import Any

import grpc  # type: ignore[import-untyped]  # comes with Ray
from ray._private.grpc_utils import init_grpc_channel
from ray.core.generated import common_pb2, node_manager_pb2, node_manager_pb2_grpc, runtime_environment_pb2
from ray.runtime_env import RuntimeEnv

from orchestrator.cluster import serve_control

KEEP_ALIVE_S = 60
TIMEOUT_S = 2.0

logger = logging.getLogger(__name__)


def prestart_workers(count: int, runtime_env: Mapping[str, Any] | None = None) -> None:
    """Have this node's raylet start workers that any actor of that environment may take; returns before they are up."""
    node = serve_control.here()
    channel = init_grpc_channel(f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}")
    messages: Any = node_manager_pb2  # generated code without types
    python: Any = common_pb2
    service: Any = node_manager_pb2_grpc
    environment: Any = runtime_environment_pb2
    request = messages.PrestartWorkersRequest(
        language=python.PYTHON,
        num_workers=count,
        keep_alive_duration_secs=KEEP_ALIVE_S,
        runtime_env_info=environment.RuntimeEnvInfo(serialized_runtime_env=_serialized(runtime_env)),
    )
    try:
        service.NodeManagerServiceStub(channel).PrestartWorkers(request, timeout=TIMEOUT_S)
    except grpc.RpcError:
        logger.debug("the raylet does not start workers ahead", exc_info=True)
    finally:
        channel.close()


def _serialized(runtime_env: Mapping[str, Any] | None) -> str:
    return RuntimeEnv(**runtime_env).serialize() if runtime_env else ""
