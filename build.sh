#!/usr/bin/env bash
# build.sh --data-dir DATA --index-dir INDEX [more; see --help]: builds the index of a collection. Paths are the caller's.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}"
export OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 MKL_NUM_THREADS=2
exec "${PYTHON:-python3}" -m index.build "$@"
