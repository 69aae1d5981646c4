from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import bits, build, cells, coded, codes, embed, grams, ids, plan, plan_coded, search, store
from index.coded import CodedIndex
from index.errors import PlanError, StoreError
from tests.index import coded_stand_in
from tests.index.conftest import write_model, write_rows
from tests.index.stand_in import collection

GROUPS = 1500
LAYOUT = codes.Layout((8, 7), 4, 4)
NAMES = codes.Layout((6,))
BROKEN = ["", " ", "{", "\\", "\\frac{", "x^{" * 400, "\x00\x01", "\ud800", "&amp;&lt;", "∑🙂", "a " * 2_000]
QUERIES = [r"\frac x y + 1", r"\sum a = b", "( 2 + 3 ) - n", r"\alpha", "a a a a a"]


def never(*_: object) -> plan.Plan:
    raise PlanError("exact vectors are not asked for")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Coded indexes of 1,500 groups, with residuals and of names alone, and their model; the stand-ins hold throughout
    this module."""
    place = tmp_path_factory.mktemp("coded")
    model, data = write_model(place / "model"), write_rows(place / "data", collection(GROUPS))
    with pytest.MonkeyPatch.context() as patch:
        coded_stand_in.replace(patch)
        patch.setattr(embed, "CHUNK", 200)
        patch.setattr(plan, "decide", never)
        for name, layout in (("index", LAYOUT), ("names", NAMES)):
            patch.setattr(plan_coded, "layouts", lambda dim, layout=layout: [layout])
            build.build(build.Options(data, place / name, threads=1, model=model, submission=0))
        yield place


def opened(folder: Path, name: str) -> CodedIndex:
    found = search.Index.open(folder / name, folder / "model")
    assert isinstance(found, CodedIndex)
    return found


@pytest.fixture(scope="module")
def index(folder: Path) -> CodedIndex:
    return opened(folder, "index")


@pytest.fixture(scope="module")
def names(folder: Path) -> CodedIndex:
    return opened(folder, "names")


def check(answer: list[tuple[str, float]], count: int) -> None:
    """What every answer must be."""
    assert len(answer) == len({i for i, _ in answer}) == count
    assert all(isinstance(i, str) and i.isdigit() and math.isfinite(s) for i, s in answer)
    assert [s for _, s in answer] == sorted((s for _, s in answer), reverse=True)


@pytest.mark.parametrize("latex", BROKEN)
def test_any_query_gets_a_full_answer(latex: str, index: CodedIndex) -> None:
    check(index.search(latex), 1000)
    check(index.search(latex, 10), 10)


@settings(max_examples=25)
@given(st.text(max_size=40), st.integers(-3, GROUPS + 200))
def test_any_number_of_answers(index: CodedIndex, latex: str, k: int) -> None:
    check(index.search(latex, k), max(0, min(k, GROUPS)))


def test_all_groups_come_out_once(index: CodedIndex) -> None:
    answer = index.search("x", GROUPS)
    assert sorted(int(i) for i, _ in answer) == sorted(index._ids.tolist())
    assert index.size == GROUPS


def brute(folder: Path, latex: str, weight: float) -> dict[str, float]:
    """Scores of all groups from the sections, the obvious way: inner product with the vector that the codes stand for,
    the node's part by the root of its length, the squared relative rarity of the query's n-gram of each name, and what
    the cells of the query's own codes are worth."""
    header, sections = store.read(folder)
    layout = codes.Layout(tuple(header["plan"]["names"]), *header["plan"]["parts"])
    numbers, node = ids.decode_members(sections, header["nodes"])
    query = coded_stand_in.GramEmbedder(Path()).embed([latex])
    whole = query.vectors[0].astype(np.float32)
    centres = sections["vectors"] * sections["vectors.step"] + sections["vectors.low"]
    mean = centres[node].mean(axis=0)
    vector = whole - 0.5 * (whole @ mean) * mean / (mean @ mean)
    hashes = bits.read_ascending(sections["dictionary.hashes"]).astype(np.uint32)
    dictionary = grams.Dictionary(hashes, sections["dictionary.steps"])
    roots = np.sqrt(np.linalg.norm(centres, axis=1))
    apart = sections["lengths"][node] / codes.LENGTH_STEPS - math.log(max(grams.SHORTEST, len(query.features)))
    score = ((centres @ vector) / roots / np.mean(1 / roots))[node]
    score -= codes.LENGTH_WEIGHT * np.where(apart > 0, codes.LONGER, -1) * apart
    rebuilt = np.zeros((len(node), centres.shape[1]), np.float32)
    width = rebuilt.shape[1] // max(1, layout.parts)
    books = [sections[f"books.{column}"].astype(np.float32) for column in range(len(layout.widths))]
    for column, size in enumerate(layout.widths):
        code = bits.unpack(sections[f"codes.{column}"], len(numbers), size)
        part = column - len(layout.names)
        if part < 0:
            rebuilt += books[column][code]
            score += weight * grams.query_table(dictionary, query.features, size, column)[code]
        else:
            rebuilt[:, part * width : (part + 1) * width] += books[column][code]
    if not layout.parts:
        code = bits.unpack(sections["codes.0"], len(numbers), layout.names[0])
        score += own_cells(whole, centres, dictionary, books[0], query.features)[node, code]
    return dict(zip(map(str, numbers.tolist()), rebuilt @ vector + score, strict=True))


