"""Made traffic as a trace: what a file or a comparison wants, where a load wants arrays."""

import numpy as np
import polars as pl
import pyarrow as pa

from workloads.blocks import BlockIds, make_blocks, offsets_of
from workloads.model import TrafficModel
from workloads.requests import NO_SESSION, Requests
from workloads.synthesis.curves import SynthesisError
from workloads.synthesis.knobs import Knobs, RateMethod
from workloads.synthesis.make import make_part
from workloads.trace import Trace, TraceFacts


def make_trace(
    model: TrafficModel,
    knobs: Knobs,
    *,
    rate_rps: float,
    duration_s: float,
    seed: int,
    rate_method: RateMethod = "compress",
) -> Trace:
    """Make traffic as a trace of format `synthetic`, times to 1 ns from its first arrival.

    Raises:
        SynthesisError: nothing arrives, or knobs and model are at odds.
        ProfileError: the file of the second profile of a mix cannot be used.
    """
    part, _ = make_part(model, knobs, rate_rps=rate_rps, duration_s=duration_s, seed=seed, rate_method=rate_method)
    requests = part.requests
    if len(requests) == 0:
        raise SynthesisError(f"{rate_rps:g} requests/s over {duration_s:g} s sends nothing; lengthen the traffic")
    columns = {
        "arrival_ns": pl.Series(part.arrival_ns - part.arrival_ns[0]),
        "input_tokens": pl.Series(requests.input_tokens),
        "output_tokens": pl.Series(requests.output_tokens),
        "is_failed": pl.Series(np.zeros(len(requests), dtype=bool)),
    }
    if requests.blocks is not None:
        columns["block_ids"] = _list_column(_covered(requests))
    if requests.sessions is not None:
        alone = np.arange(len(requests)) + int(requests.sessions.max()) + 1
        ids = np.where(requests.sessions == NO_SESSION, alone, requests.sessions)
        columns["session_id"] = pl.Series(ids.astype(np.uint64))
    return Trace(pl.DataFrame(columns), TraceFacts("synthetic", model.digest, 1, 1, requests.block_tokens))


def _covered(requests: Requests) -> BlockIds:
    """Return block ids for the whole of each prompt, as traces have them: what is its own gets ids of its own."""
    blocks = requests.blocks
    if blocks is None or requests.block_tokens is None:
        raise SynthesisError("requests without blocks have no ids")
    whole = np.maximum(-(-requests.input_tokens.astype(np.int64) // requests.block_tokens), blocks.counts)
    offsets = offsets_of(whole)
    values = np.arange(offsets[-1], dtype=np.int64) + (int(blocks.values.max()) + 1 if blocks.values.size else 0)
    values[np.repeat(offsets[:-1], blocks.counts) + blocks.positions()] = blocks.values
    return make_blocks(offsets, values)


def _list_column(blocks: BlockIds) -> pl.Series:
    lists = pa.LargeListArray.from_arrays(pa.array(blocks.offsets), pa.array(blocks.values))
    return pl.Series("block_ids", lists)
