#!/usr/bin/env python3
"""Prefill and decode of a language model beside llama.cpp's llama-bench, in interleaved rounds.

In: the two programs, the program file, and the GGUF file from which it was exported. Out: tokens a
second of both, medians and ratios, with the machine, the kernel and the commands; --csv: every value.
Build the peer with the instruction sets that are to be compared: it says which ones at its start.
"""
import argparse
import json
import shlex

import rounds


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kazeia", default="build/release/kazeia", metavar="PROGRAM")
    parser.add_argument("--model", required=True, metavar="MODEL", help="a program file or its name")
    parser.add_argument("--llama-bench", required=True, metavar="PROGRAM")
    parser.add_argument("--gguf", required=True, metavar="FILE", help="what MODEL was exported from")
    parser.add_argument("--prefill", type=int, default=128, metavar="N")
    parser.add_argument("--decode", type=int, default=64, metavar="N")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--rounds", type=rounds.round_count, default=5, metavar="N", help="5 or more")
    parser.add_argument("--csv", metavar="FILE")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    prefill, decode, threads = (str(n) for n in (arguments.prefill, arguments.decode,
                                                 arguments.threads))
    ours = [arguments.kazeia, "bench", "--model", arguments.model, "--prefill", prefill, "--decode",
            decode, "--threads", threads, "--repeat", "1", "--json"]
    peer = [arguments.llama_bench, "-m", arguments.gguf, "-p", prefill, "-n", decode, "-t", threads,
            "-r", "1", "-o", "json"]
    kernels = set()

    def measure_ours():
        found = json.loads(rounds.run(ours))
        kernels.add(f"{found['kernel']}, {found['threads']} threads")
        return {"prefill tokens/s": found["prefill_tokens_per_s"],
                "decode tokens/s": found["decode_tokens_per_s"]}

    def measure_peer():
        rates = {(test["n_prompt"], test["n_gen"]): test["avg_ts"]
                 for test in json.loads(rounds.run(peer))}
        return {"prefill tokens/s": rates[arguments.prefill, 0],
                "decode tokens/s": rates[0, arguments.decode]}

    print("\n".join(rounds.machine_facts()))
    print(f"kazeia: {shlex.join(ours)}\npeer:   {shlex.join(peer)}\n")
    found = rounds.interleave([("kazeia", measure_ours), ("llama.cpp", measure_peer)],
                              arguments.rounds)
    rounds.print_medians(found, "kazeia", "llama.cpp")
    print(f"kernel: {'; '.join(sorted(kernels))}")
    if arguments.csv:
        rounds.write_csv(arguments.csv, found)


main()
