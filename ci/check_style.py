#!/usr/bin/env python3
"""Checks what a formatter cannot: banned calls, names and headers, opening comments, white space.

In: the tree. Out: a line for each breach, and the comment density (printed, not judged). The rules
and their reasons are in CONTRIBUTING.md; the tables below say where each one holds.
"""
import pathlib
import re

import c_source

TEXT_ENDINGS = (".c", ".h", ".def", ".md", ".py", ".sh", ".cmake", ".json", ".yaml", ".yml")
TEXT_NAMES = ("CMakeLists.txt",)

UNSAFE = "strcpy strcat sprintf vsprintf gets atoi atol atoll atof strtok alloca"
ENDS_OR_PRINTS = ("exit _exit quick_exit abort printf vprintf fprintf vfprintf puts putchar fputs "
                  "perror")
HEAP = "malloc calloc realloc free strdup strndup aligned_alloc posix_memalign"

# (what, calls, folders where they are banned, folders that are excepted)
BANNED_CALLS = [
    ("unsafe", UNSAFE, c_source.PRODUCT, ()),
    ("printing and ending are the caller's", ENDS_OR_PRINTS, ("src/", "include/"), ()),
    ("memory comes from base/alloc.h", HEAP, ("src/",), ("src/base/",)),
]

# (what, pattern of the included name, folders where it is banned, files that are excepted)
BANNED_HEADERS = [
    ("intrinsics belong to src/kernels/{x86,arm}", r".*intrin\.h|arm_(neon|sve|acle|bf16|fp16)\.h",
     c_source.C_CODE, r"src/kernels/(x86|arm)/.*"),
    ("system headers belong to src/base/os_*.c",
     r"(sys|linux|mach|net|netinet|arpa|machine)/.*|(unistd|fcntl|dlfcn|sched|dirent|poll|termios|"
     r"pwd|spawn|glob|ftw|mman|windows|signal|ucontext|execinfo|semaphore)\.h",
     ("src/",), r"src/base/os_\w+\.[ch]"),
    ("threads come from base/thread.h", r"(pthread|threads)\.h", ("src/",),
     r"src/base/(os_\w+\.[ch]|thread\.h)"),
]

INTRINSIC = re.compile(r"\b(_mm\d*_\w+|__m(128|256|512)[id]?|__builtin_ia32_\w+|"
                       r"v[a-z]\w*q?_(lane_)?[sufp](8|16|32|64))\b")
INTRINSIC_FILES = re.compile(r"src/kernels/(x86|arm)/|src/base/os_")

# A member of another library's struct may be called anything: ".data" and "->data" are let through.
NAME = re.compile(r"(?<![.>\w])(tmp|data|info|obj|buf2|handle_it|do_process|flag1|mgr)\b")
FILE_NAME = re.compile(r"(utils?|misc|helpers?|common_utils)\.[ch]")

INCLUDE = re.compile(r"^\s*#\s*include\s+<([^>]+)>", re.M)


def white_space(path, text):
    if text and not text.endswith("\n"):
        yield f"{path}: the last line has no line end"
    if text.endswith("\n\n"):
        yield f"{path}: an empty line at the end"
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line:
            yield f"{path}:{number}: a tab"
        if line != line.rstrip():
            yield f"{path}:{number}: white space at the line's end"


def banned_calls(path, code):
    for reason, names, folders, excepted in BANNED_CALLS:
        if not path.startswith(folders) or (excepted and path.startswith(excepted)):
            continue
        for match in re.finditer(r"(?<![.>\w])(%s)\s*\(" % "|".join(names.split()), code):
            yield f"{path}:{c_source.line_of(code, match.start(1))}: {match[1]}() ({reason})"


def banned_headers(path, code):
    for match in INCLUDE.finditer(code):
        for reason, pattern, folders, excepted in BANNED_HEADERS:
            if path.startswith(folders) and re.fullmatch(pattern, match[1]) \
                    and not re.fullmatch(excepted, path):
                where = f"{path}:{c_source.line_of(code, match.start(1))}"
                yield f"{where}: <{match[1]}> ({reason})"


def names(path, code):
    if FILE_NAME.fullmatch(pathlib.PurePath(path).name):
        yield f"{path}: a file is named for its subject"
    for match in NAME.finditer(code):
        where = f"{path}:{c_source.line_of(code, match.start(1))}"
        yield f"{where}: '{match[1]}' says nothing (CONTRIBUTING.md, Names)"
    if not INTRINSIC_FILES.match(path):
        for match in INTRINSIC.finditer(code):
            where = f"{path}:{c_source.line_of(code, match.start(1))}"
            yield f"{where}: {match[1]} (intrinsics belong to src/kernels/{{x86,arm}})"


def opening_comment(path, text):
    lines = []
    for line in text.split("\n"):
        if not line.startswith("//"):
            break
        lines.append(line.lstrip("/ "))
    if len(" ".join(lines)) < 20:
        yield f"{path}: does not open with a // comment that says what the file does"


def count_lines(text):
    """Lines that hold only a comment, and lines that hold code."""
    code = c_source.without_comments(text).split("\n")
    lines = text.split("\n")
    code_lines = sum(1 for line in code if line.strip())
    comment_lines = sum(1 for line, rest in zip(lines, code) if line.strip() and not rest.strip())
    return comment_lines, code_lines


def print_density(root):
    for label, ending in (("headers", ".h"), ("sources", ".c")):
        counts = [count_lines(c_source.read(root, path))
                  for path in c_source.c_files(root, c_source.PRODUCT, (ending,))]
        comments, code = (sum(column) for column in zip(*counts)) if counts else (0, 0)
        print(f"check_style: {label}: {comments} comment lines, {code} code lines, "
              f"{comments / max(code, 1):.2f} a line")


def main():
    root = c_source.arguments(__doc__).root
    problems, checked = [], 0
    for path in c_source.all_files(root):
        is_text = path.endswith(TEXT_ENDINGS) or pathlib.PurePath(path).name in TEXT_NAMES
        # Goldens are kept byte for byte as their makers wrote them.
        is_text = is_text and not path.startswith("tests/golden/")
        if is_text or path.startswith(("scripts/", ".ci/")):
            checked += 1
            problems += white_space(path, c_source.read(root, path))
    for path in c_source.c_files(root):
        text = c_source.read(root, path)
        code = c_source.code_only(text)
        problems += banned_calls(path, code)
        problems += banned_headers(path, code)
        problems += names(path, code)
        problems += opening_comment(path, text)
    print_density(root)
    c_source.finish("check_style", problems, checked)


main()
