"""``completion``: the script that teaches a shell the verbs and options."""

from __future__ import annotations

import argparse

from command.errors import DONE
from command.grammar import Verb

SHELLS = ("bash", "zsh")


def configure(to: argparse.ArgumentParser) -> None:
    """The arguments."""
    to.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash or zsh")


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    from command import completion
    from command.grammar import parser
    from command.verbs import VERBS

    print(getattr(completion, arguments.shell)(parser(VERBS)), end="")
    return DONE


VERB = Verb(
    "completion",
    "print the completion script of a shell",
    "Print a script that completes verbs, options, their choices and paths; it is made from the grammar.",
    [
        ("completion bash >> ~/.bashrc", "for bash"),
        ("completion zsh > ~/.zfunc/_formdex", "for zsh, with ~/.zfunc in fpath"),
    ],
    configure,
    run,
)
