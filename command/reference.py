"""The reference of the command line in Markdown, made from the grammar. ``python -m command.reference`` prints it."""

from __future__ import annotations

import argparse
from pathlib import Path

from command.grammar import PROGRAM, START, STATUSES, SUMMARY, Verb, parser, subparsers
from command.verbs import VERBS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "command.md"


def markdown() -> str:
    """The page. Laid out here and not by argparse, whose layout changes between versions of Python."""
    parsers = subparsers(parser(VERBS))
    parts = [
        "# Command line",
        f"<!-- Made by `{PROGRAM} reference > docs/command.md`; do not edit. -->",
        f"{SUMMARY} Results go to stdout, as JSON lines unless it is a terminal; progress and errors go to stderr.",
        f"```\n{START}\n```",
        f"{STATUSES[0].upper()}{STATUSES[1:]}.",
        "| verb | |\n|---|---|\n" + "\n".join(f"| [{verb.name}](#{verb.name}) | {verb.summary} |" for verb in VERBS),
    ]
    for verb in VERBS:
        parts += _verb(verb, parsers[verb.name])
    return "\n\n".join(parts) + "\n"


def _verb(verb: Verb, known: argparse.ArgumentParser) -> list[str]:
    """The section of a verb."""
    actions = [action for action in known._actions if not isinstance(action, argparse._HelpAction)]
    rows = [f"| `{spelled(action)}` | {_cell(action.help or '')} |" for action in actions]
    examples = "\n\n".join(f"# {what}\n{PROGRAM} {line}" for line, what in verb.examples)
    return [
        f"## {verb.name}",
        verb.description,
        f"```\n{synopsis(verb.name, actions)}\n```",
        "| argument | |\n|---|---|\n" + "\n".join(rows),
        f"```sh\n{examples}\n```",
    ]


def spelled(action: argparse.Action) -> str:
    """An argument as it is typed: ``-n, --number N``."""
    return " ".join(filter(None, (", ".join(action.option_strings), _value(action))))


def synopsis(name: str, actions: list[argparse.Action]) -> str:
    """The line that shows how a verb is typed, positional arguments first."""
    words = [PROGRAM, name]
    for action in sorted(actions, key=lambda action: bool(action.option_strings)):
        word = " ".join(filter(None, (action.option_strings[-1] if action.option_strings else "", _value(action))))
        needed = action.required if action.option_strings else action.nargs != "?"
        words.append((word if needed else f"[{word}]") + (" ..." if action.nargs == "+" else ""))
    return " ".join(words)


def _value(action: argparse.Action) -> str:
    """What follows an option, or stands for a positional argument; nothing for a flag."""
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, str):
        return action.metavar
    return "|".join(map(str, action.choices)) if action.choices else action.dest.upper()


def _cell(text: str) -> str:
    return text.replace("%%", "%").replace("|", "\\|")


if __name__ == "__main__":
    print(markdown(), end="")
