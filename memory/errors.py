"""The one exception that the command line turns into a single line on stderr."""


class MemoryBenchmarkError(Exception):
    """An input, an argument or a missing package that the user can put right; the message says how."""


class Missing(MemoryBenchmarkError):
    """An optional package is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f"{package} is not installed; paste: pip install --require-hashes -r requirements/memory.lock")
