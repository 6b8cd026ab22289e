#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How the speed of training scales: time per sample by batch, one thread against two.
# Usage: bench/scaling.sh [MODEL [PRECISION]] (resnet50 bf16).
# NARROWGAUGE=PROGRAM names the program, BATCHES the batches, ITERATIONS how many are timed.
set -euo pipefail
cd "$(dirname "$0")/.."

program=${NARROWGAUGE:-build/release/narrowgauge}
model=${1:-resnet50} precision=${2:-bf16}
read -r -a batches <<<"${BATCHES:-8 32 64 128}"
iterations=${ITERATIONS:-3}

# rate BATCH [FLAG...]: samples a second, the median of the iterations.
rate() {
  local batch=$1
  shift
  "$program" bench --model "$model" --precision "$precision" --batch "$batch" \
    --iterations "$iterations" --batches 3 --json "$@" | python3 -c '
import json, statistics, sys
last = json.loads(sys.stdin.read().splitlines()[-1])
print(statistics.median(last["runs"][0]["iterations"]))'
}

# calculate EXPRESSION WORD...: of the words as w[0], w[1], ...
calculate() {
  python3 -c 'import sys; w = [float(x) for x in sys.argv[2:]]; print(f"{eval(sys.argv[1]):.3g}")' "$@"
}

echo "$model $precision, medians of $iterations iterations"
declare -A rates
for batch in "${batches[@]}"; do
  rates[$batch]=$(rate "$batch")
done
base=32
[[ -n ${rates[$base]:-} ]] || base=${batches[0]}
for batch in "${batches[@]}"; do
  printf 'batch %4d: %8s ms a sample, %s of batch %d\n' "$batch" \
    "$(calculate '1e3 / w[0]' "${rates[$batch]}")" \
    "$(calculate 'w[1] / w[0]' "${rates[$batch]}" "${rates[$base]}")" "$base"
done

one=$(rate "$base" --threads 1)
two=$(rate "$base" --threads 2)
printf 'two threads: %s times one (batch %d)\n' "$(calculate 'w[1] / w[0]' "$one" "$two")" "$base"
