#!/usr/bin/env python3
"""Commands in sound: how many are understood, what is taken for one, what the search costs.

In: the program kazeia, a Whisper program, a grammar and a home; recordings with their texts. Out: one
line for each sound that is not as it should be, then one line a measure.

    bench/commands_heard.py clips --speech FOLDER        recorded commands
    bench/commands_heard.py noise --speech FOLDER        the same in noise at 5 dB, five offsets
    bench/commands_heard.py false --speech FOLDER        what is no command, and near misses by espeak-ng
    bench/commands_heard.py large --speech FOLDER        the clips again in a home of like-sounding names

FOLDER holds transcripts.jsonl ({"file", "language", "text", "command"} a line) and what it names;
noise and false also take background_noise.wav from it. A clip is right when the command is the one that
the text matcher gives for its text. Python 3 alone.

What the search costs is counted in positions of the decoder, which no other program on the machine
changes; --ms adds the milliseconds of this run.
"""
import argparse
import array
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import wave

HERE = pathlib.Path(__file__).resolve().parent
SNR_DB, OFFSETS_S = 5, (0, 2, 4, 6, 8)
VOICES = ("espeak:fr", "espeak:fr+f2")
CUT_S = 3


def kazeia(args, *words, **more):
    result = subprocess.run([args.kazeia, *map(str, words)], capture_output=True, text=True, **more)
    if result.returncode:
        sys.exit(f"kazeia {' '.join(map(str, words))}: {result.stderr.strip() or result.stdout}")
    return result.stdout


def labels(args):
    lines = (pathlib.Path(args.speech) / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def meanings(args, texts):
    """What the text matcher gives for each: (intent, slots)."""
    out = kazeia(args, "commands", "match", args.grammar, "--home", args.home, "--json",
                 input="".join(f"{text}\n" for text in texts))
    found = [json.loads(line) for line in out.splitlines()]
    return [(one["intent"], one["slots"]) for one in found]


def hear(args, files, home=None):
    tuned = ["--tuned", args.tuned] if args.tuned else []
    out = kazeia(args, "commands", "hear", "--stt", args.stt, "--home", home or args.home, *tuned,
                 "--language", "fr", "--threads", args.threads, "--json", args.grammar, *files)
    return [json.loads(line) for line in out.splitlines()]


def judge(heard, expected):
    """right, wrong, refused; a question back is neither an action nor an error."""
    if heard["verdict"] != "accepted":
        return "refused" if heard["verdict"] == "refused" else "asked"
    best = heard["best"]
    return "right" if (best["intent"], best["slots"]) == expected else "wrong"


def multiplications(args):
    """Of one position of the decoder, with sound and without, from the program's own dimensions."""
    described = json.loads(kazeia(args, "inspect", args.stt, "--json"))
    metadata = described["metadata"]
    hidden, words = metadata["model.hidden"], metadata["model.vocabulary"]
    layers = sum(1 for state in described["states"] if state["name"].startswith("cross_key."))
    dense = layers * 14 * hidden * hidden + words * hidden
    return dense + layers * 2 * metadata["listen.positions"] * hidden, dense


def cost(args, found, title):
    searched = [one for one in found if one["positions"] > 0]
    if not searched:
        return
    loud, silent = multiplications(args)
    work = sorted((one["positions"] * loud + one["prior_positions"] * silent) / 1e9 for one in searched)

    def mean(key):
        return sum(one[key] for one in searched) / len(searched)
    line = (f"{title}: {mean('positions'):.0f} positions with sound, {mean('prior_positions'):.0f} "
            f"without; GMAC median {work[len(work) // 2]:.1f}, most {work[-1]:.1f}")
    if args.ms:
        times = sorted(one["ms"] for one in searched)
        line += f"; ms median {times[len(times) // 2]:.0f}, most {times[-1]:.0f}"
    print(line)


def tally(args, files, expected, title, home=None):
    found = hear(args, files, home)
    counts = dict.fromkeys(("right", "wrong", "asked", "refused"), 0)
    for file, one, wanted in zip(files, found, expected):
        verdict = judge(one, wanted)
        counts[verdict] += 1
        if verdict != "right":
            print(f"  {verdict}: {pathlib.Path(file).name}: {one['best'].get('text')} "
                  f"(score {one['score']}, end {one['end']}, margin {one['margin']})")
    print(f"{title}: {counts['right']} of {len(files)} right, {counts['wrong']} wrong, "
          f"{counts['asked']} asked about, {counts['refused']} refused")
    return found, counts


def commands(args):
    clips = [one for one in labels(args) if one["command"] and one["language"] == "fr"]
    return ([str(pathlib.Path(args.speech) / one["file"]) for one in clips],
            meanings(args, [one["text"] for one in clips]))


def run_clips(args, _folder):
    files, expected = commands(args)
    found, _ = tally(args, files, expected, "clips")
    cost(args, found, "cost")


def run_large(args, _folder):
    files, expected = commands(args)
    small, _ = tally(args, files, expected, "home")
    cost(args, small, "cost")
    large, _ = tally(args, files, expected, "ten times as large", args.large_home)
    cost(args, large, "cost")


# ---- sounds made here

def read_wave(path):
    with wave.open(str(path)) as file:
        if file.getnchannels() != 1 or file.getsampwidth() != 2:
            sys.exit(f"{path}: expected 16-bit mono")
        samples = array.array("h")
        samples.frombytes(file.readframes(file.getnframes()))
        return file.getframerate(), samples


def write_wave(path, rate, samples):
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, len(samples), "NONE", ""))
        file.writeframes(samples.tobytes())
    return str(path)


