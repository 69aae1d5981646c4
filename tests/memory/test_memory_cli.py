import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from memory.__main__ import main
from memory.records import read

ROOT = Path(__file__).resolve().parents[2]


def generate(folder: Path, *more: str) -> None:
    assert main(["generate", "--out", str(folder), "--domain", "strings", "--M", "4", "--count", "4", *more]) == 0


def test_generate_score_and_report_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate(tmp_path / "cases", "--K", "1", "2", "--edit-k", "1", "2")
    names = sorted(path.name for path in (tmp_path / "cases").iterdir())
    assert names == sorted(
        ["strings_MemoryRet_M4_que_ans.json", "strings_MemoryCom_k2_M4_que_ans.json"]
        + [f"strings_MemoryRev_k{k}_editk{e}_M4_que_ans.json" for k in (1, 2) for e in (1, 2)]
    )
    out = tmp_path / "r.jsonl"
    assert main(["score", str(tmp_path / "cases"), "--model", "ngram", "--out", str(out), "--control", "both"]) == 0
    assert len(read(out)) == 2 * 4 * 6
    assert main(["score", str(tmp_path / "cases"), "--model", "ngram:2", "--out", str(out), "--limit", "2"]) == 0
    page = tmp_path / "r.html"
    assert main(["report", str(out), "--html", str(page)]) == 0
    text = capsys.readouterr().out
    assert "ngram:2 against ngram:5" in text
    assert "MemoryRev (cases), M = 4" in text
    assert "MemoryRev, M = 4, editK = 1" in page.read_text(encoding="utf-8")


def test_a_cut_run_goes_on_from_its_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate(tmp_path / "cases", "--task", "MemoryRet")
    score = ["score", str(tmp_path / "cases"), "--model", "ngram", "--out"]
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    assert main([*score, str(whole)]) == 0
    lines = whole.read_text(encoding="utf-8").splitlines(keepends=True)
    cut.write_text(lines[0] + lines[1][:50], encoding="utf-8")
    assert main([*score, str(cut)]) == 0
    assert "3 cases scored" in capsys.readouterr().out
    dropped = {"seconds"}
    strip = [[{k: v for k, v in r.items() if k not in dropped} for r in read(path)] for path in (whole, cut)]
    assert strip[0] == strip[1]
    assert main([*score, str(cut)]) == 0
    assert "0 cases scored" in capsys.readouterr().out


def test_changed_cases_are_scored_anew(tmp_path: Path) -> None:
    score = ["score", str(tmp_path / "cases"), "--model", "ngram", "--out", str(tmp_path / "r.jsonl")]
    for seed in ("1", "2"):
        generate(tmp_path / "cases", "--task", "MemoryRet", "--seed", seed)
        assert main(score) == 0
    assert len({record["digest"] for record in read(tmp_path / "r.jsonl")}) == 8


def test_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "strings_MemoryRet_M2_que_ans.json"
    bad.write_text(json.dumps([{"query": "x"}]), encoding="utf-8")
    for arguments in (
        ["score", str(bad), "--model", "ngram", "--out", str(tmp_path / "r")],
        ["score", str(tmp_path / "absent"), "--model", "ngram", "--out", str(tmp_path / "r")],
        ["generate", "--out", str(tmp_path), "--domain", "strings", "--task", "MemoryRet", "--M", "0"],
        ["report", str(tmp_path / "absent")],
    ):
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert error.startswith("memory: ")
        assert error.count("\n") == 1
        assert not (tmp_path / "r").exists()


def test_smoke_runs_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smoke", "--out", str(tmp_path)]) == 0
    assert "MemoryCom" in capsys.readouterr().out
    assert (tmp_path / "report.html").is_file()


def imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def test_building_and_serving_do_not_know_the_benchmark() -> None:
    for package in ("encoder", "index", "service", "evaluation", "weights"):
        for path in (ROOT / package).rglob("*.py"):
            assert "memory" not in imports(path), path


def test_generating_and_the_floor_need_no_optional_package(tmp_path: Path) -> None:
    code = "import sys, memory.__main__; print(sorted({'torch', 'transformers', 'llama_cpp'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"
