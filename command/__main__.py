"""``python -m command``, what ``./formdex`` starts: one verb, errors in one line, an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from command.errors import DONE, FAILED, CommandError
from command.grammar import PROGRAM, parser
from command.verbs import VERBS

_INTERRUPTED = 130
_ERRORS = (
    "collect.errors:CollectError",
    "index.errors:FormdexError",
    "evaluation.errors:EvaluationError",
    "weights.pins:PinError",
)
_CORE = frozenset(("numpy", "onnxruntime", "tokenizers", "hnswlib"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb.

    Args:
        argv: arguments; the process's own by default.

    Returns:
        The exit status (``command.errors``); 130 after an interrupt.

    Raises:
        Exception: a mistake of ours, to be seen with its traceback.
    """
    arguments = parser(VERBS).parse_args(argv)
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has left (`| head`): not an error, but Python must not flush again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        print(f"{PROGRAM} {arguments.verb}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except Exception as error:
        message = _known(error)
        if message is None:
            raise
    print(f"{PROGRAM} {arguments.verb}: {' '.join(message.split())}", file=sys.stderr)
    return FAILED


def _known(error: Exception) -> str | None:
    """The message of an error that a person can do something about; None for a mistake of ours."""
    if isinstance(error, CommandError) or any(_is_a(error, name) for name in _ERRORS):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and error.name in _CORE:
        return f"the package {error.name} is missing; run: python3 -m pip install --require-hashes -r requirements.lock"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, FileNotFoundError):  # raised by us, with a message
        return str(error)
    return None


def _is_a(error: Exception, name: str) -> bool:
    """Is it of a package's class, without importing the package?"""
    module, kind = name.split(":")
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(error, getattr(loaded, kind))


if __name__ == "__main__":
    sys.exit(main())
