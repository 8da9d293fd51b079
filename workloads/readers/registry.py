"""Every format that is read, in the order in which they are tried: the first that knows a file reads it."""

from workloads.readers import (
    access_log,
    aiperf,
    anonymous,
    azure,
    bailian,
    burstgpt,
    guidellm,
    litellm,
    mapped,
    mooncake,
    openai_log,
    otel,
    servegen,
    sharegpt,
    vllm_bench,
)
from workloads.readers.format import Format

FORMATS: tuple[Format, ...] = (
    *azure.FORMATS,
    burstgpt.FORMAT,
    bailian.FORMAT,
    mooncake.FORMAT,
    anonymous.FORMAT,
    servegen.FORMAT,
    aiperf.FORMAT,
    guidellm.FORMAT,
    vllm_bench.FORMAT,
    litellm.FORMAT,
    access_log.FORMAT,
    otel.FORMAT,
    sharegpt.FORMAT,
    openai_log.FORMAT,
    mapped.FORMAT,
)
