"""``reference``: the documentation page of the command line."""

from __future__ import annotations

import argparse

from command.errors import DONE, PARTIAL
from command.grammar import Verb


def configure(to: argparse.ArgumentParser) -> None:
    """The arguments."""
    to.add_argument("--check", action="store_true", help="print nothing; status 1 if docs/command.md is stale")


def run(arguments: argparse.Namespace) -> int:
    """Print the page, or say whether the committed one is up to date."""
    from command.reference import PAGE, markdown

    text = markdown()
    if arguments.check:
        return DONE if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text else PARTIAL
    print(text, end="")
    return DONE


VERB = Verb(
    "reference",
    "print this reference, made from the code",
    "Print the reference of all verbs in Markdown. docs/command.md is its output; a test fails when they differ.",
    [("reference > docs/command.md", "bring the page up to date")],
    configure,
    run,
)
