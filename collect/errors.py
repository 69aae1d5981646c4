"""The exceptions of this package."""

from __future__ import annotations


class CollectError(ValueError):
    """An argument or a folder that cannot be used. The message is one line; the command line prints it and exits 2."""


class Unreadable(ValueError):
    """A file that cannot be read as what it seems to be: it is reported and skipped. The message is the reason."""
