"""``python -m demo.show DATA INDEX [LATEX...]``: asks the service and prints each answer with where it stands."""

from __future__ import annotations

import argparse
import csv
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.client import QueryError, ServiceClient
from evaluation.errors import EvaluationError

ROOT = Path(__file__).resolve().parent.parent
QUERIES = (
    r"\Gamma(z) = \int_0^\infty t^{z-1} e^{-t} \, dt",
    r"\frac{1}{\sqrt{2\pi}} e^{-x^2/2}",
    r"(X^T X)^{-1} X^T y",
    r"\sum_{k=0}^n \binom{n}{k} a^k b^{n-k}",
    r"x^2 y'' + x y' + (x^2 - \nu^2) y = 0",
    r"P_n^{(\alpha, \beta)}(x)",
)
WIDTH = 96  # characters of a formula that are shown


@dataclass(frozen=True)
class Place:
    """A formula of the collection: its LaTeX, and the file and line (from 1) where it stands."""

    latex: str
    file: str
    line: int


def places(data: Path, formula_ids: Sequence[str]) -> dict[str, Place]:
    """Where formulas stand.

    Args:
        data: a folder that ``collect`` wrote.
        formula_ids: the formulas wanted.
    """
    wanted = set(formula_ids)
    with (data / "formulas.tsv").open(encoding="utf-8", newline="") as stream:
        texts = {row["id"]: row["formula"] for row in csv.DictReader(stream, delimiter="\t") if row["id"] in wanted}
    query = """SELECT formula_id, root, path, contexts.line FROM contexts JOIN documents USING (post_id)
               WHERE formula_id = ?"""
    db = sqlite3.connect(data / "posts.sqlite")
    try:
        rows = [row for each in sorted(wanted) for row in db.execute(query, (int(each),))]
    finally:
        db.close()
    source = (data / "source").resolve()
    return {str(one): Place(texts[str(one)], shown(Path(root, path), source), line) for one, root, path, line in rows}


def shown(file: Path, source: Path) -> str:
    """A file's name below the demo's sources, or in full if it lies elsewhere."""
    return file.relative_to(source).as_posix() if file.is_relative_to(source) else str(file)


def one_line(latex: str) -> str:
    """A formula on one line, cut to ``WIDTH`` characters."""
    text = " ".join(latex.split())
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def answers(data: Path, index: Path, queries: Sequence[str], best: int, timeout_s: float = 10.0) -> Iterator[str]:
    """The lines to print: each query, then its best answers.

    Raises:
        EvaluationError: the service does not load.
        QueryError: it does not answer.
    """
    with ServiceClient(ROOT / "serve.sh", index, timeout_s=timeout_s) as client:
        yield f"index loaded in {client.load_seconds[0]:.1f} s"
        for number, latex in enumerate(queries, start=1):
            answer = client.answer(f"demo-{number}", latex, best)
            found = places(data, [formula_id for formula_id, _ in answer.ranking])
            yield f"\n{latex}    ({1000 * answer.seconds:.1f} ms)"
            for formula_id, score in answer.ranking:
                place = found[formula_id]
                yield f"  {score:6.3f}  {one_line(place.latex)}\n          {place.file}:{place.line}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0, or 2 with one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m demo.show", description="Ask a few queries, print the answers.")
    parser.add_argument("data", type=Path, help="folder that demo.gather or collect wrote")
    parser.add_argument("index", type=Path, help="index built from it")
    parser.add_argument("latex", nargs="*", default=list(QUERIES), help="formulas to ask for (default: a handful)")
    parser.add_argument("-n", type=int, default=4, help="answers to show for each (default: 4)")
    given = parser.parse_args(arguments)
    try:
        for line in answers(given.data, given.index, given.latex, given.n):
            print(line, flush=True)
    except (EvaluationError, QueryError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
