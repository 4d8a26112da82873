#!/bin/sh
# Runs every fuzz target of a build for its share of some seconds.
#
# In: the build folder of the preset "fuzz", the seconds in all. Seeds are taken from
# tests/fuzz/corpus/NAME/ where a target "fuzz_NAME" has them. Out: the number of inputs tried by each;
# an input that crashes, hangs (10 s) or takes 2 GB is kept in the build folder and named.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:?usage: fuzz_smoke.sh BUILD_FOLDER SECONDS}
total=${2:?usage: fuzz_smoke.sh BUILD_FOLDER SECONDS}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

find "$build/tests/fuzz" -maxdepth 1 -type f -name 'fuzz_*' -perm -u+x 2> /dev/null | sort \
    > "$scratch/targets"
count=$(wc -l < "$scratch/targets")
if [ "$count" -eq 0 ]; then
    echo "fuzz_smoke: no targets in '$build/tests/fuzz': cmake --preset fuzz && cmake --build --preset fuzz"
    exit 1
fi
share=$((total / count))
[ "$share" -gt 0 ] || share=1

bad=0
while read -r target; do
    name=$(basename "$target")
    mkdir -p "$scratch/$name" "$build/crashes"
    seeds=$root/tests/fuzz/corpus/${name#fuzz_}
    [ -d "$seeds" ] || seeds=
    # shellcheck disable=SC2086 # no seeds, no argument
    if "$target" -max_total_time="$share" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$build/crashes/$name-" "$scratch/$name" $seeds > "$scratch/log" 2>&1; then
        tried=$(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/log")
        echo "fuzz_smoke: $name: ${tried:-0} inputs in $share s"
    else
        tail -n 60 "$scratch/log"
        echo "fuzz_smoke: $name FAILED"
        bad=$((bad + 1))
    fi
done < "$scratch/targets"
echo "fuzz_smoke: $bad of $count targets failed"
[ "$bad" -eq 0 ]
