"""Draw quality against throughput from the rows of ``bench.ablation``, as an SVG.

    python -m bench.picture --results WORK/ablation/results.jsonl --out docs/encoder.svg

A point a variant (its last row): formulas a second of one process across, the mean nDCG' of both years up.
"""

from __future__ import annotations

import argparse
import json
from html import escape
from pathlib import Path

WIDTH, HEIGHT, LEFT, BOTTOM, EDGE = 640, 360, 60, 46, 24


def points(path: Path) -> dict[str, tuple[float, float]]:
    """Name to (formulas a second, mean nDCG' at the largest dimension); the last row of a name counts."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {r["name"]: (r["formulas_per_s"], sum(next(iter(r["ndcg"].values()))) / 2) for r in rows}


def ticks(low: float, high: float, step: float) -> list[float]:
    """Multiples of ``step`` within the range."""
    first = -(-low // step)
    return [round((first + i) * step, 6) for i in range(int((high - first * step) // step) + 1)]


def svg(named: dict[str, tuple[float, float]]) -> str:
    """The picture as text."""
    xs, ys = zip(*named.values(), strict=True)
    x_high, y_low, y_high = max(xs) * 1.35, min(ys) - 0.006, max(ys) + 0.006

    def at(x: float, y: float) -> tuple[float, float]:
        across = LEFT + x / x_high * (WIDTH - LEFT - EDGE)
        return across, HEIGHT - BOTTOM - (y - y_low) / (y_high - y_low) * (HEIGHT - BOTTOM - EDGE)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
             f'font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']  # fmt: skip
    for y in ticks(y_low, y_high, 0.01):
        left, up = at(0, y)
        parts.append(f'<path d="M{left:.1f} {up:.1f}H{WIDTH - EDGE}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6:.1f}" y="{up + 4:.1f}" text-anchor="end">{y:.2f}</text>')
    for x in ticks(0, x_high, 2000):
        across, down = at(x, y_low)
        parts.append(f'<text x="{across:.1f}" y="{down + 18:.1f}" text-anchor="middle">{x:,.0f}</text>')
    for name, (x, y) in named.items():
        across, up = at(x, y)
        parts.append(f'<circle cx="{across:.1f}" cy="{up:.1f}" r="4" fill="#1f5fa8"/>')
        parts.append(f'<text x="{across + 8:.1f}" y="{up + 4:.1f}">{escape(name)}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">formulas a second, one process</text>')
    parts.append(f'<text x="14" y="{HEIGHT / 2}" transform="rotate(-90 14 {HEIGHT / 2})" text-anchor="middle">'
                 "mean nDCG' of 2020 and 2021</text></svg>")  # fmt: skip
    return "\n".join(parts) + "\n"


def main(argv: list[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    a = parser.parse_args(argv)
    a.out.write_text(svg(points(a.results)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
