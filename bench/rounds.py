"""What comparisons share: facts about the machine, interleaved rounds, medians, a table, a CSV file.

In: two sides, each a name and a function that runs once and gives {measure: value}, where more is
better. Out: text on stdout, and on request one CSV line a round, side and measure.

The sides take turns and change their order every round, since a machine that others use is faster in
one minute than in the next: what is compared was measured within seconds. The ratio that counts is the
median of the rounds' own ratios.
"""
import argparse
import csv
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys

FLAGS = ("avx2", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "amx_tile",
         "amx_int8", "amx_bf16", "asimd", "asimddp", "i8mm", "sve")


def machine_facts():
    """Lines that say where the numbers come from."""
    text = pathlib.Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
    fields = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    flags = set((fields.get("flags") or fields.get("Features") or "").split())
    return [f"processor: {fields.get('model name') or platform.machine()}, {os.cpu_count()} cores",
            f"flags: {' '.join(flag for flag in FLAGS if flag in flags) or 'unknown'}",
            f"load before: {os.getloadavg()[0]:.2f}, system: {platform.system()} {platform.release()}"]


def run(command):
    """The command's standard output; a failure ends the comparison with the command's own words."""
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                check=False)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")
    if result.returncode:
        words = (result.stderr.strip() or result.stdout.strip())[-2000:]
        sys.exit(f"{shlex.join(command)}\nexit code {result.returncode}: {words}")
    return result.stdout


def interleave(sides, count):
    """[{side: {measure: value}}] for `count` rounds, the order of the sides turned each time."""
    rounds = []
    for number in range(count):
        order = sides if number % 2 == 0 else sides[::-1]
        found = {name: measure() for name, measure in order}
        rounds.append(found)
        shown = "; ".join(f"{name} " + ", ".join(f"{key} {value:.4g}" for key, value in
                                                 found[name].items()) for name, _ in sides)
        print(f"round {number + 1}: {shown}", flush=True)
    return rounds


def print_medians(rounds, ours, peer):
    print(f"\n{'measure':28}{ours:>12}{peer:>16}{'ratio':>9}   lowest to highest ratio")
    for measure in rounds[0][ours]:
        mine = [found[ours][measure] for found in rounds]
        theirs = [found[peer][measure] for found in rounds]
        ratios = [a / b for a, b in zip(mine, theirs)]
        print(f"{measure:28}{statistics.median(mine):12.4g}{statistics.median(theirs):16.4g}"
              f"{statistics.median(ratios):9.2f}   {min(ratios):.2f} to {max(ratios):.2f}")
    print(f"medians of {len(rounds)} rounds; ratio: {ours} / {peer}, over 1 is faster")


def write_csv(path, rounds):
    with open(path, "w", newline="", encoding="utf-8") as out:
        table = csv.writer(out)
        table.writerow(["round", "side", "measure", "value"])
        for number, found in enumerate(rounds, 1):
            for side, values in found.items():
                table.writerows([number, side, measure, value] for measure, value in values.items())


def round_count(text):
    """For argparse: five rounds are the least that say anything."""
    if not text.isdigit() or int(text) < 5:
        raise argparse.ArgumentTypeError(f"'{text}': a number from 5 on is expected")
    return int(text)
