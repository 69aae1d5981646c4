"""Completion scripts for bash and zsh, made from the grammar: verbs, options, choices, and paths where they belong.

A metavar says what a value is: FOLDER and DIR complete to folders, FILE and PATH to files. Nothing is asked of Python
when a key is pressed.
"""

from __future__ import annotations

import argparse
import shlex

from command.grammar import subparsers

NAME = "formdex"
_FOLDERS, _FILES = frozenset(("FOLDER", "DIR")), frozenset(("FILE", "PATH"))


def _options(known: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in known._actions if action.option_strings]


def _positional(known: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in known._actions if not action.option_strings]


def bash(whole: argparse.ArgumentParser) -> str:
    """The script for bash, to be sourced."""
    verbs = subparsers(whole)
    cases = "\n".join(_bash_verb(name, known) for name, known in verbs.items())
    top = " ".join([*verbs, *(name for action in _options(whole) for name in action.option_strings)])
    return f"""\
# bash completion of {NAME}
_{NAME}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W {shlex.quote(top)} -- "$word")
        return
    fi
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
}}
complete -o filenames -F _{NAME} {NAME} ./{NAME}
"""


def _bash_verb(name: str, known: argparse.ArgumentParser) -> str:
    """The case of a verb: the value of the option before, else an option, else the positional's kind."""
    values = []
    for action in _options(known):
        if action.nargs != 0:
            values.append(f"        {'|'.join(action.option_strings)}) {_bash_value(action)} return ;;")
    words = " ".join(name for action in _options(known) for name in action.option_strings)
    positional = next((_bash_value(action) for action in _positional(known)), ":")
    inner = "\n".join(values)
    return f"""\
    {name})
        case $before in
{inner}
        esac
        if [[ $word == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W {shlex.quote(words)} -- "$word")
        else
            {positional}
        fi
        ;;"""


def _bash_value(action: argparse.Action) -> str:
    """The command that completes a value."""
    if action.choices:
        kind = f"-W {shlex.quote(' '.join(map(str, action.choices)))}"
    elif action.metavar in _FOLDERS:
        kind = "-d"
    elif action.metavar in _FILES:
        kind = "-f"
    else:
        return ":;"
    return f'mapfile -t COMPREPLY < <(compgen {kind} -- "$word");'


def zsh(whole: argparse.ArgumentParser) -> str:
    """The script for zsh, to be put as ``_formdex`` in a folder of fpath."""
    verbs = subparsers(whole)
    summaries = {}
    for action in whole._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
    names = "\n".join(f"        {_zsh_quoted(f'{name}:{_zsh_text(summaries[name])}')}" for name in verbs)
    cases = "\n".join(_zsh_verb(name, known) for name, known in verbs.items())
    return f"""\
#compdef {NAME} ./{NAME}
# zsh completion of {NAME}
_{NAME}() {{
    local -a verbs
    verbs=(
{names}
    )
    if ((CURRENT == 2)); then
        _describe verb verbs
        return
    fi
    local verb=$words[2]
    shift words
    ((CURRENT--))
    case $verb in
{cases}
    esac
}}
if [[ $funcstack[1] == _{NAME} ]]; then _{NAME} "$@"; else compdef _{NAME} {NAME} ./{NAME}; fi
"""


def _zsh_verb(name: str, known: argparse.ArgumentParser) -> str:
    """The ``_arguments`` of a verb."""
    specs = []
    for action in _options(known):
        value = "" if action.nargs == 0 else f":{_zsh_text(str(action.metavar or action.dest))}:{_zsh_value(action)}"
        for option in action.option_strings:
            specs.append(f"{option}[{_zsh_text(action.help or '')}]{value}")
    for number, action in enumerate(_positional(known), 1):
        place = "*" if action.nargs == "+" else str(number)
        specs.append(f"{place}:{_zsh_text(str(action.metavar or action.dest))}:{_zsh_value(action)}")
    lines = " \\\n            ".join(map(_zsh_quoted, specs))
    return f"    {name})\n        _arguments \\\n            {lines}\n        ;;"


def _zsh_value(action: argparse.Action) -> str:
    if action.choices:
        return f"({' '.join(map(str, action.choices))})"
    if action.metavar in _FOLDERS:
        return "_files -/"
    return "_files" if action.metavar in _FILES else " "


def _zsh_text(text: str) -> str:
    """Without the characters that ``_arguments`` reads as its own."""
    return "".join(f"\\{char}" if char in ":[]\\" else char for char in text.replace("%%", "%"))


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