def power(samples):
    return sum(value * value for value in samples) / max(1, len(samples))


def mix(clip, noise_path, offset_s, out):
    rate, samples = read_wave(clip)
    noise_rate, noise = read_wave(noise_path)
    if rate != noise_rate:
        sys.exit(f"{clip}: {rate} Hz, {noise_path}: {noise_rate} Hz")
    start = int(offset_s * rate)
    added = [noise[(start + i) % len(noise)] for i in range(len(samples))]
    gain = math.sqrt(power(samples) / power(added)) / 10 ** (SNR_DB / 20)
    mixed = (max(-32768, min(32767, round(a + gain * b))) for a, b in zip(samples, added))
    return write_wave(out, rate, array.array("h", mixed))


def run_noise(args, folder):
    files, expected = commands(args)
    noise = pathlib.Path(args.speech) / "background_noise.wav"
    worst, wrong = len(files), 0
    for offset in OFFSETS_S:
        mixed = [mix(file, noise, offset, folder / f"{offset}_{i}_{pathlib.Path(file).name}")
                 for i, file in enumerate(files)]
        _, counts = tally(args, mixed, expected, f"noise from {offset} s at {SNR_DB} dB")
        worst, wrong = min(worst, counts["right"]), wrong + counts["wrong"]
    print(f"worst offset: {worst} of {len(files)} right; {wrong} wrong in all")


def cuts(path, folder):
    rate, samples = read_wave(path)
    size = CUT_S * rate
    for i in range(0, len(samples) - size // 2, size):
        yield write_wave(folder / f"cut_{pathlib.Path(path).stem}_{i // size}.wav", rate,
                         samples[i:i + size])


def near_misses(args, folder):
    sentences = pathlib.Path(args.near_misses).read_text(encoding="utf-8").splitlines()
    for intent, sentence in zip((one[0] for one in meanings(args, sentences)), sentences):
        if intent is not None:
            sys.exit(f"{args.near_misses}: '{sentence}' is a command")
    for i, sentence in enumerate(sentences):
        for voice in VOICES:
            out = folder / f"near_{i}_{voice.rsplit('+', 1)[-1].replace(':', '_')}.wav"
            kazeia(args, "say", "--voice", voice, "-o", out, sentence)
            yield str(out)


def run_false(args, folder):
    speech = pathlib.Path(args.speech)
    others = [str(speech / one["file"]) for one in labels(args)
              if not (one["command"] and one["language"] == "fr")]
    noise = str(speech / "background_noise.wav")
    files = sorted({*others, noise})
    for file in others:
        rate, samples = read_wave(file) if "read" in file else (1, [])
        if len(samples) > CUT_S * rate:
            files += cuts(file, folder)
    groups = (("no commands", files), ("near misses", list(near_misses(args, folder))))
    for title, group in groups:
        found = hear(args, group)
        accepted = [one for one in found if one["verdict"] != "refused"]
        for one in accepted:
            print(f"  {one['verdict']}: {pathlib.Path(one['file']).name}: {one['best']['text']} "
                  f"(score {one['score']}, end {one['end']}, margin {one['margin']})")
        print(f"{title}: {len(accepted)} of {len(group)} accepted or asked about")
        cost(args, found, "cost")


ROWS = {"clips": run_clips, "noise": run_noise, "false": run_false, "large": run_large}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="+", choices=ROWS)
    parser.add_argument("--kazeia", default="build/release/kazeia")
    parser.add_argument("--stt", default="whisper-base")
    parser.add_argument("--grammar", default=str(HERE.parent / "tests/golden/commands/grammar.json"))
    parser.add_argument("--home", default=str(HERE.parent / "examples/home.yaml"))
    parser.add_argument("--large-home", default=str(HERE / "commands_large_home.yaml"))
    parser.add_argument("--near-misses", default=str(HERE / "commands_near_misses.txt"))
    parser.add_argument("--speech", required=True)
    parser.add_argument("--tuned", help="a file of `kazeia commands tune`")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--ms", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for row in args.rows:
            ROWS[row](args, pathlib.Path(folder))


if __name__ == "__main__":
    main()
