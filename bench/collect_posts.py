"""How fast a Stack Exchange dump streams through collect, and in how much memory.

    python bench/collect_posts.py                  # a million posts
    python bench/collect_posts.py --posts 50000

Writes a synthetic ``Posts.xml`` (seeded; posts of the length and with the number of formulas usual on Mathematics Stack
Exchange) into a temporary folder, collects it in a child process, and prints one JSON line: posts, formulas, MiB of
the dump, seconds, posts a second, and the child's peak resident memory in MiB. Exits with 1 if that exceeds the bound.
"""

from __future__ import annotations

import argparse
import html
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
BOUND_MIB = 500
WORDS = "let be a the function such that we have for every continuous show converges sum integral then hence".split()
SHAPES = (
    r"x_{{{a}}}", r"\frac{{{a}}}{{{b}}}", r"\sum_{{n={a}}}^{{\infty}} \frac{{1}}{{n^{b}}}", r"f(x) = x^{a} + {b}",
    r"\int_0^{{{a}}} e^{{-{b} t}}\,dt", r"\lim_{{n \to \infty}} a_n", r"\mathbb{{R}}^{a}", "n < {a}",
)  # fmt: skip


def body(rng: random.Random) -> str:
    """A post's HTML: 20 to 120 words, 0 to 14 formulas, now and then a block of code."""
    parts = []
    for _ in range(rng.randint(1, 4)):
        words = [rng.choice(WORDS) for _ in range(rng.randint(20, 30))]
        for _ in range(rng.randint(0, 4)):
            shape = rng.choice(SHAPES).format(a=rng.randint(1, 99), b=rng.randint(1, 99))
            mark = "$$" if rng.random() < 0.15 else "$"
            formula = mark + html.escape(shape, quote=False) + mark
            if rng.random() < 0.5:
                formula = f'<span class="math-container">{formula}</span>'
            words.insert(rng.randint(0, len(words)), formula)
        parts.append(f"<p>{' '.join(words)}</p>")
    if rng.random() < 0.1:
        parts.append("<pre><code>for i in $(seq 9); do echo $i; done</code></pre>")
    return "\n\n".join(parts)


def write_dump(place: Path, posts: int, seed: int) -> None:
    """Write a dump of as many posts, a third of them questions."""
    rng = random.Random(seed)
    question = 1
    with place.open("w", encoding="utf-8") as stream:
        stream.write('<?xml version="1.0" encoding="utf-8"?>\n<posts>\n')
        for number in range(1, posts + 1):
            if number % 3 == 1:
                question = number
                kind = 'PostTypeId="1" Title="On $x^{' + str(number) + '}$"'
            else:
                kind = f'PostTypeId="2" ParentId="{question}"'
            text = html.escape(body(rng)).replace("\n", "&#xA;")
            stream.write(f'  <row Id="{number}" {kind} Score="1" Body="{text}" />\n')
        stream.write("</posts>\n")


def main() -> int:
    """Run the benchmark; returns the exit status."""
    parser = argparse.ArgumentParser(description="Stream a synthetic Posts.xml through collect.")
    parser.add_argument("--posts", type=int, default=1_000_000, help="number of posts (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder, "Posts.xml")
        write_dump(dump, arguments.posts, arguments.seed)
        started = time.perf_counter()
        command = [sys.executable, "-m", "collect", str(dump), "--out", str(Path(folder, "out"))]
        child = subprocess.run(command, cwd=TOP, check=True, stdout=subprocess.PIPE, text=True)
        seconds = time.perf_counter() - started
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        peak = usage.ru_maxrss / 1024  # Linux counts KiB
        result = {
            "posts": arguments.posts,
            "formulas": json.loads(child.stdout)["formulas"],
            "dump_mib": round(dump.stat().st_size / 2**20, 1),
            "seconds": round(seconds, 1),
            "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
            "posts_per_second": round(arguments.posts / seconds),
            "peak_mib": round(peak, 1),
            "bound_mib": BOUND_MIB,
        }
    print(json.dumps(result))
    return 0 if peak <= BOUND_MIB else 1


if __name__ == "__main__":
    sys.exit(main())
