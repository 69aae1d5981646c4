"""The whole of it at full size: generates a collection, builds it under the contract's limits, runs the verifier.

    python -m bench.full_scale --out DIR [--groups 8400000] [--instances 28000000] [--shared ../shared] [--data DATA]

The collection is made by the generator in the shared folder (or is DATA, if given), around arqmath-mini. The build
runs through build.sh on two cores; its whole tree of processes is watched, and killed above 4 GiB of resident memory.
Then the verifier scores both years on the built index. Prints a table and appends it as a line to DIR/full_scale.jsonl,
from which ``--picture FILE`` draws time and quality against the number of groups, the last run of each number
(``requirements/picture.lock``). At full size: 15 minutes to generate (3.5 GB of memory), an hour to build.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from index import store

ROOT = Path(__file__).resolve().parent.parent
MEMORY_GIB = 4.0
CORES = "0,1"
YEARS = (2020, 2021)
STAGE = re.compile(r"^([a-z ]+): (?:([\d,]+) ([a-z-]+), )?([\d.]+) s$")


def generate(shared: Path, out: Path, groups: int, instances: int) -> Path:
    """Make the collection unless it is there."""
    data = out / f"data-{groups}"
    if not (data / "made").exists():
        started = time.time()
        command = [sys.executable, str(shared / "scale" / "expand.py"), "--mini", str(shared / "arqmath-mini"),
                   "--real", str(shared / "formulas"), "--out", str(data), "--groups", str(groups),
                   "--instances", str(instances)]  # fmt: skip
        subprocess.run(command, check=True)
        (data / "made").write_text(f"{time.time() - started:.0f} s\n")
    return data


def resident(root: int) -> int:
    """Bytes of resident memory of a process and all its descendants, shared pages counted once for each."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    total, todo = 0, [root]
    while todo:
        number = todo.pop()
        todo += children.get(number, [])
        try:
            total += int(Path(f"/proc/{number}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
    return total


def build(data: Path, index: Path, log: Path, options: list[str]) -> dict[str, Any]:
    """Run build.sh on two cores under the memory limit.

    Returns:
        Its exit status, seconds, peak memory in MiB, and (name, units, unit, seconds) of its stages.
    """
    started, peak = time.time(), 0
    command = [str(ROOT / "build.sh"), "--data-dir", str(data), "--index-dir", str(index), *options]
    with log.open("w") as file:
        process = subprocess.Popen(
            ["taskset", "-c", CORES, *command],
            stderr=file,
            start_new_session=True,
            env=os.environ | {"PYTHON": sys.executable},
        )

        def watch() -> None:
            nonlocal peak
            while process.poll() is None:
                peak = max(peak, resident(process.pid))
                if peak > MEMORY_GIB * 2**30:
                    os.killpg(process.pid, signal.SIGKILL)
                time.sleep(1)

        watcher = threading.Thread(target=watch)
        watcher.start()
        status = process.wait()
        watcher.join()
    stages = [STAGE.match(line) for line in log.read_text().splitlines()]
    return {
        "status": status,
        "build_s": round(time.time() - started, 1),
        "peak_mib": peak >> 20,
        "stages": [[m[1], int((m[2] or "0").replace(",", "")), m[3] or "", float(m[4])] for m in stages if m],
    }


def verify(shared: Path, data: Path, index: Path, out: Path) -> dict[str, Any]:
    """The verifier's reports by year."""
    reports = {}
    mini = shared / "arqmath-mini"
    for year in YEARS:
        report = out / f"verify-{year}.json"
        command = [sys.executable, str(shared / "verify" / "verify.py"), "--submission", str(ROOT)]
        command += ["--data-dir", str(data), "--index-dir", str(index), "--report", str(report), "--hostile"]
        command += ["--queries", str(mini / f"queries-{year}.jsonl"), "--qrels", str(mini / f"qrels-{year}.tsv")]
        environment = os.environ | {"PYTHON": sys.executable}
        status = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL).returncode
        reports[str(year)] = json.loads(report.read_text()) | {"status": status}
    return reports


def table(row: dict[str, Any]) -> str:
    """One run as a table for people."""
    lines = ["| | |", "|---|---|"]

    def add(name: str, value: object) -> None:
        lines.append(f"| {name} | {value} |")

    add("groups kept", f"{row['groups']:,}")
    add("build", f"{row['build_s']:,.0f} s, peak {row['peak_mib']:,} MiB, exit {row['status']}")
    for name, units, unit, seconds in row["stages"]:
        rate = f", {units:,} {unit}, {units / seconds:,.0f} {unit}/s" if units and seconds else ""
        add(name, f"{seconds:,.0f} s{rate}")
    add("index", f"{row['index_bytes']:,} bytes")
    for name, size in row["sections"].items():
        add(f"- {name}", f"{size:,}")
    for year, report in row["verify"].items():
        flat = flatten(report)
        keys = ("status", "load_s", "p50", "p99", "max", "serve_peak_mib", "serving_mib", "ndcg_prime", "map_prime",
                "judged_recall")  # fmt: skip
        add(year, ", ".join(f"{key} {flat[key]}" for key in keys if key in flat))
    return "\n".join(lines)


def flatten(report: dict[str, Any]) -> dict[str, Any]:
    """A nested report with the innermost names alone."""
    flat: dict[str, Any] = {}
    for key, value in report.items():
        flat.update(flatten(value) if isinstance(value, dict) else {key: value})
    return flat


def picture(rows: list[dict[str, Any]], target: Path) -> None:
    """Build time and nDCG' against groups, two panels."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams |= {"svg.hashsalt": "formdex", "svg.fonttype": "none"}
    rows = sorted({r["groups"]: r for r in rows}.values(), key=lambda r: r["groups"])
    groups = [r["groups"] for r in rows]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    left.plot(groups, [r["build_s"] for r in rows], "o-", color="#33608c")
    left.set(xscale="log", yscale="log", xlabel="groups", ylabel="seconds to build")
    for year, colour in zip(YEARS, ("#33608c", "#b0563a"), strict=True):
        quality = [flatten(r["verify"][str(year)])["ndcg_prime"] for r in rows]
        right.plot(groups, quality, "o-", color=colour, label=str(year))
    right.set(xscale="log", xlabel="groups", ylabel="nDCG'")
    right.legend(frameon=False)
    figure.savefig(target, metadata={"Date": None})


def main(argv: list[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--data", type=Path, help="a data folder instead of a generated one")
    parser.add_argument("--groups", type=int, default=8_400_000)
    parser.add_argument("--instances", type=int, default=28_000_000)
    parser.add_argument("--picture", type=Path, help="draw the runs so far and stop")
    parser.add_argument("--option", action="append", default=[], help="of build.sh: --option=--build-seconds=900")
    a = parser.parse_args(argv)
    out, shared = a.out.resolve(), a.shared.resolve()
    out.mkdir(parents=True, exist_ok=True)
    results = out / "full_scale.jsonl"
    if a.picture:
        try:
            picture([json.loads(line) for line in results.read_text().splitlines()], a.picture)
        except ModuleNotFoundError as error:
            message = f"{error.name} is missing: pip install --require-hashes -r requirements/picture.lock"
            print(f"bench.full_scale: {message}", file=sys.stderr)
            return 1
        return 0
    data = a.data.resolve() if a.data else generate(shared, out, a.groups, a.instances)
    index = out / f"index-{data.name}"
    row = build(data, index, out / f"build-{data.name}.log", a.option)
    if row["status"]:
        print((out / f"build-{data.name}.log").read_text()[-2000:], f"build failed: {row}", file=sys.stderr)
        return 1
    header, sections = store.read(index)
    row |= {"groups": header["groups"], "index_bytes": (index / store.FILE).stat().st_size, "plan": header["plan"]}
    row["sections"] = {name: array.nbytes for name, array in sections.items()}
    del sections
    row["verify"] = verify(shared, data, index, out)
    with results.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(table(row))
    return 0 if all(report["status"] == 0 for report in row["verify"].values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
