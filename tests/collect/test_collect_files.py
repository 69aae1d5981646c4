"""Which files are read and how: ignore files, links, encodings, sniffing, documents of several files."""

import os
from pathlib import Path

import pytest

from collect.decode import decode
from collect.errors import CollectError, Unreadable
from collect.formats import format_of
from collect.project import Project
from collect.texmacros import Macros
from collect.walk import walk


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")


def listed(*paths: Path, without: Path | None = None) -> list[str]:
    return [entry.path for entry in walk(paths, without).files]


def test_ignore_files(tmp_path: Path) -> None:
    names = "a.md b.log keep.log sub/c.md sub/d.tmp sub/deep/e.tmp build/f.md .hidden/g.md __pycache__/h.py".split()
    write(tmp_path, dict.fromkeys(names, ""))
    write(tmp_path, {".gitignore": "*.log\n!keep.log\n/build/\n", "sub/.gitignore": "*.tmp\n!deep/e.tmp\n"})
    assert listed(tmp_path) == ["a.md", "keep.log", "sub/c.md", "sub/deep/e.tmp"]
    assert listed(tmp_path / "build" / "f.md") == ["f.md"]  # named files are always taken


def test_rules_of_the_repository_above_hold(tmp_path: Path) -> None:
    write(
        tmp_path,
        {".git/info/exclude": "x.md\n", ".gitignore": "*.tmp\n", "sub/a.md": "", "sub/b.tmp": "", "sub/x.md": ""},
    )
    assert listed(tmp_path / "sub") == ["a.md"]


def test_links_are_not_followed_and_nothing_comes_twice(tmp_path: Path) -> None:
    write(tmp_path, {"a/b.md": "", "out/c.md": ""})
    os.symlink(tmp_path, tmp_path / "a" / "loop")
    os.symlink("/etc/passwd", tmp_path / "a" / "passwd.md")
    listing = walk([tmp_path, tmp_path / "a", tmp_path / "a" / "b.md"], without=tmp_path / "out")
    assert len(listing.files) == 1
    assert {Path(place).name for place, _ in listing.passed_over} == {"loop", "passwd.md"}


def test_missing_paths_are_named(tmp_path: Path) -> None:
    with pytest.raises(CollectError, match="nowhere: no such file or folder"):
        walk([tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"caf\xc3\xa9\r\nx\ry", "café\nx\ny", "utf-8"),
        (b"\xef\xbb\xbfa", "a", "utf-8-sig"),
        ("é".encode("utf-16"), "é", "utf-16"),
        (b"\\usepackage[latin1]{inputenc} caf\xe9", "\\usepackage[latin1]{inputenc} café", "iso8859-1"),
        (b"<meta charset=windows-1252> \x80", "<meta charset=windows-1252> €", "cp1252"),
        (b"# -*- coding: koi8-r -*-\n\xc1", "# -*- coding: koi8-r -*-\nа", "koi8-r"),
    ],
)
def test_encodings(data: bytes, text: str, encoding: str) -> None:
    assert decode(data) == (text, encoding)


def test_undeclared_encodings_are_guessed() -> None:
    text = "Die Größe der Menge ist für alle natürlichen Zahlen größer als fünf, wie man leicht überprüft. " * 5
    assert decode(text.encode("cp1252"))[0] == text


@pytest.mark.parametrize("data", [b"a\0b", b"\x89PNG\r\n\x1a\n\0", bytes(range(1, 32)) * 10 + b"\xff"])
def test_binary_files(data: bytes) -> None:
    with pytest.raises(Unreadable, match="binary"):
        decode(data)


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("a.TEX", b"", "latex"),
        ("README", b"\\documentclass{article}", "latex"),
        ("a.rst.txt", b"", "rst"),
        ("a.txt", b"just text", None),
        ("a.qmd", b"", "markdown"),
        ("Posts.xml", b'\xef\xbb\xbf<?xml version="1.0"?>\n<posts>', "posts"),
        ("pom.xml", b"<project>", None),
        ("page", b"<!DOCTYPE html><html>", "html"),
        ("script", b"#!/usr/bin/env python3\n", "python"),
        ("a.json", b'{"cells": []}', None),
        ("nb", b'{\n "cells": []}', "notebook"),
        ("a.bin", b"<html>\0", None),
    ],
)
def test_formats(name: str, head: bytes, expected: str | None) -> None:
    format_ = format_of(name, head)
    assert (format_ and format_.name) == expected


def project(root: Path) -> Project:
    def read(place: Path) -> str:
        return place.read_text("utf-8")

    made = Project(read, lambda place: place.is_relative_to(root))
    made.add(sorted(root.rglob("*.tex")))
    return made


def test_macros_reach_the_files_of_a_document(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.tex": r"\usepackage{own}\input{parts/defs}\def\a{1}\include{parts/one}\def\b{2} \input parts/two",
            "own.sty": r"\def\s{0}",
            "parts/defs.tex": r"\def\d{3}",
            "parts/one.tex": r"$\a$ \def\c{4}",
            "parts/two.tex": r"$\c$ \input{../main}",
            "alone.tex": r"% \input{main}",
        },
    )
    entry = project(tmp_path).entry

    def expand(name: str) -> str:
        return Macros(entry[tmp_path / name]).expand(r"\s\d\a\b\c")

    assert expand("parts/one.tex") == r"031\b\c"
    assert expand("parts/two.tex") == "03124"
    assert expand("main.tex") == r"03\a\b4"
    assert tmp_path / "alone.tex" not in entry


def test_documents_that_ask_for_themselves_or_for_what_is_outside(tmp_path: Path) -> None:
    write(tmp_path, {"secret.tex": r"\def\s{1}", "in/a.tex": r"\input{b}\input{../secret}\input{/etc/hostname}"})
    write(tmp_path, {"in/b.tex": r"\input{a}\input{b}\def\x{1}", "in/c.tex": r"\input{c}"})
    made = project(tmp_path / "in")
    assert set(made.included) == {tmp_path / "in" / name for name in ("a.tex", "b.tex", "c.tex")}
    assert all(r"\s" not in known for known in made.entry.values())
