"""Why a patch was refused. `code` is the status of the answer, the text is its message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class PatchError(ValueError):
    """A patch that cannot be applied."""

    code = 400

    def __init__(self, message: str, *, code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class BadPatch(PatchError):
    """The patch itself is malformed."""


class PatchDoesNotApply(PatchError):
    """A JSON patch operation failed: the client is told no more than "the server rejected our request"."""

    code = 422


class TestDoesNotHold(PatchDoesNotApply):
    """A JSON patch's `test` found something else."""


class TooManyOperations(PatchError):
    """A JSON patch that is too long."""

    code = 413


class StrategicMergeError(PatchError):
    """A strategic merge patch that contradicts the type. Upstream answers 500 to most of these."""

    code = 500


class InvalidApply(PatchError):
    """An applied object that does not fit its type: 500 upstream, a plain error there."""

    code = 500


class Conflict(NamedTuple):
    """A field that another manager owns with another value."""

    manager: str  # as messages print it: "name" with subresource "status" using v1
    path: str


class ApplyConflict(PatchError):
    """Fields of others would change, and the apply was not forced. Reason Conflict; `causes` go into the details."""

    code = 409

    def __init__(self, message: str, conflicts: Sequence[Conflict]) -> None:
        super().__init__(message)
        self.conflicts = list(conflicts)

    @property
    def causes(self) -> list[dict[str, str]]:
        return [
            {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": path}
            for manager, path in self.conflicts
        ]
