"""What prompts share with earlier ones, as parameters from which prompt blocks can be made."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from workloads.model.frozen import Frozen

Ratios = tuple[Annotated[float, Field(ge=0, le=1)], ...]


class SharedPrompts(Frozen):
    """A share of requests begins with one of a few prompts of equal length, each equally likely."""

    kind: Literal["shared_prompts"] = "shared_prompts"
    tokens: int = Field(ge=1)
    num_prefixes: int = Field(ge=1)
    share_ratio: float = Field(ge=0, le=1)


class PrefixTree(Frozen):
    """Prompts that begin as an earlier one did: how far back it lies, and how much of both is the same.

    Row `i` stands for `weights[i]` of the requests. Its prompt has `input_blocks[i]` blocks; it shares
    `shared_blocks[i]` of them with the latest earlier request that has as many in common, `distances[i]` requests
    back (0 and 0: it shares nothing), which has `parent_blocks[i]` blocks. So long prompts may share more. The table
    was measured on `num_requests` requests, so distances near that were seen too rarely.
    """

    kind: Literal["prefix_tree"] = "prefix_tree"
    block_tokens: int = Field(ge=1)
    weights: tuple[Annotated[float, Field(ge=0)], ...] = Field(min_length=1)
    distances: tuple[Annotated[int, Field(ge=0)], ...]
    shared_blocks: tuple[Annotated[int, Field(ge=0)], ...]
    input_blocks: tuple[Annotated[int, Field(ge=0)], ...]
    parent_blocks: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    num_requests: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _is_table(self) -> "PrefixTree":
        sizes = {len(self.weights), len(self.distances), len(self.shared_blocks), len(self.input_blocks)}
        if self.parent_blocks is not None:
            sizes.add(len(self.parent_blocks))
        if len(sizes) != 1:
            raise ValueError(f"expected columns of one length, seen {sorted(sizes)}")
        if not any(self.weights):
            raise ValueError("expected a weight above 0, seen only zeros")
        return self


PrefixModel = Annotated[SharedPrompts | PrefixTree, Field(discriminator="kind")]
