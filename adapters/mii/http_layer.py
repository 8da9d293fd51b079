"""MII's own OpenAI server with one repair: a temperature of 0 means greedy, and the engine accepts none.

Left alone, the engine refuses the request behind a load balancer that then waits ten minutes for its first token.
`top_k` 1 leaves the sampler the same single token. Run by file path with the engine's interpreter; its flags are
those of `mii.entrypoints.openai_api_server`.
"""

import runpy

from mii.entrypoints import data_models  # type: ignore[import-not-found]

SERVER = "mii.entrypoints.openai_api_server"


class GreedyChatRequest(data_models.ChatCompletionRequest):  # type: ignore[misc]
    """A chat request whose temperature of 0 has become `top_k` 1."""

    def model_post_init(self, _context: object, /) -> None:
        """Replace the temperature that the engine refuses."""
        make_greedy(self)


class GreedyCompletionRequest(data_models.CompletionRequest):  # type: ignore[misc]
    """A completion request whose temperature of 0 has become `top_k` 1."""

    def model_post_init(self, _context: object, /) -> None:
        """Replace the temperature that the engine refuses."""
        make_greedy(self)


def make_greedy(request: data_models.ChatCompletionRequest | data_models.CompletionRequest) -> None:
    """Ask for the likeliest token by `top_k` where the temperature is 0; leave every other request alone."""
    if request.temperature == 0:
        request.temperature = None
        request.top_k = 1


if __name__ == "__main__":
    data_models.ChatCompletionRequest = GreedyChatRequest
    data_models.CompletionRequest = GreedyCompletionRequest
    runpy.run_module(SERVER, run_name="__main__", alter_sys=True)
