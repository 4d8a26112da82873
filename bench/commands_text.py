#!/usr/bin/env python3
"""Commands in text: how many are understood, and what a sentence and the compiler cost.

In: the program kazeia; tests/golden/commands. Out: one line a measure.

Times are processor seconds, which other programs on the machine hardly change: of a run over many
sentences less one over none, and of compiling the grammar for all homes at once. The median is over
sentences, each measured by itself over many repeats. Python 3 alone.
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REPEATS, ROUNDS = 20, 7
ALONE_REPEATS = 1000


def run(args, *words, lines=()):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run([args.kazeia, "commands", *map(str, words)], input="\n".join([*lines, ""]) if lines else "",
                            capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result, seconds


def objects(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def union_of(homes):
    """All fixtures as one home; names that differ only in case are one."""
    union, seen = {"entities": [], "areas": [], "floors": [], "context_area": "Salon"}, set()
    for home in homes:
        for key in ("entities", "areas", "floors"):
            for item in home.get(key) or []:
                name = item["name"] if isinstance(item, dict) else item
                if (key, name.lower()) not in seen:
                    seen.add((key, name.lower()))
                    union[key].append(item)
    return union


def seconds_each(args, match, sentences, empty):
    """What each sentence costs by itself, JSON included."""
    for sentence in sentences:
        _, full = run(args, *match, lines=[sentence] * ALONE_REPEATS)
        yield max(0.0, full - empty) / ALONE_REPEATS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kazeia", default="build/release/kazeia")
    parser.add_argument("--every", type=int, default=4, help="measure each Nth sentence by itself")
    parser.add_argument("--data", default=str(HERE.parent / "tests/golden/commands"))
    args = parser.parse_args()
    data = pathlib.Path(args.data)
    grammar, fixtures = data / "grammar.json", data / "fixtures.jsonl"
    for name in ("tests.jsonl", "tests_words.jsonl"):
        for more in ([], ["--union"]):
            result, _ = run(args, "test", grammar, "--fixtures", fixtures, *more, data / name, "--json")
            print(f"{name} {' '.join(more)}: {result.stderr.strip()}")
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder) / "home.json"
        home.write_text(json.dumps(union_of(objects(fixtures))), encoding="utf-8")
        match = ["match", grammar, "--home", home, "--json"]
        sentences = [test["sentence"] for test in objects(data / "tests.jsonl")]
        others = [test["sentence"] for test in objects(data / "negatives.jsonl")]
        result, _ = run(args, *match, lines=others)
        found = sum(json.loads(line)["intent"] is not None for line in result.stdout.splitlines())
        print(f"negatives.jsonl: {found} of {len(others)} matched")
        compiled, matched = [], []
        for _ in range(ROUNDS):
            _, empty = run(args, *match)
            _, full = run(args, *match, lines=sentences * REPEATS)
            compiled.append(empty)
            matched.append((full - empty) / len(sentences) / REPEATS)
        print(f"compiling for all homes: {statistics.median(compiled) * 1e3:.0f} ms, "
              f"the start of the program included")
        alone = sorted(seconds_each(args, match, sentences[::args.every], statistics.median(compiled)))
        print(f"matching: {statistics.median(matched) * 1e6:.0f} us a sentence in the mean, "
              f"{statistics.median(alone) * 1e6:.0f} us in the median of {len(alone)} sentences, "
              f"{alone[len(alone) * 95 // 100] * 1e6:.0f} us at 95 in 100, JSON included")


if __name__ == "__main__":
    main()
