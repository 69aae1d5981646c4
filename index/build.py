"""``python -m index.build``: a collection becomes an index, stage by stage.

Reading and grouping keep arrays a row; encoding writes vectors and features to a scratch folder beside the index; then
everything is packed and the file appears at once. A build that is stopped leaves nothing that loads. A collection whose
vectors do not fit takes the stages of ``build_coded`` instead.
"""

from __future__ import annotations

import argparse
import json
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from encoder.model import WEIGHTS
from index import bits, build_coded, embed, ids, nodes, plan_coded, scratch, sketch, store
from index import plan as planning
from index import size as sizes
from index.corpus import Chunk as Rows
from index.corpus import Corpus
from index.errors import BuildError, FormdexError, PlanError
from index.groups import Groups, group, representatives
from index.progress import Stage
from index.sample import Sample

SECONDS = 3300.0  # the contract allows 3,600

Chunk = tuple[np.ndarray, list[str]]
Stream = Callable[[Iterable[Chunk], Path, int], Iterator[tuple[np.ndarray, embed.Embedded]]]


@dataclass
class Options:
    """What a build is asked to do; see ``parser`` for the meaning of each.

    Not on the command line: ``limit``, bytes that submission and index may take together; ``stream``, what encodes,
    in any order (``embed.stream`` is the model; a caller may put something that remembers in front of it).
    """

    data: Path
    index: Path
    scratch: Path | None = None
    threads: int = 2
    model: Path = WEIGHTS
    submission: int | None = None
    plan_only: bool = False
    seconds: float = SECONDS
    limit: int = planning.PREPARED
    stream: Stream = embed.stream


def read(corpus: Corpus) -> tuple[Groups, Sample]:
    """First pass: the groups of a collection, and a sample of their formulas.

    Raises:
        BuildError: nothing in it may be returned.
    """
    sample = Sample()

    def rows() -> Iterator[Rows]:
        for chunk in corpus.chunks():
            sample.add(chunk)
            yield chunk

    with Stage("reading", "rows") as stage:
        groups = group(rows(), lambda count: stage.update(count, corpus.position / max(1, corpus.size)))
        stage.update(corpus.notes.rows)
    print(f"read: {corpus.notes.summary()}", file=sys.stderr)
    print(
        f"grouped: {len(groups):,} groups, {int(groups.comment_only.sum()):,} of them in comments alone; left out: "
        f"{groups.dropped:,} withheld rows, {groups.repeated:,} repeated ids",
        file=sys.stderr,
    )
    if not len(groups):
        raise BuildError(f"{corpus.path}: holds no formula that may be returned; expected at least one")
    return groups, sample


def encode(corpus: Corpus, groups: Groups, options: Options, folder: Path, dim: int) -> tuple[np.ndarray, Path, Path]:
    """Second pass: vectors and features of the representatives, into files.

    Returns:
        float16 (groups, d), mapped from a file; the file of features (uint32); that of the groups they are of (int64).

    Raises:
        BuildError: the collection changed since the first pass.
    """
    vectors = scratch.allocate(folder / "vectors.f16", (len(groups), dim))
    hashes, owners = folder / "features.u32", folder / "owners.i64"
    chunks = representatives(groups, corpus.chunks(), embed.CHUNK)
    done = 0
    with (
        Stage("encoding", "formulas", len(groups)) as stage,
        hashes.open("wb") as hash_file,
        owners.open("wb") as owner_file,
    ):
        for places, result in options.stream(chunks, options.model, options.threads):
            vectors[places] = result.vectors
            hash_file.write(result.features.data)
            owner_file.write(np.repeat(places, result.counts).data)
            done += len(places)
            stage.update(done)
        if done != len(groups):
            raise BuildError(f"{corpus.path}: changed while it was read, {done:,} of {len(groups):,} formulas found")
    return vectors, hashes, owners


def lexical(hashes: Path, owners: Path, groups: int) -> sketch.Postings:
    """Postings from the files that ``encode`` wrote."""
    with Stage("inverting", "n-grams") as stage:
        features = np.fromfile(hashes, np.uint32)
        postings = sketch.invert(features, np.fromfile(owners, np.int64), groups)
        stage.update(len(features))
    return postings


