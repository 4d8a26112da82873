#!/usr/bin/env python3
"""How many instructions the main paths take, against what is kept in ci/instructions.json.

In: the program kazeia of a release build; tests/golden, the tiny models of tests/e2e; valgrind. Out: a
line for each path, then one that ends; exit code 1 when one takes 3 % more or fewer than is kept.

    ci/check_instructions.py build/release/kazeia [--write]

Times differ from machine to machine, instructions do not: AVX2 on one thread, counted by callgrind, and
only those of our own code, since a C library chooses its own by the processor. What the compiler makes
counts too, so the counts are those of one compiler; with another one, or without valgrind, nothing is
checked (exit code 77). --write keeps what was counted: for a change that was meant.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "ci/instructions.json"
TOLERANCE = 0.03
SKIPPED = 77

sys.path.insert(0, str(ROOT / "tests/e2e"))
import tiny_listener  # noqa: E402
import tiny_model  # noqa: E402

CLIP = "tests/golden/speech/read"
PROMPT = "bonjour " * 20
PATHS = {
    "prompt and reply, 4 bit": [
        "generate", "--model", "{folder}/q4.kzp", "--prompt", PROMPT, "--max-tokens", "60",
        "--ignore-stop"],
    "prompt and reply, 8 bit": [
        "generate", "--model", "{folder}/q8.kzp", "--prompt", PROMPT, "--max-tokens", "60",
        "--ignore-stop"],
    "speech to text": [
        "transcribe", "--model", "{folder}/heard.kzp", "--no-guards", "--vad", "none", "{clip}"],
    "text to speech, 4 bit": [
        "say", "--voice", "{folder}/voice.kzp", "--greedy", "--max-frames", "12", "-o",
        "{folder}/out.wav", "Il fait beau"],
}


def skip(why):
    print(f"check_instructions: {why}: nothing checked")
    sys.exit(SKIPPED)


def compiler():
    """Name and major version of what the counts hold for."""
    version = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True).stdout
    return f"gcc {version.split('.')[0].strip()}"


def make_programs(kazeia, folder):
    tiny_model.write(folder / "tiny.gguf")
    tiny_listener.write(folder / "heard", " Il neige")
    for source, name, *more in ((folder / "tiny.gguf", "q4", "--weights", "q4"),
                                (folder / "tiny.gguf", "q8", "--weights", "q8"),
                                (folder / "heard", "heard"),
                                (ROOT / "tests/golden/qwen3_tts/custom", "voice", "--weights", "q4")):
        subprocess.run([kazeia, "export", source, "-o", folder / f"{name}.kzp", *more], check=True,
                       stdout=subprocess.DEVNULL)


def own_instructions(report, program):
    """The sum of a callgrind report's costs in one object: lines after `calls=` are inclusive."""
    names, place, is_inclusive, total = {}, None, False, 0
    for line in report.read_text().splitlines():
        found = re.match(r"(c?ob)=\((\d+)\)(?: (.*))?$", line)
        if found:
            kind, number, name = found.groups()
            names.setdefault(number, name)
            place = number if kind == "ob" else place
        elif line.startswith("calls="):
            is_inclusive = True
        elif re.match(r"[0-9+*-]", line):
            if not is_inclusive and names.get(place) == program:
                total += int(line.split()[1])
            is_inclusive = False
    return total


def count(kazeia, folder, words):
    report = folder / "callgrind.out"
    clip = sorted((ROOT / CLIP).glob("*.wav"))[0]
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={report}", kazeia,
                    *(word.format(folder=folder, clip=clip) for word in words), "--threads", "1"],
                   check=True, capture_output=True, env={**os.environ, "KAZEIA_CPU": "avx2"})
    return own_instructions(report, kazeia)


def compare(found, kept):
    """How many paths are off, each with a line."""
    off = 0
    for name, instructions in found.items():
        before = kept.get(name, 0)
        change = instructions / before - 1 if before else float("inf")
        is_off = abs(change) > TOLERANCE
        off += is_off
        print(f"{name}: {instructions:,} instructions, kept {before:,} ({100 * change:+.2f} %)"
              f"{' OFF' if is_off else ''}")
    return off


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("kazeia", help="the program")
    parser.add_argument("--write", action="store_true", help="keep what is counted")
    arguments = parser.parse_args()
    if platform.machine() != "x86_64":
        skip("the counts are of x86-64")
    if not shutil.which("valgrind") or subprocess.run(
            ["valgrind", "--tool=none", "true"], capture_output=True).returncode:
        skip("no valgrind that runs here")
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if not arguments.write and kept.get("compiler") != compiler():
        skip(f"the counts are of {kept.get('compiler')}, this is {compiler()}")
    kazeia = str(pathlib.Path(arguments.kazeia).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_programs(kazeia, folder)
        found = {path: count(kazeia, folder, words) for path, words in PATHS.items()}
    if arguments.write:
        KEPT.write_text(json.dumps({"compiler": compiler(), "instructions": found}, indent=1) + "\n")
        return 0
    off = compare(found, kept["instructions"])
    print(f"check_instructions: {off} problems in {len(found)} paths")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
