"""What runs in the engine's own interpreter: builds the application of Ray Serve LLM and says what it resolved.

Goes there by value, since Seatrial is not installed there: imports the standard library, and Ray inside its functions.
"""

import json
import os
from pathlib import Path
from typing import Any

LOG_NAME = "engine.log"
REPLICAS_NAME = "replicas.jsonl"
SERVES_OWN_HOOK = (
    "ray.llm._internal.serve._worker_process_setup_hook"  # which Serve LLM adds to a replica's environment
)
IMPORTING_HOOK = "vllm.SamplingParams"  # made without arguments; importing vLLM is what it is for


def deploy(
    llm_config: dict[str, Any], *, name: str, route_prefix: str, folder: str, cpus: tuple[int, ...] | None
) -> None:
    """Begin to deploy the application of one engine, whose server leaves log and process id in `folder`."""
    from ray import serve  # noqa: PLC0415 - of the engine's environment
    from ray.serve.llm import LLMConfig, build_openai_app  # noqa: PLC0415

    own = {"server_cls": telling_server(folder, cpus), "callback_config": {"callback_class": weights_are_here()}}
    config = LLMConfig.model_validate({**llm_config, **own})
    ingress = {"num_replicas": 1, "autoscaling_config": None, "ray_actor_options": {"num_cpus": 0}}
    app = build_openai_app({"llm_configs": [config], "ingress_deployment_config": ingress})
    serve.api._run(app, _blocking=False, name=name, route_prefix=route_prefix)  # noqa: SLF001 - as in serve_control


def telling_server(folder: str, cpus: tuple[int, ...] | None) -> type:
    """Make Serve's own LLM server that also keeps the engine's log and cores, and tells its resolved configuration."""
    from ray.serve.llm import deployment  # noqa: PLC0415 - of the engine's environment

    base: Any = deployment.LLMServer

    class TellingServer(base):  # type: ignore[misc]  # its engine's types live in the engine's environment
        """An LLM server; told apart from others by its log, its record and `tell`."""

        async def __init__(self, *arguments: object, **options: object) -> None:  # type: ignore[misc]  # Serve awaits it
            """Send what this process and its children print to the log, leave the pid, then start the engine."""
            keep_log(folder)
            pin(cpus)
            await super().__init__(*arguments, **options)

        async def _start_engine(self) -> None:
            """Start the engine, without the usage report that would start one more worker with all imports."""
            await self.engine.start()

        async def tell(self, fields: dict[str, str]) -> dict[str, object]:
            """Return the process, its node, and the settings at their dotted places in vLLM's configuration."""
            import ray  # noqa: PLC0415

            engine: Any = self.engine
            config = engine._engine_client.vllm_config  # noqa: SLF001 - no public way
            settings = {name: at(config, place) for name, place in fields.items()}
            node_id = ray.get_runtime_context().get_node_id()
            return {"pid": os.getpid(), "node_id": node_id, "settings": settings}

    return TellingServer


def weights_are_here() -> type:
    """Make the hook that spares Serve a download: a worker of its own, with all imports, for weights already here."""
    from ray.llm._internal.common.callbacks.base import CallbackBase  # noqa: PLC0415 - no public name

    class WeightsAreHere(CallbackBase):
        """Says that every node has the weights."""

        async def on_before_node_init(self) -> None:
            """Have the step that fetches weights left out."""
            self.ctx.run_init_node = False

    return WeightsAreHere


def keep_log(folder: str) -> None:
    """Send stdout and stderr of this process to `engine.log` and append its pid to `replicas.jsonl`."""
    log = os.open(Path(folder) / LOG_NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.close(log)
    with (Path(folder) / REPLICAS_NAME).open("a", encoding="utf-8") as record:
        record.write(json.dumps({"pid": os.getpid()}) + "\n")


def pin(cpus: tuple[int, ...] | None) -> None:
    """Keep every thread of this process on the cores, and with them the children it starts; None leaves all cores."""
    if cpus is not None:
        for thread in Path("/proc/self/task").iterdir():
            os.sched_setaffinity(int(thread.name), cpus)


def at(owner: object, place: str) -> str | None:
    """Return the attribute at a dotted place, spelled as in JSON, as the own server does; None where there is none."""
    for name in place.split("."):
        if not hasattr(owner, name):
            return None
        owner = getattr(owner, name)
    is_plain = owner is None or isinstance(owner, bool | int | float)
    return json.dumps(owner) if is_plain else str(owner)
