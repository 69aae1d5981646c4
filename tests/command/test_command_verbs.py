"""The verbs that hand over to other packages: collect, serve, evaluate, inspect."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from encoder.latex import canonical
from tests.command.conftest import Run, start


def test_collect_reports_and_an_empty_folder_is_nothing_found(papers: Path, tmp_path: Path, run: Run) -> None:
    (report,) = run("collect", papers, "--out", tmp_path / "out").records
    assert (report["formulas"], report["read"], report["reused"]) == (4, 2, 0)
    (again,) = run("collect", papers, "--out", tmp_path / "out").records
    assert (again["read"], again["reused"], again["written"]) == (0, 2, False)
    (papers / "new.tex").write_bytes(b"\x00\x01" * 400)
    skipped = run("collect", papers, "--out", tmp_path / "out")
    assert skipped.status == 0  # so that a chain of commands goes on
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run("collect", empty, "--out", tmp_path / "none")
    assert (done.status, done.error) == (1, "./formdex collect: no formula found")


def test_serve_speaks_the_protocol(shared: Path) -> None:
    lines = [{"op": "load"}, {"query_id": "q", "latex": "y=mx+b"}]
    with start(["serve", shared / ".formdex"]) as process:
        out, err = process.communicate("".join(json.dumps(line) + "\n" for line in lines), timeout=120)
    assert process.returncode == 0, err
    loaded, answer = map(json.loads, out.splitlines())
    assert loaded == {"ok": True}
    assert answer["query_id"] == "q"
    assert len(answer["results"]) == 4


def _status(url: str, host: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Host": host}), timeout=60) as reply:
            return reply.status
    except urllib.error.HTTPError as refused:
        return refused.code


def test_serve_http_answers_on_the_port_it_names(shared: Path) -> None:
    pytest.importorskip("uvicorn")
    names = ["--allow-host", "formulas.example"]
    with start(["serve", shared / ".formdex", "--http", "--port", "0", *names]) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            assert _status(url, "formulas.example") == 200
            assert _status(url, "other.example") == 421
        finally:
            process.terminate()
            process.wait(60)


def test_evaluate_scores_keeps_the_run_and_compares(shared: Path, tmp_path: Path, run: Run) -> None:
    collection = shared / ".formdex"
    hits = run("search", collection, "x^2+y^2=r^2", "-n", "4").records
    rows = [line.split("\t") for line in (collection / "formulas.tsv").read_text().splitlines()[1:]]
    visual = {row[0]: row[6] for row in rows}
    best, worst = visual[hits[0]["formula_id"]], visual[hits[3]["formula_id"]]
    queries, right, wrong = (tmp_path / name for name in ("queries.jsonl", "right.tsv", "wrong.tsv"))
    queries.write_text(json.dumps({"query_id": "B.1", "latex": "x^2+y^2=r^2"}) + "\n")
    right.write_text(f"B.1\t0\t{best}\t3\nB.1\t0\t{worst}\t0\n")
    wrong.write_text(f"B.1\t0\t{best}\t0\nB.1\t0\t{worst}\t3\n")
    asked = ("evaluate", collection, "--queries", queries, "--warmup", "0")
    (report,) = run(*asked, "--qrels", right, "--out", tmp_path / "a.run").records
    assert (report["answered"], report["mean"]["ndcg"]) == (1, 1.0)
    report, compared = run(*asked, "--qrels", wrong, "--baseline", tmp_path / "a.run").records
    assert report["mean"]["ndcg"] == pytest.approx(0.63093, abs=1e-5)  # 1 / log2(3): the relevant one comes second
    assert compared["compared"]["ndcg"]["difference"] == 0
    shown = run(*asked, "--qrels", right, "--table")
    assert shown.status == 0
    assert "1 of 1 queries answered" in shown.out


def test_inspect_accounts_for_the_index(shared: Path, run: Run) -> None:
    (shown,) = run("inspect", shared / ".formdex").records
    assert (shown["groups"], shown["corpus"]["rows"]) == (4, 5)
    assert 0 < sum(shown["sections"].values()) < shown["bytes"]
    assert shown["sections"]["vectors"] == 2 * shown["dim"] * shown["nodes"]
    assert "sections\n  ids" in run("inspect", shared / ".formdex", "--table").out


def test_inspect_shows_the_canonical_form(run: Run) -> None:
    done = run("inspect", "--latex", r"\dfrac12", "--latex", "-", stdin="\\frac{1}{2}\n")
    first, second = done.records
    assert first["canonical"] == canonical(r"\frac12") == " ".join(first["tokens"])
    assert first["visual_id"] == second["visual_id"]
    nothing = run("inspect", "--latex", r"\,")
    assert (nothing.status, nothing.records[0]["visual_id"]) == (1, None)
