#!/usr/bin/env python3
"""Checks that the documents are true: links resolve, C examples compile, options exist.

In: the tree, and a C compiler ($CC or cc). Out: a line for each untruth.
- A relative link in a .md file names a file or folder that exists, and its #anchor a heading.
- A block fenced as ```c is a whole source file and compiles alone, warnings as errors, against
  include/ and src/. A fragment is fenced as ```text.
- Each docs/options/NAME.md has its option in frontends/, and each "--name" there has its file.
"""
import os
import pathlib
import re
import subprocess

import c_source

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", re.M | re.S)
LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+(?:\([^()]*\))?)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#+\s+(.*?)\s*#*$", re.M)
OPTION = re.compile(r'"--([a-z][a-z0-9-]*)"')


def anchors_of(text):
    """The anchors that a renderer gives the headings of a page."""
    prose = FENCE.sub("", text)
    titles = [re.sub(r"[`*\[\]]|\]\([^)]*\)", "", title).lower() for title in HEADING.findall(prose)]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def links(root, path, text):
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub(lambda m: c_source.blank(m[0]), text))
    for match in LINK.finditer(prose):
        target, _, anchor = match[1].partition("#")
        where = f"{path}:{c_source.line_of(prose, match.start())}"
        if re.match(r"[a-z]+:", target):
            continue
        found = (root / path).parent / target if target else root / path
        if not found.exists():
            yield f"{where}: the link '{match[1]}' leads nowhere"
        elif anchor and found.suffix == ".md" and anchor not in anchors_of(found.read_text()):
            yield f"{where}: '{target or path}' has no heading '#{anchor}'"


def examples(root, path, text):
    for match in FENCE.finditer(text):
        if match[1] != "c":
            continue
        command = [os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra",
                   "-Wno-unused-function", "-Werror", "-fsyntax-only", f"-I{root}/include",
                   f"-I{root}/src", "-x", "c", "-"]
        result = subprocess.run(command, input=match[2], capture_output=True, text=True, check=False)
        if result.returncode:
            message = next((line for line in result.stderr.split("\n") if "error:" in line),
                           result.stderr.strip())
            line = c_source.line_of(text, match.start())
            yield f"{path}:{line}: this example does not compile: {message}"


def options(root):
    folder = root / "docs/options"
    documented = {page.stem for page in folder.glob("*.md")} - {"README"}
    sources = c_source.c_files(root, ("frontends/",))
    code = "\n".join(c_source.without_comments(c_source.read(root, path)) for path in sources)
    for name in sorted(documented):
        if not re.search(r'"(?:--)?%s"' % re.escape(name), code):
            yield f"docs/options/{name}.md: no option of this name in frontends/"
    for name in sorted(set(OPTION.findall(code)) - documented):
        yield f"frontends/: --{name} has no page docs/options/{name}.md"


def main():
    root = c_source.arguments(__doc__).root
    pages = [path for path in c_source.all_files(root) if path.endswith(".md")]
    problems = list(options(root))
    for path in pages:
        text = c_source.read(root, path)
        problems += links(root, path, text)
        problems += examples(root, path, text)
    c_source.finish("check_docs", problems, len(pages))


main()
