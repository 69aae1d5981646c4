"""Line charts of accuracies as SVG, drawn directly so that the report needs no plotting library."""

from collections.abc import Sequence
from html import escape

from memory.report import Curve

WIDTH, HEIGHT = 420, 260
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 30, 58
COLOURS = ("#1f6fb4", "#d1622b", "#2f8f4e", "#8a4fa3", "#7a7a7a")  # distinct in grey as well, by the markers below
MARKERS = ("circle", "square", "diamond")


def _marker(kind: str, x: float, y: float, colour: str) -> str:
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if kind == "diamond" else ""
    return f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" fill="{colour}"{turn}/>'


def _frame(curve: Curve, places: dict[int, float]) -> list[str]:
    """Title, grid, axes with their numbers, and the line of chance."""
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    out = [f'<text x="{LEFT}" y="18" font-size="13" font-weight="bold">{escape(curve.title)}</text>']
    for tick in range(0, 101, 25):
        y = _height(tick / 100)
        out.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick}</text>')
    for value, x in places.items():
        out.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{value}</text>')
    out.append(f'<text x="{(LEFT + right) / 2}" y="{bottom + 30}" text-anchor="middle">{escape(curve.axis)}</text>')
    middle = (TOP + bottom) / 2
    out.append(f'<text transform="rotate(-90 12 {middle})" x="12" y="{middle}" text-anchor="middle">accuracy %</text>')
    y = _height(curve.chance)
    out.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#555" stroke-dasharray="5 4"/>')
    out.append(f'<text x="{right}" y="{y - 4:.1f}" text-anchor="end" fill="#555">chance</text>')
    return out


def _height(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)


def _line(
    points: Sequence[tuple[int, float, float, float]], places: dict[int, float], i: int, shift: float
) -> list[str]:
    """One model: its points with intervals, joined."""
    colour, kind = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
    at = [(places[x] + shift, _height(y), _height(low), _height(high)) for x, y, low, high in points]
    out = [f'<polyline fill="none" stroke="{colour}" stroke-width="1.6" points="'
           + " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in at) + '"/>']  # fmt: skip
    for x, y, low, high in at:
        out.append(f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{colour}"/>')
        out.append(_marker(kind, x, y, colour))
    return out


def svg(curve: Curve) -> str:
    """The chart as an SVG document; bars are 95 % bootstrap intervals.

    Values on the axis stand at equal distances, whatever they are, since only a few are measured.
    """
    values = sorted({point[0] for points in curve.lines.values() for point in points})
    step = (WIDTH - LEFT - RIGHT) / len(values)
    places = {value: LEFT + step * (i + 0.5) for i, value in enumerate(values)}
    out = _frame(curve, places)
    x = float(LEFT)
    for i, (model, points) in enumerate(curve.lines.items()):
        out += _line(points, places, i, 6 * (i - (len(curve.lines) - 1) / 2))
        y = HEIGHT - 12
        out.append(_marker(MARKERS[i % len(MARKERS)], x + 4, y - 4, COLOURS[i % len(COLOURS)]))
        out.append(f'<text x="{x + 12:.1f}" y="{y}">{escape(model)}</text>')
        x += 24 + 6.2 * len(model)
    body = "\n".join(out)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="sans-serif" font-size="11" role="img" '
        f'aria-label="{escape(curve.title)}: accuracy by {curve.axis}">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def file_name(curve: Curve) -> str:
    """A file name for the chart, such as `MemoryCom-M-10-by-K.svg`."""
    words = "".join(character if character.isalnum() else " " for character in curve.title).split()
    return "-".join([*words, "by", curve.axis]) + ".svg"
