"""What a newcomer meets first: the README's commands, the locks, CI, and the demo on a wheel made here."""

import ast
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bench.__main__ import listing
from demo import gather, show

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
LOCKS = sorted([ROOT / "requirements.lock", *(ROOT / "requirements").glob("*.lock")])
# What the Makefile installs into one place.
TOGETHER = ("requirements", "browser", "check", "collect", "evaluation", "http", "weights")
CORE = {"hnswlib", "hypothesis", "numpy", "onnxruntime", "pytest", "tokenizers"}
VERBS = ("demo", "test", "check", "verify", "bench")


def pins(file: Path) -> dict[str, tuple[str, int]]:
    """Version and number of hashes by name, of a lock; of an .in file the hashes are 0."""
    text = re.sub(r"(?m)^\s*#.*\n", "", file.read_text("utf-8").replace("\\\n", " "))
    found = {}
    for line in text.splitlines():
        if match := re.match(r"([A-Za-z0-9_.-]+)==(\S+)", line):
            name = re.sub(r"[-_.]+", "-", match[1]).lower()
            found[name] = (match[2], line.count("--hash=sha256:"))
    return found


def module_exists(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


# --- the commands


@pytest.mark.parametrize("verb", VERBS)
def test_the_readme_names_every_verb_of_the_makefile(verb: str) -> None:
    assert re.search(rf"(?m)^{verb}:", (ROOT / "Makefile").read_text("utf-8"))
    assert f"make {verb}" in README


def test_ci_runs_the_readmes_commands() -> None:
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("make ")] == ["make test", "make check"]
    assert "set -euo pipefail" in lines


@pytest.mark.parametrize("script", [".ci/run", "build.sh", "serve.sh", "bench/verify.sh"])
def test_scripts_are_executable_and_parse(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    assert subprocess.run(["bash", "-n", script], cwd=ROOT, check=False).returncode == 0


def test_modules_and_files_that_the_readme_names_exist() -> None:
    modules = set(re.findall(r"python -m ([a-z_.]+)", README)) - {"pip", "venv", "pytest"}
    assert modules
    assert [name for name in modules if not module_exists(name)] == []
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_bench_lists_every_benchmark_with_what_it_measures() -> None:
    lines = listing(ROOT / "bench")
    names = {line.split()[0] for line in lines}
    assert {"encoder_throughput", "quality"} <= names
    assert [line for line in lines if len(line.split()) < 4] == []


def test_verify_without_the_verifier_says_where_it_comes_from(tmp_path: Path) -> None:
    command = ["bash", "bench/verify.sh", str(tmp_path / "no.py"), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no.py is missing" in done.stderr


# --- the locks


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_locked_package_has_hashes_and_holds_what_its_source_asks_for(lock: Path) -> None:
    locked = pins(lock)
    assert [name for name, (_, hashes) in locked.items() if hashes == 0] == []
    name = "core" if lock.parent == ROOT else lock.stem
    asked = pins(ROOT / "requirements" / f"{name}.in")
    assert asked
    assert {name: locked[name][0] for name in asked} == {name: version for name, (version, _) in asked.items()}


def test_the_core_asks_for_its_six_packages_alone() -> None:
    assert set(pins(ROOT / "requirements" / "core.in")) == CORE


def test_groups_that_are_installed_together_agree() -> None:
    versions: dict[str, set[str]] = {}
    for lock in LOCKS:
        if lock.stem in TOGETHER:
            for name, (version, _) in pins(lock).items():
                versions.setdefault(name, set()).add(version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def imports(file: Path) -> set[str]:
    """Modules that a file imports as soon as it is imported itself."""
    names: set[str] = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_building_and_serving_import_the_core_alone() -> None:
    waiting, seen, foreign = ["index.build", "index.search", "service.jsonl"], set(), set()
    while waiting:
        name = waiting.pop()
        file = next(
            (p for p in (ROOT / f"{name.replace('.', '/')}{end}" for end in (".py", "/__init__.py")) if p.is_file()),
            None,
        )
        if file is not None and name not in seen:
            seen.add(name)
            waiting += imports(file)
        elif not (ROOT / name.split(".")[0]).is_dir():
            foreign.add(name.split(".")[0])
    assert {"encoder.model", "index.search", "service.session"} <= seen
    assert {name.split(".")[0] for name in seen} == {"encoder", "index", "service"}
    assert foreign - set(sys.stdlib_module_names) <= CORE - {"hypothesis", "pytest"}


# --- the demo


def wheel(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "some-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


FORMULAS = [r"\Gamma(z) = \int_0^\infty t^{z-1} e^{-t} dt", r"\frac{a+b}{2}", r"x^2 + y^2 = z^2", r"\binom{n}{k}"]
MODULE = 'r"""A module.\n\n' + "".join(f".. math:: {latex}\n\n" for latex in FORMULAS) + '"""\n'


def test_unpack_takes_modules_with_formulas_and_nothing_outside_its_folder(tmp_path: Path) -> None:
    files = {
        "some/a.py": MODULE,
        "some/plain.py": "x = 1\n",
        "some/tests/test_a.py": MODULE,
        "some/data.txt": MODULE,
        "../evil.py": MODULE,
        "/evil.py": MODULE,
    }
    target = tmp_path / "source"
    assert gather.unpack(wheel(tmp_path / "wheels", files), target) == [target / "some" / "a.py"]
    assert [path for path in tmp_path.rglob("*.py")] == [target / "some" / "a.py"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "holds no wheel"),
        (b"not a zip", "expected a wheel"),
        ({"some/a.py": MODULE}, "4 formulas found, expected at least 2000"),
    ],
    ids=["no wheel", "no zip", "too few"],
)
def test_a_demo_that_cannot_go_on_says_why_in_one_line(
    content: bytes | dict[str, str] | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    if isinstance(content, bytes):
        (wheels / "some-1.0-py3-none-any.whl").write_bytes(content)
    elif content is not None:
        wheel(wheels, content)
    assert gather.main([str(wheels), str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_a_long_formula_is_shown_on_one_line() -> None:
    assert show.one_line("a\n  + b") == "a + b"
    assert len(show.one_line("x" * 500)) == show.WIDTH


def test_the_demo_gathers_builds_serves_and_says_where_each_answer_stands(tmp_path: Path) -> None:
    wheels, data = tmp_path / "wheels", tmp_path / "data"
    wheel(wheels, {"some/a.py": MODULE})
    assert gather.gather(wheels, data, enough=4) == 4
    build = ["./build.sh", "--data-dir", str(data), "--index-dir", str(data / "index"), "--threads", "1"]
    subprocess.run(build, cwd=ROOT, env={**os.environ, "PYTHON": sys.executable}, check=True)
    lines = list(show.answers(data, data / "index", [r"\Gamma(s)=\int_0^\infty t^{s-1}e^{-t}\,dt", "x^2+y^2=z^2"], 1))
    assert lines[0].startswith("index loaded in")
    assert FORMULAS[0] in lines[2]
    assert lines[2].endswith("some/a.py:3")
    assert FORMULAS[2] in lines[4]
    assert lines[4].endswith("some/a.py:7")
