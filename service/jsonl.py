"""The service as a process: requests on stdin, replies on stdout, everything else on stderr.

    serve.sh --index-dir INDEX --work-dir WORK
    {"op":"load"}
    {"op":"query","query_id":"B.1","latex":"x^2"}

It ends with status 0 at the end of its input, when nobody reads its replies any more, and on SIGTERM or SIGINT; a reply
that is being written then is finished first.
"""

import argparse
import contextlib
import fcntl
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence

from service.lines import read_lines
from service.session import Session

SIGNALS = (signal.SIGTERM, signal.SIGINT)

GRACE_S = 1.0
"""Time a reader has to take the rest of a reply after a signal."""

COLLECT_EVERY = 100
"""Replies between two garbage collections."""


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the end; returns the exit status."""
    writing = threading.Lock()
    end_on_signals(writing)
    parser = argparse.ArgumentParser(prog="serve.sh", description="Formula search over JSON lines.", allow_abbrev=False)
    parser.add_argument("--index-dir", help="folder of the index, for a load message that names none")
    parser.add_argument("--work-dir", help="folder the service may write to (it never needs to)")
    flags, unknown = parser.parse_known_args(argv)
    output = claim_stdout()
    if unknown:
        print(f"serve.sh: ignoring unknown arguments: {' '.join(unknown)!a}", file=sys.stderr)
    serve(0, output, Session(flags.index_dir, flags.work_dir), writing)
    return 0


def end_on_signals(writing: threading.Lock) -> None:
    """End the process with status 0 on SIGTERM or SIGINT, but not within a reply.

    The signals are blocked in every thread and awaited by one of their own. A handler would have to wait for native
    code to return, and an exception raised by it could strike anywhere.

    Args:
        writing: Held by the writer from the first byte of a reply to the last.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)

    def wait() -> None:
        signal.sigwait(SIGNALS)
        writing.acquire(timeout=GRACE_S)
        os._exit(0)

    threading.Thread(target=wait, name="signals", daemon=True).start()


def claim_stdout() -> int:
    """A descriptor of stdout for replies alone; whatever else writes to stdout from now on reaches stderr."""
    output = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)  # not 0 or 2, even where those are closed
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return output


def serve(source: int, output: int, session: Session, writing: threading.Lock) -> None:
    """Reply to each line of a descriptor on another one, until the first ends or nobody reads the second.

    The garbage collector never runs by itself, since it could take its time within a query. Plain objects are freed by
    their reference counts all the same; the few cycles (tracebacks of errors) are collected once in a while when a
    reply is out.
    """
    gc.disable()
    replies = 0
    with contextlib.suppress(ConnectionError):  # a broken pipe among them; the session itself raises nothing
        for line in read_lines(source):
            reply = session.reply(line)
            if reply is None:
                continue
            with writing:
                write_all(output, reply)
            replies += 1
            if replies % COLLECT_EVERY == 0:
                gc.collect()


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, unbuffered.

    Raises:
        ConnectionError: Nobody reads any more.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


if __name__ == "__main__":
    sys.exit(main())
