"""The table of domains."""

from memory.domain import Domain
from memory.errors import MemoryBenchmarkError
from memory.integers import Integers
from memory.latex import Latex
from memory.strings import Strings

DOMAINS: dict[str, type[Domain]] = {domain.name: domain for domain in (Latex, Strings, Integers)}


def make(name: str) -> Domain:
    """The domain of that name, with its defaults.

    Raises:
        MemoryBenchmarkError: there is none.
    """
    if name not in DOMAINS:
        raise MemoryBenchmarkError(f"domain {name!r}: expected one of {', '.join(DOMAINS)}")
    return DOMAINS[name]()
