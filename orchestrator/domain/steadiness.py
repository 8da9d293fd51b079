"""From when on a window was steady, and whether the load outgrew the server."""

from pydantic import Field, FiniteFloat

from orchestrator.domain.published import Published


class Steadiness(Published):
    """What was found when the window was searched for a steady part."""

    is_steady: bool | None = Field(
        description="whether no drift was found after the transient; None: too few, or too closely linked, to tell"
    )
    transient_s: FiniteFloat | None = Field(
        description="start of the window that is still transient, found by MSER-5; None: too few to tell, or all of it"
    )
    oversaturated_at_s: FiniteFloat | None = Field(
        default=None, description="seconds after the window's start when the load was seen to outgrow the server"
    )
    given_up: str | None = Field(
        default=None, description="why the load was ended there, before its window's end; None: it was not"
    )
