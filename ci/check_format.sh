#!/bin/sh
# Checks that clang-format 14 would change nothing.
# In: optionally the root. Out: the files that it would change, with each one's first line. Version
# 14 exactly, because each version lays out some things otherwise.
set -eu

root=$(cd "${1:-$(dirname "$0")/..}" && pwd)
formatter=$(command -v clang-format-14) || {
    echo "check_format: clang-format-14 is missing: run ./scripts/install-packages"
    exit 1
}
cd "$root"
count=0
bad=0
for file in $(find src include frontends tests bench examples -type f -name '*.[ch]' \
                  2> /dev/null | sort); do
    count=$((count + 1))
    if complaint=$("$formatter" --style=file --dry-run -Werror "$file" 2>&1); then
        continue
    fi
    bad=$((bad + 1))
    echo "$complaint" | head -n 1
done
if [ "$bad" -gt 0 ]; then
    echo "check_format: to mend: clang-format-14 -i FILE..."
fi
[ "$count" -gt 0 ] || echo "check_format: found nothing to check"
echo "check_format: $bad problems in $count files"
[ "$bad" -eq 0 ] && [ "$count" -gt 0 ]
