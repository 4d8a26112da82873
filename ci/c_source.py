"""What the checks share: the repository's files, and C text with comments and literals told apart.

In: the repository's root. Out: lists of paths relative to it; the code of a C file with every
comment, string and character literal replaced by spaces, so that line numbers stay.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

PRODUCT = ("src/", "include/", "frontends/")
C_CODE = PRODUCT + ("tests/", "bench/", "examples/")

# One lexical element that may hide text: the alternatives are tried from left to right, so a quote
# inside a comment and a comment inside a string both stay what they are.
LITERAL = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
    return parser.parse_args()


def all_files(root):
    """Paths of what git would commit; in a tree without git, of everything but build folders."""
    if (root / ".git").exists():
        listing = subprocess.run(
            ["git", "-c", f"safe.directory={root.resolve()}", "-C", str(root), "ls-files", "-z",
             "--cached", "--others", "--exclude-standard"], stdout=subprocess.PIPE, check=True)
        names = listing.stdout.decode().split("\0")
        return sorted(name for name in set(names) if (root / name).is_file())
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", "build", "out")]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def c_files(root, folders=C_CODE, endings=(".c", ".h", ".def")):
    return [path for path in all_files(root) if path.startswith(folders) and path.endswith(endings)]


def read(root, path):
    return (root / path).read_bytes().decode("utf-8", "replace")


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    """The text with comments blanked; strings stay."""
    return LITERAL.sub(lambda m: blank(m[0]) if m[0][0] == "/" else m[0], text)


def code_only(text):
    """The text with comments and the insides of literals blanked."""
    return LITERAL.sub(
        lambda m: blank(m[0]) if m[0][0] == "/" else m[0][0] + blank(m[0][1:-1]) + m[0][0], text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def finish(name, problems, checked):
    """Prints the problems and ends the check: exit code 1 when there is one, or nothing to check."""
    for problem in problems:
        print(problem)
    if not checked:
        print(f"{name}: found nothing to check")
    print(f"{name}: {len(problems)} problems in {checked} files")
    sys.exit(1 if problems or not checked else 0)
