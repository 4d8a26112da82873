#!/usr/bin/env python3
"""Checks that every include of src/ and frontends/ points down the table in ci/layers.txt.

In: the tree. Out: a line for each include that the table does not allow. Quoted includes must name
their layer ("text/utf8.h"), so that a reader sees the arrow; only frontends/ may use bare names.
"""
import re

import c_source

INCLUDE = re.compile(r'^\s*#\s*include\s+"(?:(\w+)/)?([^"]+)"', re.M)


def main():
    root = c_source.arguments(__doc__).root
    lines = (root / "ci/layers.txt").read_text().splitlines()
    table = dict(line.split(":") for line in lines if line and not line.startswith("#"))
    allowed = {name: value.split() for name, value in table.items()}
    problems, checked = [], 0
    for path in c_source.c_files(root, ("src/", "frontends/")):
        inner = path.removeprefix("src/")
        layer = inner.split("/")[0]
        permitted = allowed.get(inner, allowed.get(layer))
        checked += 1
        if permitted is None:
            problems.append(f"{path}: the layer '{layer}' is not in ci/layers.txt")
            continue
        text = c_source.without_comments(c_source.read(root, path))
        for match in INCLUDE.finditer(text):
            target, name = match[1], f"{match[1] or ''}/{match[2]}".lstrip("/")
            is_own = layer == "frontends" and (root / "frontends" / name).is_file()
            is_beside = layer == "frontends" and (root / path).with_name(match[2]).is_file()
            if target in [layer, *permitted] or name == "kazeia/common.h" or is_own or is_beside:
                continue
            where = f"{path}:{c_source.line_of(text, match.start(1 if target else 2))}"
            problems.append(f"{where}: {layer} may not include \"{name}\" (ci/layers.txt)")
    c_source.finish("check_layers", problems, checked)


main()
