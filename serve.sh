#!/usr/bin/env bash
# Starts the JSON-lines search service: serve.sh [--index-dir INDEX] [--work-dir WORK]
# The current folder stays the caller's, so relative paths mean what the caller means.
set -eu
here="$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")"
export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONSAFEPATH=1          # keep the caller's folder out of the module path
export PYTHONDONTWRITEBYTECODE=1 # write nothing
export OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 MKL_NUM_THREADS=2 RAYON_NUM_THREADS=2 TOKENIZERS_PARALLELISM=false
exec "${PYTHON:-python3}" -m service.jsonl "$@"
