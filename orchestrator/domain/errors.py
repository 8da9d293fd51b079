"""Every error that a person meets, with the exit code it ends a command with.

SeatrialError (1)
├── InputError (2)              bad study, trace, flag or name
├── DeploymentError (3)         an engine could not be placed, started or kept alive
├── MeasurementRefusedError (4) what was asked cannot be measured honestly here
└── TrackingError (5)           a result could not be recorded
"""

from typing import ClassVar

from adapters.protocol import StartFailure


class SeatrialError(Exception):
    """Something a person can act on: expected, seen, what to do."""

    exit_code: ClassVar[int] = 1


class InputError(SeatrialError):
    """Bad input: file, key path, what was seen, what is allowed."""

    exit_code: ClassVar[int] = 2


class DeploymentError(SeatrialError):
    """An engine could not be placed, started or kept alive."""

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, *, kind: StartFailure = StartFailure.UNKNOWN, log_tail: str = "") -> None:
        super().__init__(message, kind, log_tail)
        self.message = message
        self.kind = kind
        self.log_tail = log_tail

    def __str__(self) -> str:
        tail = f"\n--- last lines of the engine's log ---\n{self.log_tail}" if self.log_tail else ""
        return f"{self.message} ({self.kind.value}){tail}"

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.kind, self.log_tail))


def _rebuild(cls: type[DeploymentError], message: str, kind: StartFailure, log_tail: str) -> DeploymentError:
    return cls(message, kind=kind, log_tail=log_tail)


class MeasurementRefusedError(SeatrialError):
    """What was asked cannot be measured honestly here."""

    exit_code: ClassVar[int] = 4


class TrackingError(SeatrialError):
    """A result could not be recorded."""

    exit_code: ClassVar[int] = 5
