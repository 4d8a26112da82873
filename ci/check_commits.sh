#!/bin/sh
# Checks the commits' first lines: "area: do the thing", at most 60 characters, no full stop, then an
# empty line.
# In: optionally a repository's folder and a range (default: this repository, all of HEAD's history).
# Out: a line for each commit that breaks the rule. Merges are left out: git words them.
set -eu

repository=${1:-$(dirname "$0")/..}
range=${2:-HEAD}
safe="safe.directory=$(cd "$repository" && pwd)"

if ! git -c "$safe" -C "$repository" rev-parse --quiet --verify HEAD > /dev/null 2>&1; then
    echo "check_commits: '$repository' has no commits to check"
    exit 77
fi

git -c "$safe" -C "$repository" log --no-merges --format='commit %h%n%B' "$range" | LC_ALL=C.UTF-8 awk '
function complain(why) {
    printf "%s: %s: \"%s\"\n", id, why, subject
    problems++
}
/^commit [0-9a-f]+$/ { id = $2; line = 0; commits++; next }
{ line++ }
line == 1 {
    subject = $0
    if (length(subject) > 60) complain(length(subject) " characters, at most 60")
    if (subject !~ /^[a-z0-9_\/, -]+: [^ ]/) complain("not \"area: do the thing\"")
    if (subject ~ /\.$/) complain("ends in a full stop")
    if (subject ~ /^[^:]*: (added|adds|fixed|fixes|changed|changes|updated|updates|removed|removes) /)
        complain("not imperative")
}
line == 2 && $0 != "" { complain("no empty line after the first") }
END {
    printf "check_commits: %d problems in %d commits\n", problems, commits
    exit problems > 0
}'