def pack(
    groups: Groups, vectors: np.ndarray, postings: sketch.Postings, budget: int
) -> tuple[planning.Plan, dict[str, np.ndarray], dict[str, Any]]:
    """Make the sections of the index: the plan settled on measured sizes, the graph, the codes."""
    distinct, member = nodes.distinct(vectors)
    measured = {least: sketch.size(postings, least) for least in planning.LEAST_GROUPS}
    plan = planning.decide(len(groups), vectors.shape[1], budget, ids.size(groups.ids), measured, len(distinct))
    width = (len(distinct) - 1).bit_length()
    sections = {"ids": ids.encode(groups.ids), "members": bits.pack(member, width), "vectors": distinct}
    meta: dict[str, Any] = {"groups": len(groups), "nodes": len(distinct), "dim": vectors.shape[1]}
    if plan.least:
        kept = sketch.encode(sketch.thin(postings, plan.least))
        sections.update({f"lexical.{name}": array for name, array in kept.items()})
    if plan.graph:
        with Stage("linking", "nodes") as stage:
            links = nodes.links(nodes.build(distinct))
            stage.update(len(distinct))
        sections.update({"graph.levels": links.levels, "graph.links": links.links})
        meta["entry"] = links.entry
    return plan, sections, meta


def decide(groups: Groups, dim: int, budget: int) -> tuple[planning.Plan, np.ndarray]:
    """The plan for a collection, and the places of the groups that it keeps.

    Raises:
        PlanError: nothing fits.
    """
    guess = planning.lexical_guess(len(groups))
    try:
        return planning.decide(len(groups), dim, budget, ids.size(groups.ids), guess), np.arange(len(groups))
    except PlanError:
        span, last = ids.stretches(groups.ids), int(groups.ids[-1])
        return plan_coded.decide(plan_coded.Kinds(groups.instances, groups.comment_only, span, last), dim, budget)


def build(options: Options) -> None:
    """Build an index.

    Raises:
        FormdexError: the collection, the budget or the place does not allow it; one line.
        OSError: the file system refused, for example because it is full.
    """
    clock = build_coded.Clock(time.monotonic(), options.seconds)
    fingerprint = embed.model_hash(options.model)
    corpus = Corpus(options.data)
    own = sizes.submission() if options.submission is None else options.submission
    budget = options.limit - own
    dim = embed.Embedder(options.model).dim
    head = f"plan: {options.limit:,} bytes less {own:,} of the submission"
    if options.plan_only:
        groups, _ = read(corpus)
        print(head, *decide(groups, dim, budget)[0].lines(), sep="\n", file=sys.stderr)
        return
    options.index.mkdir(parents=True, exist_ok=True)
    key = json.dumps([str(corpus.path), corpus.size, corpus.path.stat().st_mtime_ns, fingerprint, budget, dim])
    with scratch.folder_for(options.index, options.scratch, key) as folder:
        state = scratch.marked(folder)
        if state is None:
            groups, sample = read(corpus)
            plan, keep = decide(groups, dim, budget)
            notes = {"rows": corpus.notes.rows, "bad": corpus.notes.bad}
            notes |= {"withheld": groups.dropped, "repeated": groups.repeated}
            print(head, *plan.lines(), sep="\n", file=sys.stderr)
            if plan.form == "exact":
                vectors, hashes, owners = encode(corpus, groups, options, folder, dim)
                plan, sections, meta = pack(groups, vectors, lexical(hashes, owners, len(groups)), budget)
            else:
                (folder / "first").write_bytes(pickle.dumps((groups.some(keep), sample.formulas, plan)))
                del groups, sample
                state = {"key": key, "notes": notes}
                scratch.mark(folder, state)
        else:
            print("going on with the build that was cut", file=sys.stderr)
        if state is not None:
            notes = state["notes"]
            plan, sections, meta = _coded(corpus, options, folder, clock, state)
        meta |= {"model": fingerprint, "plan": plan.as_json(), "corpus": notes}
        needed = store.size(meta, sections)
        if needed > budget:
            raise BuildError(f"{options.index}: the index takes {needed:,} bytes, {budget:,} are left")
        path = store.write(options.index, meta, sections)
    print(*plan.lines()[1:], sep="\n", file=sys.stderr)
    print(f"wrote {path}: {needed:,} of {budget:,} bytes", file=sys.stderr)


