#!/usr/bin/env python3
"""Instructions for each product in the inner loops of the matrix kernels, from their machine code.

In: object files of src/kernels/x86 or src/kernels/arm, read by objdump. Out: two Markdown tables, of one
token and of many: a row for each weight format, a column for each instruction set. A cell is the number
of instructions in an innermost loop over the number of products that they make; with one token that is
instructions for each weight. What stands outside the innermost loops is not counted: the scales of a K
type's record, unpacking for many tokens, bias and activation.
"""
import argparse
import collections
import re
import subprocess

# Products of one instruction, by its name and register.
INTEGER = [
    (r"smmla\s", 32), (r"sdot\s", 16), (r"smul?l2?\s+v\d+\.8h|smlal2?\s+v\d+\.8h", 8),
    (r"vpdpbusd\s.*%zmm", 64), (r"(\{vex\} )?vpdpbusd\s.*%ymm", 32), (r"vpmaddubsw\s.*%ymm", 32),
]
FLOAT = [
    (r"fmla\s+v\d+\.4s", 4), (r"vfmadd\d+ps\s.*%zmm", 16), (r"vfmadd\d+ps\s.*%ymm", 8),
]
FUNCTION = re.compile(r"^[0-9a-f]+ <kz_matmul_(bulk_)?(a8|f32)_(\w+?)__(\w+)>:$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(.*)$")
BRANCH = re.compile(r"^(?:b|b\.\w+|cbn?z|tbn?z|j\w+)\s.*?\b([0-9a-f]+) <")


def disassembled(path):
    for tool in "objdump", "aarch64-linux-gnu-objdump":
        result = subprocess.run([tool, "-d", "--no-show-raw-insn", path], capture_output=True, text=True,
                                check=False)
        if result.returncode == 0:
            return result.stdout.splitlines()
    raise SystemExit(f"count_instructions: {path}: {result.stderr.strip()}")


def functions_of(path):
    """The name's parts, as FUNCTION has them, and the addresses and texts of the instructions."""
    parts, lines = None, []
    for line in [*disassembled(path), ""]:
        if match := INSTRUCTION.match(line):
            lines.append((int(match[1], 16), match[2]))
        elif not line and parts:
            yield parts, lines
            parts = None
        if line.endswith(">:"):
            match = FUNCTION.match(line)
            parts, lines = match and match.groups(), []


def innermost_loops(lines):
    """From a backward branch's target to the branch, where no other such range lies within."""
    place = {address: i for i, (address, _) in enumerate(lines)}
    loops = set()
    for i, (address, text) in enumerate(lines):
        match = BRANCH.match(text)
        target = int(match[1], 16) if match else address + 1
        if target <= address and target in place:
            loops.add((place[target], i + 1))
    return [loop for loop in loops
            if not any(other != loop and loop[0] <= other[0] and other[1] <= loop[1] for other in loops)]


def ratios_of(lines, instructions):
    """(products of the loop, instructions for each) of the loops that multiply."""
    for begin, end in innermost_loops(lines):
        products = sum(count for _, text in lines[begin:end] for pattern, count in instructions
                       if re.match(pattern, text))
        if products:
            yield products, (end - begin) / products


def print_table(title, cells, levels):
    print(f"\n| {title} | {' | '.join(levels)} |\n|---|{'---|' * len(levels)}")
    for weights in dict.fromkeys(key[0] for key in cells):
        row = [f"{cells[weights, level]:.2f}" if (weights, level) in cells else "" for level in levels]
        print(f"| {weights} | {' | '.join(row)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("objects", nargs="+")
    one, many, levels = {}, collections.defaultdict(lambda: 1e9), {}
    for path in parser.parse_args().objects:
        for (bulk, activations, weights, level), lines in functions_of(path):
            ratios = sorted(ratios_of(lines, FLOAT if activations == "f32" else INTEGER))
            levels[level] = True
            # The loop with the fewest products is that of one token and one panel.
            if ratios and not bulk:
                one[weights, level] = ratios[0][1]
            for _, ratio in ratios:
                many[weights, level] = min(many[weights, level], ratio)
    print_table("one token", one, [level for level in levels if any(key[1] == level for key in one)])
    print_table("many tokens", many, list(levels))


if __name__ == "__main__":
    main()
