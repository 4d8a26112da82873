#!/usr/bin/env python3
"""Shows that each check passes a clean small tree and fails on each breach it is there for.

In: nothing. Out: unittest's report. Every test writes one deliberate breach into a fresh tree; a
check that stops finding it fails here, before anyone relies on its silence.
"""
import contextlib
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import check_instructions  # noqa: E402 (found beside this file)
import check_sizes  # noqa: E402 (found beside this file)

OPENING = "// pitch.c: finds the pitch of a frame. In: samples. Out: hertz.\n"
HEADER = "// pitch.h: what a pitch is and who may ask for it.\nint kz_pitch(int rate_hz);\n"
SOURCE = OPENING + '#include "audio/pitch.h"\n\nint kz_pitch(int rate_hz) {\n    return rate_hz;\n}\n'
PAGE = "# Start\n\nSee [the middle](#the-middle) and [pitch](../src/audio/pitch.c).\n\n## The middle\n"


def function(name, lines):
    return f"void {name}(void) {{\n" + "    ;\n" * (lines - 2) + "}\n"


class Tree(unittest.TestCase):
    """A clean tree; tests add a breach and name the check that must find it."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.write("ci/layers.txt", (HERE / "layers.txt").read_text())
        self.write("src/audio/pitch.h", HEADER)
        self.write("src/audio/pitch.c", SOURCE)
        self.write("docs/start.md", PAGE)
        self.write("docs/options/threads.md", "Threads to compute with.\n")
        self.write("frontends/cli/main.c",
                   "// main.c: the program's entry. In: arguments. Out: an exit code.\n"
                   '#include "kazeia/common.h"\nstatic const char *option = "--threads";\n')
        shutil.copy(HERE.parent / ".clang-format", self.root)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())

    def add(self, path, text):
        self.write(path, (self.root / path).read_text() + text)

    def run_check(self, name):
        if name.endswith(".sh"):
            command = ["sh", str(HERE / name), str(self.root)]
        else:
            command = [sys.executable, str(HERE / f"{name}.py"), "--root", str(self.root)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def assert_passes(self, name):
        result = self.run_check(name)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def assert_finds(self, name, *words):
        result = self.run_check(name)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stdout)


class CleanTree(Tree):
    def test_passes_every_check(self):
        for name in ("check_layers", "check_style", "check_sizes", "check_words", "check_docs"):
            with self.subTest(name):
                self.assert_passes(name)

    def test_nothing_to_check_is_no_success(self):
        shutil.rmtree(self.root / "src")
        shutil.rmtree(self.root / "frontends")
        self.assert_finds("check_layers", "nothing to check")


class Layers(Tree):
    def test_upward_include(self):
        self.add("src/audio/pitch.c", '#include "runtime/plan.h"\n')
        self.assert_finds("check_layers", "src/audio/pitch.c:7", "runtime/plan.h")

    def test_siblings(self):
        self.write("src/listen/vad.c", '#include "llm/chat.h"\n')
        self.assert_finds("check_layers", "listen may not include")

    def test_exporter_needs_no_kernels(self):
        self.write("src/exporter/pack.c", '#include "kernels/kernels.h"\n')
        self.assert_finds("check_layers", "exporter may not include")

    def test_frontend_needs_no_inside(self):
        self.add("frontends/cli/main.c", '#include "base/alloc.h"\n')
        self.assert_finds("check_layers", "frontends may not include")

    def test_bare_name(self):
        self.add("src/audio/pitch.c", '#include "pitch.h"\n')
        self.assert_finds("check_layers", '"pitch.h"')

    def test_public_header_below_api(self):
        self.add("src/audio/pitch.c", '#include "kazeia/listen.h"\n')
        self.assert_finds("check_layers", "kazeia/listen.h")

    def test_unknown_layer(self):
        self.write("src/video/frame.c", "\n")
        self.assert_finds("check_layers", "'video'")

    def test_what_is_allowed(self):
        self.add("src/audio/pitch.c", '#include "kazeia/common.h"\n#include "base/alloc.h"\n'
                                      '// #include "llm/chat.h"\n')
        self.write("src/exporter/export.c", '#include "kazeia/export.h"\n')
        self.write("src/api/chat.c", '#include "kazeia/chat.h"\n#include "llm/chat.h"\n')
        self.write("frontends/cli/words.h", "\n")
        self.add("frontends/cli/main.c", '#include "words.h"\n#include "cli/words.h"\n')
        self.assert_passes("check_layers")


class Style(Tree):
    def assert_line(self, line, *words, path="src/audio/pitch.c"):
        self.add(path, line + "\n")
        self.assert_finds("check_style", *words)

    def test_tab(self):
        self.assert_line("\tint x;", "a tab")

    def test_space_at_end(self):
        self.assert_line("int x; ", "white space at the line's end")

    def test_no_line_end(self):
        self.write("docs/start.md", "# Start")
        self.assert_finds("check_style", "no line end")

    def test_printing(self):
        self.assert_line('void f(void) { printf("x"); }', "printf()")

    def test_unsafe_in_frontend(self):
        self.assert_line("int x = atoi(text);", "atoi()", path="frontends/cli/main.c")

    def test_every_banned_call(self):
        for call in "strcpy sprintf atoi strtok alloca exit abort printf malloc free".split():
            with self.subTest(call):
                self.write("src/audio/pitch.c", SOURCE + f"void f(void) {{ {call}(x); }}\n")
                self.assert_finds("check_style", f"{call}()")

    def test_intrinsics(self):
        self.assert_line("#include <immintrin.h>", "immintrin.h")
        self.write("src/audio/pitch.c", SOURCE + "__m256i sum = _mm256_add_epi8(a, b);\n")
        self.assert_finds("check_style", "_mm256_add_epi8", "__m256i")
        self.write("src/audio/pitch.c", SOURCE + "int8x16_t sum = vaddq_s8(a, b);\n")
        self.assert_finds("check_style", "vaddq_s8")

    def test_system_headers(self):
        for header in ("unistd.h", "sys/mman.h", "dlfcn.h", "pthread.h"):
            with self.subTest(header):
                self.write("src/audio/pitch.c", SOURCE + f"#include <{header}>\n")
                self.assert_finds("check_style", f"<{header}>")

    def test_names(self):
        for name in ("tmp", "data", "info", "obj", "buf2", "mgr"):
            with self.subTest(name):
                self.write("src/audio/pitch.c", SOURCE + f"int {name};\n")
                self.assert_finds("check_style", f"'{name}'")

    def test_file_names(self):
        for name in ("utils.c", "misc.c", "helpers.h"):
            with self.subTest(name):
                self.write(f"src/audio/{name}", OPENING)
                self.assert_finds("check_style", name)
                (self.root / "src/audio" / name).unlink()

    def test_opening_comment(self):
        self.write("src/audio/pitch.c", "int kz_pitch(void);\n")
        self.assert_finds("check_style", "does not open")

    def test_what_is_allowed(self):
        self.add("src/audio/pitch.c", '// tmp, printf(x)\nconst char *k = "malloc(1) \\" tmp";\n'
                                      "int x = event.data.scalar;\nint metadata;\n")
        self.write("src/kernels/tile/dot.h", OPENING + "vfloat w = v_load_f16(halves);\n")
        self.write("src/base/os_posix.c", OPENING + "#include <unistd.h>\nvoid *p = malloc(1);\n")
        self.write("src/base/thread.h", OPENING + "#include <pthread.h>\n")
        self.write("src/kernels/x86/dot.c", OPENING + "#include <immintrin.h>\n__m256i x;\n")
        self.add("frontends/cli/main.c", 'void f(void) { printf("x"); exit(1); }\n')
        self.assert_passes("check_style")


class Sizes(Tree):
    def test_long_file(self):
        self.add("src/audio/pitch.c", "// more\n" * 800)
        self.assert_finds("check_sizes", "at most 800")

    def test_long_function(self):
        self.add("src/audio/pitch.c", function("walk", 81))
        self.assert_finds("check_sizes", "walk() has 81 lines")

    def test_long_function_of_a_test(self):
        self.write("tests/unit/test_pitch.c", function("walk", 81))
        self.assert_finds("check_sizes", "walk() has 81 lines")

    def test_median(self):
        self.add("src/audio/pitch.c", function("a", 16) + function("b", 17) + function("c", 18))
        self.assert_finds("check_sizes", "median function has 16.5 lines")

    def test_nine_in_ten(self):
        short = "".join(function(f"f{i}", 5) for i in range(7))
        self.add("src/audio/pitch.c", short + function("a", 46) + function("b", 47))
        self.assert_finds("check_sizes", "nine in ten functions have up to 46")

    def test_limits_themselves_pass(self):
        short = "".join(function(f"f{i}", 15) for i in range(9))
        self.add("src/audio/pitch.c", short + function("a", 80))
        self.assert_passes("check_sizes")

    def test_scanner(self):
        text = """