def _coded(
    corpus: Corpus, options: Options, folder: Path, clock: build_coded.Clock, state: dict[str, Any]
) -> tuple[planning.Plan, dict[str, np.ndarray], dict[str, Any]]:
    """The stages of the coded form after the first pass, from the files of the scratch folder."""
    if "learnt" not in state:
        groups, formulas, plan = pickle.loads((folder / "first").read_bytes())
        coder, rate = build_coded.learn(plan, formulas, options.model, options.threads)
        (folder / "coder").write_bytes(pickle.dumps(coder))
        fitting = int(max(1.0, clock.left * rate / build_coded.CODING)) if rate < float("inf") else len(groups)
        if fitting < len(groups):
            reason = f"{len(groups) - fitting:,} groups are left out: {rate:,.0f} formulas/s, {clock.left:,.0f} s left"
            print(f"plan: {reason}", file=sys.stderr)
            plan.reasons.append(reason)
            groups = groups.some(build_coded.likeliest(groups, fitting))
        # Not over "first": a build cut before the mark reads that again.
        (folder / "chosen").write_bytes(pickle.dumps((groups, plan)))
        state = state | {"learnt": True}
        scratch.mark(folder, state)
    groups, plan = pickle.loads((folder / "chosen").read_bytes())
    coder = pickle.loads((folder / "coder").read_bytes())
    table, coded, sums = build_coded.code(corpus, groups, coder, folder, options.model, options.threads, clock, state)
    with Stage("packing", "groups") as stage:
        numbers = groups.ids[coded] if not coded.all() else groups.ids
        sections = build_coded.pack(coder, numbers, table[coded] if not coded.all() else table, sums)
        stage.update(len(numbers))
    plan.groups = len(numbers)
    return plan, sections, {"groups": len(numbers), "nodes": len(coder.nodes), "dim": coder.nodes.shape[1]}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parse = argparse.ArgumentParser(
        prog="build.sh",
        description="Build an index from a folder that holds formulas.tsv.",
        epilog="example: ./build.sh --data-dir DATA --index-dir INDEX",
    )
    parse.add_argument("--data-dir", type=Path, required=True, help="folder with formulas.tsv")
    parse.add_argument("--index-dir", type=Path, required=True, help="folder for formdex.index; made if missing")
    parse.add_argument("--scratch", type=Path, help="folder for temporary files (default: beside the index)")
    parse.add_argument("--threads", type=int, default=2, help="processes that encode (default: 2)")
    parse.add_argument("--model", type=Path, default=WEIGHTS, help="folder with model.onnx and tokenizer.json")
    parse.add_argument("--submission-bytes", type=int, help="size of code and weights (default: measured)")
    parse.add_argument(
        "--build-seconds", type=float, default=SECONDS, metavar="S",
        help="time for the build of a large collection; when short, the likeliest groups alone (default: 3300)",
    )  # fmt: skip
    parse.add_argument("--plan-only", action="store_true", help="read, print the plan, build nothing")
    return parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 if the index is there, 2 with one line on stderr if not."""
    given = parser().parse_args(arguments)
    options = Options(
        given.data_dir.absolute(),
        given.index_dir.absolute(),
        given.scratch and given.scratch.absolute(),
        max(1, given.threads),
        given.model.absolute(),
        given.submission_bytes,
        given.plan_only,
        given.build_seconds,
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the scratch folder goes
    try:
        build(options)
    except (FormdexError, FileNotFoundError) as error:
        print(f"build.sh: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"build.sh: {error.filename or options.index}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("build.sh: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
