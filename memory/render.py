"""A report as text for a terminal, as Markdown inside a document, or as an HTML page."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from memory.errors import MemoryBenchmarkError
from memory.plots import file_name, svg
from memory.report import Report, Table

BEGIN, END = "<!-- memory report: begin -->", "<!-- memory report: end -->"
STYLE = """body{font:15px/1.45 sans-serif;margin:2em auto;max-width:76em;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.6em 0 1.6em;font-size:13px}th,td{border:1px solid #ccc;padding:.25em .6em;
text-align:left;vertical-align:top}th{background:#f2f2f2}svg{margin:0 1em 1em 0}.note{color:#555}"""


def text(report: Report) -> str:
    """The tables with aligned columns."""
    parts = []
    for table in report.tables:
        rows = [list(table.head), *map(list, table.rows)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(table.head))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines.insert(1, "  ".join("-" * width for width in widths))
        parts.append("\n".join([f"## {table.title}", *([table.note] if table.note else []), "", *lines]))
    return "\n\n".join(parts) + "\n"


def _cells(row: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _markdown_table(table: Table) -> str:
    lines = [f"### {table.title}", ""]
    if table.note:
        lines += [table.note, ""]
    lines += [_cells(table.head), "|" + " --- |" * len(table.head), *map(_cells, table.rows)]
    return "\n".join(lines)


def markdown(report: Report, pictures: str) -> str:
    """The tables, then the pictures, which stand in the folder of that name beside the document."""
    parts = [_markdown_table(table) for table in report.tables]
    parts += [f"![{curve.title}: accuracy by {curve.axis}]({pictures}/{file_name(curve)})" for curve in report.curves]
    return "\n\n".join(parts)


def fill(document: Path, report: Report, pictures: Path) -> None:
    """Put the report between the two marks of a Markdown document, and its pictures into a folder beside it.

    Raises:
        MemoryBenchmarkError: the document lacks the marks, or something cannot be written.
    """
    try:
        before, begin, rest = document.read_text(encoding="utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        if not begin or not end:
            raise MemoryBenchmarkError(f"{document}: expected the lines {BEGIN} and {END}")
        body = markdown(report, pictures.name)
        pictures.mkdir(parents=True, exist_ok=True)
        for curve in report.curves:
            (pictures / file_name(curve)).write_text(svg(curve), encoding="utf-8")
        document.write_text(f"{before}{BEGIN}\n\n{body}\n\n{END}{after}", encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MemoryBenchmarkError(f"{document}: {error}") from None


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in table.rows)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return f"<h2>{escape(table.title)}</h2>{note}<table><tr>{head}</tr>\n{rows}</table>"


def html(report: Report) -> str:
    """One page with everything in it, pictures included; it loads nothing."""
    tables = "\n".join(map(_html_table, report.tables))
    pictures = "\n".join(map(svg, report.curves))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Memory benchmark</title>'
        f"<style>{STYLE}</style></head><body><h1>Memory benchmark</h1>\n{tables}\n"
        f"{'<h2>Curves</h2>' if pictures else ''}{pictures}</body></html>\n"
    )
