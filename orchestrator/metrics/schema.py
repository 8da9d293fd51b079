"""The published JSON schema of a measurement.

Its names are a contract (docs/METRICS.md); the field `schema` holds its version.
"""

from typing import Any

from orchestrator.domain.measurement import SCHEMA, Measurement


def measurement_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a measurement as it is written: every key present, missing is null."""
    schema = Measurement.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA, **schema}
