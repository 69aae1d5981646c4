"""What a verb is, and the parser made of all verbs. Help, completion and reference all read this one tree."""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from command.errors import FAILED

PROGRAM = "./formdex"
FOLDER = Path(".formdex")  # where collect writes and everything else looks, unless told otherwise
SUMMARY = "Search the formulas in your own documents."
STATUSES = "exit status: 0 done; 1 nothing found, or done in part; 2 not done, one line on stderr says why"
START = """\
from documents to a search:
  ./formdex collect ~/papers
  ./formdex build
  ./formdex search .formdex 'x^2+y^2'"""
WIDTH = 100  # columns of help, whatever the terminal, so that worked examples keep their lines


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb of the command line.

    Attributes:
        name: what is typed.
        summary: one line for the list of verbs.
        description: what it does, in a few sentences.
        examples: (command line after the program's name, what it is for), worked ones.
        configure: adds the verb's arguments to its parser. A metavar FOLDER or DIR is completed with folders, FILE or
            PATH with files.
        run: does it; returns the exit status.
    """

    name: str
    summary: str
    description: str
    examples: Sequence[tuple[str, str]]
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]

    def epilog(self) -> str:
        """The examples and the exit statuses, as help shows them."""
        lines = ["examples:"]
        for line, what in self.examples:
            lines += [f"  {PROGRAM} {line}", f"      {what}"]
        return "\n".join([*lines, "", STATUSES])


class Parser(argparse.ArgumentParser):
    """Reports a wrong argument in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Print the message and leave with status 2."""
        self.exit(FAILED, f"{self.prog}: {' '.join(message.split())} (see {self.prog} --help)\n")


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=WIDTH)


def parser(verbs: Sequence[Verb]) -> Parser:
    """The grammar of the whole command line."""
    result = Parser(
        prog=PROGRAM, description=SUMMARY, epilog=f"{START}\n\n{STATUSES}", formatter_class=_Help, allow_abbrev=False
    )
    choices = result.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=Parser)
    for verb in verbs:
        sub = choices.add_parser(
            verb.name,
            help=verb.summary,
            description=textwrap.fill(verb.description, WIDTH),
            epilog=verb.epilog(),
            formatter_class=_Help,
            allow_abbrev=False,
        )
        verb.configure(sub)
        sub.set_defaults(run=verb.run)
    return result


def subparsers(whole: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parser of each verb, by name."""
    for action in whole._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise LookupError(f"{whole.prog}: has no verbs")


def whole(least: int) -> Callable[[str], int]:
    """A type for argparse: a whole number, at least ``least``."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least}, got {text!r}")
        return value

    return parse


def finite(text: str) -> float:
    """A type for argparse: a finite number.

    Raises:
        argparse.ArgumentTypeError: it is not one.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a finite number, got {text!r}")
    return value


def add_folder(to: argparse.ArgumentParser, what: str, *, optional: bool = True) -> None:
    """The positional FOLDER; ``.formdex`` of the current folder where it may be left out."""
    if optional:
        to.add_argument(
            "folder", nargs="?", type=Path, default=FOLDER, metavar="FOLDER", help=f"{what} (default: {FOLDER})"
        )
    else:
        to.add_argument("folder", type=Path, metavar="FOLDER", help=what)


def add_model(to: argparse.ArgumentParser) -> None:
    """``--model``: which encoder."""
    to.add_argument(
        "--model", type=Path, metavar="DIR", help="folder with model.onnx and tokenizer.json (default: weights)"
    )


def add_output(to: argparse.ArgumentParser) -> None:
    """``--json`` and ``--table``: how results are printed."""
    form = to.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        dest="form",
        action="store_const",
        const="json",
        help="print JSON lines (default unless on a terminal)",
    )
    form.add_argument(
        "--table", dest="form", action="store_const", const="table", help="print for people (default on a terminal)"
    )
