"""The exit statuses, and the one exception of this package."""

from __future__ import annotations

DONE, PARTIAL, FAILED = 0, 1, 2


class CommandError(ValueError):
    """The verb cannot do what was asked. The message is one line; it is printed, and the status is ``FAILED``."""
