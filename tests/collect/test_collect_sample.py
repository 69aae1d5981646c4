r"""Precision and recall on a sample of real documents, each formula judged by reading.

The excerpts and their licences are listed in ``sample/SOURCES.md``; ``sample/truth.txt`` holds the judgements.
"""

from collections import Counter
from pathlib import Path

import pytest

from collect.decode import decode
from collect.formats import HEAD, format_of, latex, posts
from collect.page import Found, Page
from collect.rows import expanded
from encoder.latex import canonical

SAMPLE = Path(__file__).parent / "sample"
Judged = Counter[tuple[str, int, str]]  # file, line, canonical form -> how often


def found_in(name: str) -> list[Found]:
    file = SAMPLE / name
    if not file.exists():  # code is kept as text, out of the reach of linters
        file = SAMPLE / f"{name}.txt"
    data = file.read_bytes()
    format_ = format_of(name, data[:HEAD])
    assert format_ is not None
    if format_.name == "posts":
        with file.open("rb") as stream:
            return list(expanded(posts.extract(stream)))
    page = Page(decode(data)[0])
    if format_.name == "latex":
        return list(latex.extract(page))
    assert format_.extract is not None
    return list(expanded(format_.extract(page)))


@pytest.fixture(scope="module")
def truth() -> Judged:
    judged: Judged = Counter()
    name = ""
    for line in (SAMPLE / "truth.txt").read_text("utf-8").splitlines():
        if line.startswith("file: "):
            name = line[6:]
        elif line and not line.startswith("#"):
            number, _, formula = line.partition(" ")
            judged[name, int(number), canonical(formula)] += 1
    return judged


@pytest.fixture(scope="module")
def collected(truth: Judged) -> Judged:
    names = dict.fromkeys(name for name, _, _ in truth)
    return Counter((name, f.line, canonical(f.latex)) for name in names for f in found_in(name))


def test_the_sample_is_large_enough_and_covers_all_formats(truth: Judged) -> None:
    assert truth.total() >= 200
    suffixes = {Path(name).suffix for name, _, _ in truth}
    assert suffixes == {".tex", ".md", ".rst", ".py", ".ipynb", ".html", ".xml"}


def test_precision_and_recall(truth: Judged, collected: Judged) -> None:
    right = (truth & collected).total()
    precision, recall = right / collected.total(), right / truth.total()
    print(f"{truth.total()} formulas: precision {precision:.4f}, recall {recall:.4f}")
    assert precision >= 0.98, f"wrongly found: {sorted((collected - truth).elements())}"
    assert recall >= 0.97, f"missed: {sorted((truth - collected).elements())}"
