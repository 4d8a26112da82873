#!/usr/bin/env python3
"""Checks the budgets: files <= 800 lines; functions: median <= 15, nine in ten <= 45, none over 80.

In: the tree. Out: a line for each file or function over its limit, the distribution, and the ten
longest functions. A function's lines run from its return type to its closing brace. The median and
the nine in ten are of the product (src, include, frontends); the two ceilings hold for tests too.
"""
import re
import statistics

import c_source

FILE_LINES, MEDIAN_LINES, NINETY_LINES, FUNCTION_LINES = 800, 15, 45, 80
COUNTED_ENDINGS = (".c", ".h", ".def", ".py", ".sh", ".cmake", "CMakeLists.txt")

TOKEN = re.compile(r"[{};]|^[ ]*#[ ]*(\w+)(?:\\\n|[^\n])*", re.M)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|_Static_assert[^;]*;")
HEAD = re.compile(r"([A-Za-z_]\w*)\s*\(", re.S)
NO_FUNCTION = re.compile(r"^\s*(typedef\b|(static\s+|const\s+)*(struct|union|enum)\b[^()]*$)|=", re.S)


def function_name(head):
    """The name that a definition's head declares, or None when the brace opens something else."""
    head = ATTRIBUTE.sub(" ", head).strip()
    match = HEAD.search(head)
    if not match or NO_FUNCTION.search(head) or not head.endswith(")"):
        return None
    return match[1]


class Scanner:
    """Walks braces and preprocessor lines; the branches of one #if all start at its own depth."""

    def __init__(self, code):
        self.code = code
        self.depth = 0
        self.head_start = 0
        self.open = None
        self.branches = []
        self.functions = []

    def directive(self, word, end):
        if word in ("if", "ifdef", "ifndef"):
            self.branches.append(self.depth)
        elif word in ("else", "elif") and self.branches:
            self.depth = self.branches[-1]
        elif word == "endif" and self.branches:
            self.branches.pop()
        if self.depth == 0:
            self.head_start = end

    def open_brace(self, position, end):
        head = self.code[self.head_start:position]
        if self.depth == 0 and re.search(r'extern\s+"\s*"\s*$', head):
            self.head_start = end
            return
        if self.depth == 0:
            start = self.head_start + len(head) - len(head.lstrip())
            self.open = (function_name(head), start)
        self.depth += 1

    def close_brace(self, end):
        self.depth = max(0, self.depth - 1)
        if self.depth == 0:
            if self.open and self.open[0]:
                name, start = self.open
                lines = c_source.line_of(self.code, end) - c_source.line_of(self.code, start) + 1
                self.functions.append((lines, name, c_source.line_of(self.code, start)))
            self.open = None
            self.head_start = end

    def run(self):
        for match in TOKEN.finditer(self.code):
            if match[1]:
                self.directive(match[1], match.end())
            elif match[0] == "{":
                self.open_brace(match.start(), match.end())
            elif match[0] == "}":
                self.close_brace(match.end())
            elif match[0] == ";" and self.depth == 0:
                self.head_start = match.end()
        return self.functions


def functions_of(text):
    """(lines, name, first line) of each function defined in a C text."""
    return Scanner(c_source.code_only(text)).run()


def print_distribution(label, lengths):
    ninety = sorted(lengths)[(len(lengths) * 9 + 9) // 10 - 1]
    median = statistics.median(lengths)
    print(f"check_sizes: {label}: {len(lengths)} functions, median {median:g} lines, "
          f"nine in ten <= {ninety}, longest {max(lengths)}")
    return median, ninety


def budget(functions):
    """Problems of the whole product; `functions` are (lines, name, first line, path)."""
    product = [entry[0] for entry in functions if entry[3].startswith(c_source.PRODUCT)]
    others = [entry[0] for entry in functions if not entry[3].startswith(c_source.PRODUCT)]
    if others:
        print_distribution("tests and benchmarks", others)
    if not product:
        return
    median, ninety = print_distribution("product", product)
    if median > MEDIAN_LINES:
        yield f"the median function has {median:g} lines; at most {MEDIAN_LINES}"
    if ninety > NINETY_LINES:
        yield f"nine in ten functions have up to {ninety} lines; at most {NINETY_LINES}"


def main():
    root = c_source.arguments(__doc__).root
    problems, functions, checked = [], [], 0
    for path in c_source.all_files(root):
        if not path.endswith(COUNTED_ENDINGS):
            continue
        checked += 1
        text = c_source.read(root, path)
        lines = text.count("\n")
        if lines > FILE_LINES:
            problems.append(f"{path}: {lines} lines; at most {FILE_LINES}")
        if path.startswith(c_source.C_CODE):
            functions += [(*found, path) for found in functions_of(text)]
    functions.sort(reverse=True)
    for length, name, line, path in functions:
        if length > FUNCTION_LINES:
            problems.append(f"{path}:{line}: {name}() has {length} lines; at most {FUNCTION_LINES}")
    problems += budget(functions)
    for length, name, line, path in functions[:10]:
        print(f"  {length:3} {name} ({path}:{line})")
    c_source.finish("check_sizes", problems, checked)


if __name__ == "__main__":
    main()
