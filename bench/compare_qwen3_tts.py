#!/usr/bin/env python3
"""Qwen3-TTS beside the C port of gabriele-mastrapasqua, in interleaved rounds over the same text.

In: our program and an exported voice; the port's program and the checkpoint that the voice was exported from.
Out: how many times faster than speech each is, medians and ratios, the machine, what our codec and our
predictor take; --csv: every value.

Each round is a process of its own: both count from the text to the last sample, without opening the model,
and make the same number of frames.
"""
import argparse
import json
import os
import re
import shlex
import tempfile

import rounds

TEXT = ("Bonjour, je suis une voix de synthèse qui parle depuis votre tablette, sans passer par le réseau, et "
        "je lis ce texte à haute voix pour que l'on mesure sa vitesse.")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kazeia", default="build/release/kazeia", metavar="PROGRAM")
    parser.add_argument("--voice", required=True, metavar="MODEL:SPEAKER", help="as say takes it")
    parser.add_argument("--peer", required=True, metavar="PROGRAM", help="the port's qwen_tts")
    parser.add_argument("--checkpoint", required=True, metavar="FOLDER", help="for the port")
    parser.add_argument("--peer-options", default="--int8", metavar="OPTIONS")
    parser.add_argument("--speaker", default="vivian", help="for the port")
    parser.add_argument("--threads", default="2", metavar="N")
    parser.add_argument("--frames", default="125", metavar="N", help="of 80 ms; 125 if not given")
    parser.add_argument("--text", default=TEXT)
    parser.add_argument("--rounds", type=rounds.round_count, default=5, metavar="N", help="5 or more")
    parser.add_argument("--csv", metavar="FILE")
    return parser.parse_args()


def speed_of_ours(command):
    answer = json.loads(rounds.run(command).splitlines()[-1])
    parts = ", ".join(f"{part} {answer[f'{part}_ms_per_frame']:.1f}"
                      for part in ("talker", "predictor", "codec"))
    print(f"kazeia: {answer['frames']} frames, ms a frame: {parts}; first sound after "
          f"{answer['first_audio_ms']:.0f} ms", flush=True)
    return {"x real time": 1 / answer["rtf"]}


def speed_of_peer(command):
    # What it says goes to both streams.
    output = rounds.run(["sh", "-c", f"{shlex.join(command)} 2>&1"])
    found = re.search(r"Audio: ([\d.]+)s generated in ([\d.]+)s", output)
    if not found:
        raise SystemExit(f"{command[0]}: no line 'Audio: ...s generated in ...s' in its output")
    audio_s, seconds = map(float, found.groups())
    return {"x real time": audio_s / seconds}


def compare(arguments, folder):
    ours = [arguments.kazeia, "say", "--voice", arguments.voice, "--language", "fr", "--threads",
            arguments.threads, "--seed", "1", "--max-frames", arguments.frames, "--json", "-o",
            os.path.join(folder, "ours.wav"), arguments.text]
    peer = [arguments.peer, "-d", arguments.checkpoint, "-s", arguments.speaker, "-l", "French", "-j",
            arguments.threads, "--seed", "1", "-m", arguments.frames, "-o",
            os.path.join(folder, "peer.wav"), *shlex.split(arguments.peer_options), "-t", arguments.text]
    print("\n".join(rounds.machine_facts()))
    print(f"kazeia: {shlex.join(ours)}\npeer:   {shlex.join(peer)}\n")
    found = rounds.interleave([("kazeia", lambda: speed_of_ours(ours)),
                               ("peer", lambda: speed_of_peer(peer))], arguments.rounds)
    rounds.print_medians(found, "kazeia", "peer")
    if arguments.csv:
        rounds.write_csv(arguments.csv, found)


def main():
    with tempfile.TemporaryDirectory() as folder:
        compare(parse_arguments(), folder)


if __name__ == "__main__":
    main()
