"""How much one shared run of the context saves: scoring cases with the cache against each option from scratch.

    python bench/memory_cache.py --model gguf:gemma.gguf --cases cases/strings_MemoryCom_k2_M70_que_ans.json --limit 5

Prints a JSON line: seconds for both ways, the speed-up, tokens read a second, and the largest difference between the
two ways' summed log-probabilities. Exit status 1 where that is over 1e-4.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memory import files
from memory.errors import MemoryBenchmarkError
from memory.scorers.registry import FORMS, open_scorer

TOLERANCE = 1e-4


def main() -> int:
    """Measure and print; 0 where both ways agree, 1 where they do not, 2 after an error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help=FORMS)
    parser.add_argument("--cases", type=Path, required=True, help="a file of cases")
    parser.add_argument("--limit", type=int, default=5, help="cases (default 5)")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    try:
        _, cases = files.read(args.cases)
        scorer = open_scorer(args.model, args.threads)
        scorer.prepare(cases)
        seconds = {True: 0.0, False: 0.0}
        tokens, largest = 0, 0.0
        scorer.score(cases[0].query, ["x"])  # the first run allocates
        for number, case in enumerate(cases[: args.limit]):
            scorer.select(number)
            sums = {}
            for cached in (True, False):
                start = time.perf_counter()
                scored = scorer.score(case.prompt(), [option.text for option in case.options], cached)
                seconds[cached] += time.perf_counter() - start
                sums[cached] = [option.sum for option in scored.options]
                if cached:
                    tokens += scored.context_tokens + sum(option.tokens for option in scored.options)
            largest = max(largest, *(abs(a - b) for a, b in zip(sums[True], sums[False], strict=True)))
    except MemoryBenchmarkError as error:
        print(f"memory: {error}", file=sys.stderr)
        return 2
    result = {
        "model": scorer.name,
        "file": args.cases.name,
        "cases": len(cases[: args.limit]),
        "cached_s": round(seconds[True], 2),
        "scratch_s": round(seconds[False], 2),
        "speed_up": round(seconds[False] / seconds[True], 2),
        "tokens_per_s": round(tokens / seconds[True]),
        "largest_difference": largest,
    }
    print(json.dumps(result))
    return 0 if largest <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
