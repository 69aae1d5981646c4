r"""People's documents -> the contract's input: ``formulas.tsv`` and ``posts.sqlite`` (where each formula stands).

Owns everything between a folder of files and the rows of a collection: which files there are (``walk``), their
encoding (``decode``), their formulas (``formats``, one file a format), LaTeX macros and ``\input`` (``texmacros``,
``project``), what is kept between runs (``cache``), and the output (``store``). It knows the canonical form from
``encoder``, since that names the visual groups, and nothing of the index.

``collect(paths, out)`` is the whole of it; ``python -m collect PATH... --out DIR`` calls it.
"""

from collect.errors import CollectError
from collect.run import Report, collect

__all__ = ["CollectError", "Report", "collect"]
