"""Fixtures of this folder: a few documents, a built folder, and the command line in this process or its own."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from command.__main__ import main

ENTRY = Path(__file__).resolve().parents[2] / "formdex"
CIRCLE = "A circle is\n$x^2 + y^2 = r^2$ and a line\n\\[ y = m x + b. \\]\n"
WAVES = "Waves obey \\( \\frac{\\partial^2 u}{\\partial t^2} = c^2 \\Delta u \\), circles\n\n$x^{2}+y^{2}=r^{2}$.\n"
SUMS = "Euler found $\\sum_{n=1}^\\infty \\frac1{n^2} = \\frac{\\pi^2}{6}$.\n"


@dataclass
class Outcome:
    """What a run of the command line left."""

    status: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> str:
        """The last line of stderr, which is the only one there is after an error."""
        assert "Traceback" not in self.err
        return self.err.splitlines()[-1]


Run = Callable[..., Outcome]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in this process."""

    def call(*words: str | Path, stdin: str = "") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capfd.readouterr()
        try:
            status = main([str(word) for word in words])
        except SystemExit as leaving:
            status = int(leaving.code or 0)
        return Outcome(status, *capfd.readouterr())

    return call


def start(words: Sequence[str | Path], **more: Any) -> subprocess.Popen[str]:
    """The command line as its own process, by this interpreter."""
    environment = {**os.environ, "PYTHON": sys.executable}
    return subprocess.Popen(
        [ENTRY, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment, **more,
    )  # fmt: skip


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A folder of two documents."""
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "circle.tex").write_text(CIRCLE)
    (folder / "waves.tex").write_text(WAVES)
    return folder


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three documents, collected and built, in a folder that also holds them. Not to be changed."""
    folder = tmp_path_factory.mktemp("shared")
    for name, text in (("circle", CIRCLE), ("waves", WAVES), ("sums", SUMS)):
        (folder / f"{name}.tex").write_text(text)
    assert main(["collect", str(folder), "--out", str(folder / ".formdex"), "--json"]) == 0
    assert main(["build", str(folder / ".formdex"), "--threads", "1", "--json"]) == 0
    return folder


@pytest.fixture
def built(shared: Path, tmp_path: Path) -> Path:
    """A copy of the built folder, to be changed."""
    return shutil.copytree(shared / ".formdex", tmp_path / "built")