def own_cells(
    query: np.ndarray, centres: np.ndarray, dictionary: grams.Dictionary, book: np.ndarray, features: np.ndarray
) -> np.ndarray:
    """(nodes, names): what each cell is worth to a query."""
    short = centres @ query / np.linalg.norm(centres, axis=1)
    short = short.max() - short
    worth = np.zeros((len(centres), len(book)))
    kind = grams.length_class(np.array([len(features)]))
    for node in np.argsort(short, kind="stable")[: cells.NODES]:
        gains: dict[int, float] = {}
        for place in dictionary.find(features):
            if place >= 0:
                name = int(dictionary.names(place[None], kind, len(book).bit_length() - 1)[0])
                gain = (
                    codes.RARITY * dictionary.idf[place]
                    + 2 * (query - centres[node]) @ book[name]
                    - book[name] @ book[name]
                )
                gains[name] = max(gain, gains.get(name, gain))
        for name, gain in (gains or {grams.NONE: 0.0}).items():
            loss = short[node] + max(gains.values(), default=0.0) - gain
            worth[node, name] = max(0.0, cells.STEEP * (cells.WITHIN - loss))
    return worth


@pytest.mark.parametrize("form", ["index", "names"])
@pytest.mark.parametrize("weight", [0.0, coded.NAME_WEIGHT, 0.8])
@pytest.mark.parametrize("members", [60, 700, 10**6])
def test_scores_are_those_of_brute_force(
    members: int, weight: float, form: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coded, "MEMBERS", members)
    index = opened(folder, form)
    for latex in [*QUERIES, "q"]:
        expected = brute(folder / form, latex, weight)
        answer = index.search(latex, 100, weight)
        assert all(abs(expected[i] - s) < 1e-5 for i, s in answer)
        if members > GROUPS:
            best = sorted(expected.values(), reverse=True)[:100]
            assert np.abs(np.array(best) - np.array([s for _, s in answer])).max() < 1e-5


