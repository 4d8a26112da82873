#!/usr/bin/env python3
"""Checks that no file names a place only one machine knows, a registry's host, or unfinished work.

In: the tree. Out: a line for each find. Paths and hosts are searched everywhere; the words of
unfinished work only in code and scripts, since data and prose may need them.
"""
import re

import c_source

# The bracketed letters keep these patterns from finding themselves.
ANYWHERE = [
    ("a path of one machine", re.compile(r"(?<![\w.$}~*)-])/(?:[w]ork|[r]oot|[h]ome|[f]arm|[U]sers|[m]nt)/\w")),
    ("a registry's host", re.compile(
        r"python[h]osted|pypi\.[o]rg|npm[j]s\.(?:org|com)|repo1\.[m]aven|(?:deb|security)\.[d]ebian\.|"
        r"[c]rates\.io|proxy\.[g]olang|registry\.[y]arnpkg")),
]
IN_CODE = ("unfinished work", re.compile(r"\b(?:TO[D]O|FIX[M]E|X[X]X)\b|not [i]mplemented"))
CODE_ENDINGS = (".c", ".h", ".def", ".py", ".sh", ".cmake", "CMakeLists.txt")


def main():
    root = c_source.arguments(__doc__).root
    problems, checked = [], 0
    for path in c_source.all_files(root):
        content = (root / path).read_bytes()
        if b"\0" in content[:8192]:
            continue
        checked += 1
        is_code = path.endswith(CODE_ENDINGS) or path.startswith("scripts/")
        rules = [*ANYWHERE, IN_CODE] if is_code else ANYWHERE
        for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), 1):
            for what, pattern in rules:
                match = pattern.search(line)
                if match:
                    problems.append(f"{path}:{number}: {what}: '{match[0]}'")
    c_source.finish("check_words", problems, checked)


main()
