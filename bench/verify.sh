#!/usr/bin/env bash
# verify.sh VERIFIER DATA [options of the verifier]: the consumer's black-box check, once per year and dialect.
# Builds once, then checks that index under every dialect with hostile lines in between. Logs lie in a temporary folder.
set -euo pipefail
verifier=$1 data=$2
shift 2
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
for needed in "$verifier" "$data/formulas.tsv"; do
    if [[ ! -f $needed ]]; then
        echo "verify: $needed is missing; the verifier and arqmath-mini come with the project's shared folder," \
            "expected beside the checkout (or: make verify VERIFIER=... DATA=...)" >&2
        exit 2
    fi
done
logs=$(mktemp -d)
failed=0
for year in 2020 2021; do
    for dialect in op type cmd method action bare flags; do
        options=(--submission "$here" --data-dir "$data" --queries "$data/queries-$year.jsonl"
            --qrels "$data/qrels-$year.tsv" --dialect "$dialect" --hostile --report "$logs/$year-$dialect.json")
        if [[ -f $logs/index/formdex.index ]]; then
            options+=(--index-dir "$logs/index")
        else
            echo "verify: building" >&2
            options+=(--keep-index "$logs/index")
        fi
        if "${PYTHON:-python3}" "$verifier" "${options[@]}" "$@" >"$logs/$year-$dialect.out" 2>&1; then
            verdict=PASS
        else
            verdict=FAIL
            failed=$((failed + 1))
        fi
        figures=$(grep -oE '"(build_s|build_peak_mib|submission_mib|index_mib|p50|p99|max|serve_peak_mib|ndcg_prime|map_prime|p10_prime|judged_recall)": [0-9.]+' \
            "$logs/$year-$dialect.out" | tr -d '"\n' | sed -E 's/([0-9])([a-z])/\1, \2/g') || true
        echo "$verdict $year $dialect  $figures"
        [[ $verdict == PASS ]] || tail -n 25 "$logs/$year-$dialect.out" >&2
    done
done
if ((failed)); then
    echo "verify: $failed of 14 checks failed; logs in $logs" >&2
    exit 1
fi
rm -rf -- "$logs"
echo "verify: 14 checks passed"