def test_few_candidates_find_most_of_the_best(index: CodedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [{i for i, _ in index.search(latex, 10)} for latex in QUERIES]
    monkeypatch.setattr(coded, "MEMBERS", 10**6)
    best = [{i for i, _ in index.search(latex, 10)} for latex in QUERIES]
    assert np.mean([len(a & b) / 10 for a, b in zip(found, best, strict=True)]) >= 0.7


def test_residuals_count_for_the_best_by_node_and_name(index: CodedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coded, "MEMBERS", 10**6)
    every = {latex: index.search(latex, 10) for latex in QUERIES}
    monkeypatch.setattr(coded, "REFINED", 150)
    few = {latex: index.search(latex, 10) for latex in QUERIES}
    scores = {latex: dict(index.search(latex, GROUPS)) for latex in QUERIES}  # all wanted: none is left out
    for latex in QUERIES:
        assert all(scores[latex][i] == score for i, score in few[latex])
    assert np.mean([len(dict(few[q]).keys() & dict(every[q]).keys()) / 10 for q in QUERIES]) >= 0.7
    check(index.search("x", 400), 400)


def candidates(index: CodedIndex, latex: str, k: int) -> np.ndarray:
    query = embed.Embedder(Path()).embed([latex])
    at = index._coder.at_nodes(index._vectors @ query.vectors[0].astype(np.float32), len(query.features))
    return index._candidates(at, index._coder.lexical(query.features), k)


@pytest.mark.parametrize("k", [1, 59, 400, 1000, GROUPS - 1])
def test_there_are_always_enough_candidates(k: int, index: CodedIndex) -> None:
    for latex in [*QUERIES, *BROKEN]:
        chosen = candidates(index, latex, k)
        assert len(chosen) >= k
        assert len(np.unique(chosen)) == len(chosen)
        assert 0 <= chosen.min() <= chosen.max() < GROUPS


def test_groups_that_name_the_querys_rarest_ngrams_are_candidates(index: CodedIndex) -> None:
    """The first stage's names, wherever the groups are."""
    added = 0
    for latex in QUERIES:
        query = embed.Embedder(Path()).embed([latex])
        worth = grams.query_table(index._coder.dictionary, query.features, LAYOUT.names[0])
        chosen = candidates(index, latex, 10)
        for name in np.argsort(-worth, kind="stable")[: coded.RAREST].tolist():
            having = np.flatnonzero(index._codes[0] == name)
            if worth[name] > 0 and len(having) <= coded.NAMED:
                assert np.isin(having, chosen).all()
                added += len(having)
    assert added


def test_best_nodes_with_too_few_groups_are_not_enough(index: CodedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coded, "MEMBERS", 1)
    monkeypatch.setattr(coded, "LEAST_NODES", 1)
    monkeypatch.setattr(coded, "NAMED", 0)
    at = np.linspace(0, 1, len(index._vectors))
    for k in (1, 5, 100, GROUPS):
        near = index._near(at, max(coded.MEMBERS, k), k)
        held = int((index._first[near + 1] - index._first[near]).sum())
        assert held >= k
        assert at[near].min() >= np.delete(at, near).max(initial=0)
        check(index.search("x", k), k)


def test_a_formula_of_the_collection_is_found_by_its_own_codes(
    names: CodedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among nodes and names alone: those of its cell are set before all others."""
    formulas = {str(row[0]): str(row[-1]) for row in collection(GROUPS)}
    kept = [i for i in map(str, names._ids.tolist()) if i in formulas][::10]
    ranks: dict[float, list[int]] = {steep: [] for steep in (0.0, cells.STEEP)}
    for steep, found in ranks.items():
        monkeypatch.setattr(cells, "STEEP", steep)
        for number in kept:
            found.append([i for i, _ in names.search(formulas[number], GROUPS)].index(number))
    without, own = (float(np.median(found)) for found in ranks.values())
    assert len(kept) > 100
    assert own <= 10
    assert own < 0.7 * without


def test_equal_scores_come_in_order_of_place(index: CodedIndex) -> None:
    place = {i: at for at, i in enumerate(index._ids.tolist())}
    for latex in QUERIES:
        answer = index.search(latex, GROUPS)
        assert answer == sorted(answer, key=lambda pair: (-pair[1], place[int(pair[0])]))


Sections = dict[str, np.ndarray]


def changed(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[dict, Sections], None]:
    def damage(header: dict, sections: Sections) -> None:
        sections[name] = change(sections[name])

    return damage


def without(name: str) -> Callable[[dict, Sections], None]:
    return lambda header, sections: sections.__delitem__(name)


def said(name: str, value: object) -> Callable[[dict, Sections], None]:
    return lambda header, sections: header.__setitem__(name, value)


def planned(name: str, value: object) -> Callable[[dict, Sections], None]:
    return lambda header, sections: header["plan"].__setitem__(name, value)


DAMAGE: dict[str, tuple[Callable[[dict, Sections], None], str]] = {
    "no ids": (without("members"), "'members'"),
    "no stretches": (without("blocks"), "'blocks'"),
    "no shift": (without("shift"), "'shift'"),
    "no nodes": (without("vectors"), "'vectors'"),
    "no codes": (without("codes.1"), "'codes.1'"),
    "no book": (without("books.5"), "'books.5'"),
    "no dictionary": (without("dictionary.hashes"), "'dictionary.hashes'"),
    "no rarity": (without("dictionary.steps"), "'dictionary.steps'"),
    "no lengths": (without("lengths"), "'lengths'"),
    "a length less": (changed("lengths", lambda a: a[:-1]), "lengths"),
    "a node less": (changed("vectors", lambda a: a[:-1]), "belongs to node|vectors"),
    "a dimension less": (changed("vectors", lambda a: a[:, :-1]), "vectors"),
    "codes cut": (changed("codes.0", lambda a: a[:-1]), "bytes, expected"),
    "codes of another width": (planned("names", [9, 7]), "bytes, expected"),
    "a name less": (planned("names", [8]), "bytes, expected|codebook"),
    "other parts": (planned("parts", [2, 4]), "codebook 2 is"),
    "a book cut": (changed("books.0", lambda a: a[:-1]), r"codebook 0 is \(255, 16\), expected \(256, 16\)"),
    "a narrow book": (changed("books.3", lambda a: a[:, :-1]), "codebook 3 is"),
    "rarities cut": (changed("dictionary.steps", lambda a: a[:-1]), "n-grams, rarities"),
    "a rarity of nothing": (changed("dictionary.steps", lambda a: a * 0), "has no rarity"),
    "an n-gram twice": (
        changed("dictionary.hashes", lambda a: bits.ascending(np.full(len(bits.read_ascending(a)), 7))),
        "do not ascend",
    ),
    "n-grams of 40 bits": (
        changed("dictionary.hashes", lambda a: bits.ascending(bits.read_ascending(a) << 8)),
        "above|do not ascend",
    ),
    "another shift": (changed("shift", lambda a: a + 1), "stretches of"),
    "members cut": (changed("members", lambda a: a[:-3]), "bytes, expected"),
    "a group too many": (said("groups", GROUPS + 1), "1501 groups"),
    "a node too many": (said("nodes", 33), "vectors"),
    "another dimension": (said("dim", 8), "vectors"),
    "no steps": (without("vectors.step"), "'vectors.step'"),
    "a step less": (changed("vectors.low", lambda a: a[1:]), "of steps"),
}  # fmt: skip


def test_codes_without_a_name_are_refused(folder: Path, tmp_path: Path) -> None:
    header, sections = store.read(folder / "names")
    header["plan"]["names"] = []
    store.write(tmp_path, header, sections)
    with pytest.raises(StoreError, match="codes have no name"):
        search.Index.open(tmp_path, folder / "model")


@pytest.mark.parametrize("name", DAMAGE)
def test_sections_that_contradict_each_other_are_refused_in_one_line(name: str, folder: Path, tmp_path: Path) -> None:
    damage, message = DAMAGE[name]
    header, sections = store.read(folder / "index")
    damage(header, sections)
    path = store.write(tmp_path, header, sections)
    with pytest.raises(StoreError, match=message) as caught:
        search.Index.open(tmp_path, folder / "model")
    assert str(caught.value).startswith(f"{path}: sections contradict each other: ")
    assert "\n" not in str(caught.value)


def test_a_damaged_file_is_refused(folder: Path, tmp_path: Path) -> None:
    data = (folder / "index" / store.FILE).read_bytes()
    for at in range(0, len(data), len(data) // 40):
        (tmp_path / store.FILE).write_bytes(data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :])
        with pytest.raises(StoreError):
            search.Index.open(tmp_path, folder / "model")
    (tmp_path / store.FILE).write_bytes(data[:-1])
    with pytest.raises(StoreError, match="truncated"):
        search.Index.open(tmp_path, folder / "model")
