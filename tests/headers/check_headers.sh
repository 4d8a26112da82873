#!/bin/sh
# Compiles each public header alone, as C11 and as C++17, and counts the public functions.
# in: a C and a C++ compiler. out: exit code 1 after all findings.
set -u
cc=$1
cxx=$2
limit=80
failed=0
warnings="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude"

for header in include/kazeia/*.h; do
    name=kazeia/$(basename "$header")
    # Twice: a header must bear being included again. A file without declarations is no C.
    source=$(printf '#include "%s"\n#include "%s"\nextern int alone;\n' "$name" "$name")
    # shellcheck disable=SC2086
    printf '%s\n' "$source" | $cc -std=c11 -x c $warnings - || { echo "$name: not C11"; failed=1; }
    # shellcheck disable=SC2086
    printf '%s\n' "$source" | $cxx -std=c++17 -x c++ $warnings - || { echo "$name: not C++17"; failed=1; }
done

count=$(cat include/kazeia/*.h | grep -c '^KAZEIA_API')
echo "$count public functions, fewer than $limit allowed"
if [ "$count" -ge "$limit" ] || [ "$count" -eq 0 ]; then
    failed=1
fi
exit $failed
