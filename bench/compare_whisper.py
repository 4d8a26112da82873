#!/usr/bin/env python3
"""Speech to text beside another program, in interleaved rounds over the same clips.

In: our program and model; the peer as one command, to which the clips are appended and which prints a
JSON line {"file", "seconds", "text"} for each (bench/peers/ has such drivers). Out: clips a second of
both, medians and ratios, the machine, and how many texts differ; --csv: every value.

Opening the models and reading the files are not counted. Both sides hear the first clip twice and the
first time is dropped, so that neither pays for cold memory.
"""
import argparse
import json
import shlex

import rounds


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kazeia", default="build/release/kazeia", metavar="PROGRAM")
    parser.add_argument("--model", required=True, metavar="MODEL", help="a program file or its name")
    parser.add_argument("--peer", required=True, metavar="COMMAND",
                        help="as 'python3 bench/peers/faster_whisper_clips.py --model FOLDER "
                             "--language fr --threads 2'")
    parser.add_argument("--language", default="fr", help="for our side; give the peer the same")
    parser.add_argument("--threads", default="2", metavar="N", help="for our side; likewise")
    parser.add_argument("--audio-context", default="full", choices=("full", "auto"),
                        help="for our side: whole windows of 30 s, or what a clip needs")
    parser.add_argument("--rounds", type=rounds.round_count, default=5, metavar="N", help="5 or more")
    parser.add_argument("--csv", metavar="FILE")
    parser.add_argument("clips", nargs="+", metavar="CLIP.wav")
    return parser.parse_args()


def clips_per_second(command, count, out_texts):
    lines = [json.loads(line) for line in rounds.run(command).splitlines()]
    clips = [line for line in lines if "seconds" in line and "file" in line][1:]
    if len(clips) != count:
        raise SystemExit(f"{command[0]}: gave {len(clips)} clips, expected {count}")
    for clip in clips:
        out_texts[clip["file"]] = clip["text"].strip()
    return {"clips/s": count / sum(clip["seconds"] for clip in clips)}


def main():
    arguments = parse_arguments()
    clips = [arguments.clips[0], *arguments.clips]
    count = len(arguments.clips)
    ours = [arguments.kazeia, "transcribe", "--model", arguments.model, "--language",
            arguments.language, "--threads", arguments.threads, "--audio-context",
            arguments.audio_context, "--json"]
    peer = shlex.split(arguments.peer)
    texts = {"kazeia": {}, "peer": {}}
    print("\n".join(rounds.machine_facts()))
    print(f"kazeia: {shlex.join(ours)} ...\npeer:   {shlex.join(peer)} ...\n{count} clips\n")
    found = rounds.interleave(
        [("kazeia", lambda: clips_per_second(ours + clips, count, texts["kazeia"])),
         ("peer", lambda: clips_per_second(peer + clips, count, texts["peer"]))], arguments.rounds)
    rounds.print_medians(found, "kazeia", "peer")
    differing = [clip for clip in texts["kazeia"] if texts["kazeia"][clip] != texts["peer"].get(clip)]
    print(f"texts that differ: {len(differing)} of {count}")
    if arguments.csv:
        rounds.write_csv(arguments.csv, found)


main()
