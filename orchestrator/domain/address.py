"""Addresses of weights outside this machine, as a study may name them. Opens nothing."""

import re
from urllib.parse import urlsplit

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^?\s]+")
HUB = "hf://"


def objection_to(uri: str) -> str | None:
    """Say why an address is not accepted, without repeating it; None where it is.

    A user, a password or a signed query would end up in every record of the study, so none may be in it.
    """
    if _carries_credentials(uri):
        return (
            "an address with a user, a password or a query is not accepted, for they would be in every record; "
            "give credentials to the service's own client through environment variables on each node"
        )
    if uri.startswith(HUB):
        return "weights of the Hugging Face hub are named by `name: hf://organisation/name`, not by uri"
    if not ADDRESS.fullmatch(uri) or "::" in uri:
        return "expected one address such as s3://bucket/models/x or s3://bucket/x.gguf"
    return None


def _carries_credentials(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
        _ = parts.port  # what stands before a slash in a password reads as a port that is no number
    except ValueError:
        return True
    return "?" in uri or re.search(r"://[^/]*@", uri) is not None
