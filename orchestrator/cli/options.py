"""Options that several commands share, spelled once."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Store = Annotated[
    str,
    typer.Option("--store", envvar="SEATRIAL_STORE", help="Where studies live: a folder, or an object-store URI."),
]
TrackingUri = Annotated[
    str | None,
    typer.Option("--tracking-uri", envvar="MLFLOW_TRACKING_URI", help="MLflow; left out: a database in the store."),
]
Model = Annotated[str | None, typer.Option("--model", help="The model's name as the server knows it.")]
KeyEnv = Annotated[
    str,
    typer.Option("--api-key-env", help="The environment variable that holds the server's API key, if it wants one."),
]

DEFAULT_STORE = "mlruns"
DEFAULT_KEY_ENV = "SEATRIAL_API_KEY"