// } a brace in a comment {
#define OPEN { \\
    {
extern "C" {
typedef struct kz_span { int from; } kz_span;
static const kz_span spans[] = {{1}, {2}};
enum kind { ONE, TWO };
__attribute__((target("avx2"))) static int
first(const char *text)
{
    const char brace = '{', quote = '"';
    return text[0] == brace ? 0 : "}" [0] + quote;  /* } */
}
#if defined(A)
static void second(void) {
#else
static void second(int x) {
#endif
    if (x) {
    }
}
struct kz_span *third(int (*call)(void)) { return 0; }
}
"""
        found = [(name, lines) for lines, name, _ in check_sizes.functions_of(text)]
        self.assertEqual(found, [("first", 6), ("second", 5), ("third", 1)])


class Words(Tree):
    def test_machine_paths(self):
        for place in ("work", "root", "home"):
            with self.subTest(place):
                self.write("docs/start.md", f"Look in /{place}/models first.\n")
                self.assert_finds("check_words", "docs/start.md:1", "a path of one machine")

    def test_registry_host(self):
        self.write("docs/start.md", "From https://" + "pypi" + ".org/simple\n")
        self.assert_finds("check_words", "a registry's host")

    def test_unfinished(self):
        self.add("src/audio/pitch.c", "// TO" + "DO: the rest\n")
        self.assert_finds("check_words", "unfinished work")

    def test_what_is_allowed(self):
        self.write("docs/start.md", "$HOME/models ~/project/x tests/home/x /usr/lib\n")
        self.assert_passes("check_words")


class Docs(Tree):
    def test_dead_link(self):
        self.add("docs/start.md", "[gone](gone.md)\n")
        self.assert_finds("check_docs", "'gone.md' leads nowhere")

    def test_dead_anchor(self):
        self.add("docs/start.md", "[gone](start.md#gone)\n")
        self.assert_finds("check_docs", "no heading '#gone'")

    def test_example_that_does_not_compile(self):
        self.add("docs/start.md", "```c\nint f(void) { return x; }\n```\n")
        self.assert_finds("check_docs", "docs/start.md:6", "does not compile")

    def test_page_without_option(self):
        self.write("docs/options/speed.md", "How fast.\n")
        self.assert_finds("check_docs", "docs/options/speed.md")

    def test_option_without_page(self):
        self.add("frontends/cli/main.c", 'static const char *other = "--speed";\n')
        self.assert_finds("check_docs", "--speed has no page")

    def test_what_is_allowed(self):
        self.add("docs/start.md", "```c\nint f(void);\n```\n```text\n[x](gone.md) int x = ;\n```\n"
                                  "`[x](gone.md)` [web](https://example.org/gone)\n")
        self.assert_passes("check_docs")


class Format(Tree):
    @unittest.skipUnless(shutil.which("clang-format-14"), "clang-format-14 is not installed")
    def test_layout(self):
        self.assert_passes("check_format.sh")
        self.add("src/audio/pitch.c", "int  x ;\n")
        self.assert_finds("check_format.sh", "src/audio/pitch.c")


class Commits(Tree):
    def commit(self, *messages):
        options = [part for message in messages for part in ("-m", message)]
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q",
                        "--allow-empty", *options], cwd=self.root, check=True)

    def setUp(self):
        super().setUp()
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        self.commit("audio: find the pitch", "Because it is asked for.")

    def test_good(self):
        self.assert_passes("check_commits.sh")

    def test_breaches(self):
        for message, word in (("audio: find the pitch.", "full stop"), ("Find the pitch", "area:"),
                              ("audio: " + "x" * 54, "61 characters"),
                              ("audio: added the pitch", "imperative"),
                              ("audio: find\nthe pitch", "no empty line")):
            with self.subTest(message):
                self.commit(message)
                self.assert_finds("check_commits.sh", word)
                subprocess.run(["git", "reset", "-q", "--hard", "HEAD~1"], cwd=self.root, check=True)


class Instructions(unittest.TestCase):
    REPORT = """ob=(1) /build/kazeia
fn=(1) outer
10 100
calls=2 20
11 5000
ob=(2) /lib/libc.so.6
fn=(2) memcpy
3 7
ob=(1)
fn=(3) inner
+1 30
* 4
"""

    def test_own_costs_are_counted_once(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report"
            report.write_text(self.REPORT)
            self.assertEqual(check_instructions.own_instructions(report, "/build/kazeia"), 134)

    def test_off_by_more_than_the_tolerance(self):
        kept = {"a": 1000, "b": 1000, "c": 1000}
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(check_instructions.compare({"a": 1029, "b": 971}, kept), 0)
            self.assertEqual(check_instructions.compare({"a": 1031, "b": 969, "d": 1}, kept), 3)



@unittest.skipUnless(shutil.which("cc") and shutil.which("ar"), "no compiler")
class Symbols(Tree):
    """Builds tiny libraries; what is wrong with them is all in their source."""

    def build(self, shared="", static="", kernels=""):
        for name, code in (("shared", shared), ("static", static), ("kernels", kernels)):
            (self.root / f"{name}.c").write_text(code)
            subprocess.run(["cc", "-fPIC", "-O1", "-fno-builtin", "-c", f"{name}.c"], cwd=self.root,
                           check=True)
        subprocess.run(["cc", "-shared", "-o", "libkazeia.so", "shared.o"], cwd=self.root, check=True)
        for name, layer in (("static", "text"), ("kernels", "kernels")):
            subprocess.run(["ar", "rc", f"libkz_{layer}.a", f"{name}.o"], cwd=self.root, check=True)

    def test_good(self):
        self.build("int kazeia_x(void) { return 1; }",
                   "static const int t[] = {1}; int kz_x(int i) { return t[i]; }\n"
                   "_Thread_local int kz_last; static const char *const n[] = {\"a\"};\n"
                   "const char *kz_n(int i) { return n[i]; }",
                   "double exp(double); void *memcpy(void *, const void *, unsigned long);\n"
                   "double kz_f(double x, void *p) { memcpy(p, &x, 8); return exp(x); }")
        self.assert_passes("check_symbols.sh")

    def test_exports(self):
        self.build("int kazeia_x(void) { return 1; } int kz_inside(void) { return 1; }")
        self.assert_finds("check_symbols.sh", "kz_inside")

    def test_size(self):
        self.build("int kazeia_x(void) { return 1; } const char kazeia_big[2100000] = {1};")
        self.assert_finds("check_symbols.sh", "bytes stripped; less than")

    def test_global_names(self):
        self.build("int kazeia_x(void) { return 1; }", "int find(void) { return 1; }")
        self.assert_finds("check_symbols.sh", "find")

    def test_kernel_imports(self):
        self.build("int kazeia_x(void) { return 1; }",
                   kernels="int puts(const char *); int kz_f(void) { return puts(\"x\"); }")
        self.assert_finds("check_symbols.sh", "imports: puts")

    def test_writable_globals(self):
        self.build("int kazeia_x(void) { return 1; }",
                   "static int calls; int kz_f(void) { return ++calls; }")
        self.assert_finds("check_symbols.sh", "writable global: calls")

    def test_table_of_pointers_that_is_not_const(self):
        self.build("int kazeia_x(void) { return 1; }",
                   "static const char *names[] = {\"a\"}; const char **kz_f(void) { return names; }")
        self.assert_finds("check_symbols.sh", "writable global: names")

    def test_no_libraries(self):
        self.assert_finds("check_symbols.sh", "build the release preset")


if __name__ == "__main__":
    unittest.main()
