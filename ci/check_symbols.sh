#!/bin/sh
# Checks what the release build's libraries show and need.
# In: a build folder (default build/release). Out: a line for each breach of
#   - libkazeia.so exports only kazeia_*, and is under 2 MB when stripped;
#   - every global of the static libraries starts with kazeia_ or kz_;
#   - kernel objects import nothing but memcpy, memset, memmove, libm and our own kz_*; select.c is no
#     kernel: it reads KAZEIA_CPU and compares names;
#   - no writable globals but those of ci/mutable_globals.txt and thread-local ones.
# The libraries of a build with sanitizers show other symbols: use a plain one.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../build/release}
limit=2000000
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
: > "$scratch/problems"

problem() {
    echo "$*" | tee -a "$scratch/problems"
}

# Each line on stdin becomes a problem: "LABEL: LINE".
problems_from() {
    while read -r line; do
        problem "$1: $line"
    done
}

check_shared() {
    nm -D --defined-only "$1" | awk '{print $NF}' | sed 's/@.*//' > "$scratch/exports"
    grep -v '^kazeia_' "$scratch/exports" | problems_from "$1 exports" || true
    grep -q '^kazeia_' "$scratch/exports" || problem "$1 exports no kazeia_* function"
    strip -o "$scratch/stripped" "$1"
    bytes=$(wc -c < "$scratch/stripped")
    [ "$bytes" -lt "$limit" ] || problem "$1 is $bytes bytes stripped; less than $limit expected"
    echo "check_symbols: $(basename "$1"): $(wc -l < "$scratch/exports") exports," \
         "$bytes bytes stripped"
}

check_static() {
    nm -g --defined-only "$1" 2> /dev/null | awk 'NF == 3 {print $3}' \
        | grep -Ev '^(kazeia_|kz_)' | sort -u | problems_from "$1 defines" || true
    objdump -t "$1" | awk 'NF >= 5 && $(NF-2) ~ /^\.(data|bss)/ && $(NF-2) !~ /^\.data\.rel\.ro/ &&
                           $(NF-1) !~ /^0+$/ {print $NF}' \
        | sort -u > "$scratch/writable"
    grep -v '^#' "$here/mutable_globals.txt" | sed 's/.*/^&$/' > "$scratch/allowed"
    grep -Evf "$scratch/allowed" "$scratch/writable" \
        | problems_from "$1 has a writable global" || true
}

check_kernels() {
    libm=$(cc -print-file-name=libm.so.6)
    {
        nm -D --defined-only "$libm" | awk '{print $NF}' | sed 's/@.*//'
        printf '%s\n' memcpy memset memmove _GLOBAL_OFFSET_TABLE_ __stack_chk_fail
    } | sort -u > "$scratch/imports_allowed"
    nm -A -u "$1" 2> /dev/null | grep -v ':select\.c\.o:' | awk '{print $NF}' | grep -v '^kz_' | sort -u \
        | comm -23 - "$scratch/imports_allowed" | problems_from "$1 imports" || true
}

find "$build" -name 'libkazeia.so*' -type f > "$scratch/shared"
find "$build" -name 'libkz_*.a' -type f > "$scratch/static"
[ -s "$scratch/shared" ] || problem "no libkazeia.so under '$build': build the release preset"
[ -s "$scratch/static" ] || problem "no libkz_*.a under '$build': build the release preset"
while read -r library; do check_shared "$library"; done < "$scratch/shared"
while read -r library; do
    check_static "$library"
    case $library in */libkz_kernels*.a) check_kernels "$library" ;; esac
done < "$scratch/static"

echo "check_symbols: $(wc -l < "$scratch/problems") problems in" \
     "$(cat "$scratch/shared" "$scratch/static" | wc -l) libraries"
[ ! -s "$scratch/problems" ]
