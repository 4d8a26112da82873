#!/usr/bin/env python3
"""A long sound of clips with pauses between them, and whether the times in a transcript of it are right.

In: `make` takes clips with speech and writes a WAVE file and, beside it, where each clip's voice begins
and ends; `judge` takes that list and the JSON line of `kazeia transcribe`. Out: clips that no segment
covers, segments that cover none, and how far beginnings and ends are off. Needs numpy.

Where a voice begins and ends is measured in the clip alone: the first and the last 25 ms between 250 and
5000 Hz that are within 30 dB of the loudest quarter of a second. Sounds without a voice of 50 ms, at
most 20 dB below the loudest, are clicks and breaths: they count only where a voice is less than 0.2 s away.
"""
import argparse
import json
import random
import wave

import numpy

RATE_HZ = 16000
HOP, FRAME = RATE_HZ // 100, RATE_HZ // 40
DROP_DB, FLOOR_DB = 30, 8  # below the loudest, above the quietest
VOICED, VOICED_DB, VOICED_FRAMES = 0.55, 20, 5
JOINED_FRAMES, NEAR_FRAMES = 10, 20


def read(path):
    with wave.open(path) as file:
        channels, rate = file.getnchannels(), file.getframerate()
        samples = numpy.frombuffer(file.readframes(file.getnframes()), "<i2").astype(float)
    samples = samples.reshape(-1, channels).mean(1) / 32768
    if rate == RATE_HZ:
        return samples
    count = len(samples) * RATE_HZ // rate
    return numpy.fft.irfft(numpy.fft.rfft(samples)[:count // 2 + 1], count) * count / len(samples)


def voice_band(samples):
    spectrum = numpy.fft.rfft(samples)
    place = numpy.fft.rfftfreq(len(samples), 1 / RATE_HZ)
    spectrum[(place < 250) | (place > 5000)] = 0
    return numpy.fft.irfft(spectrum, len(samples))


def frames(samples, size):
    starts = numpy.arange(0, len(samples) - size + 1, HOP)
    return samples[starts[:, None] + numpy.arange(size)]


def voicing(samples):
    """For each frame how much it repeats itself with a period of 70 to 400 Hz."""
    rows = frames(samples, RATE_HZ // 25)
    power = numpy.abs(numpy.fft.rfft(rows * numpy.hanning(rows.shape[1]), 2048)) ** 2
    repeats = numpy.fft.irfft(power)
    return repeats[:, RATE_HZ // 400:RATE_HZ // 70].max(1) / (repeats[:, 0] + 1e-9)


def islands(loud):
    found = []
    for place in numpy.flatnonzero(loud):
        if found and place - found[-1][1] <= JOINED_FRAMES:
            found[-1][1] = place
        else:
            found.append([place, place])
    return found


def voice_limits(samples):
    """Seconds at which the voice of a clip begins and ends."""
    samples = voice_band(samples)
    power = (frames(samples, FRAME) ** 2).mean(1) + 1e-12
    level = 10 * numpy.log10(power)
    loudest = 10 * numpy.log10(numpy.convolve(power, numpy.ones(25) / 25, "same").max())
    found = islands(level >= max(loudest - DROP_DB, numpy.percentile(level, 5) + FLOOR_DB))
    repeats = voicing(samples)
    is_voiced = (repeats > VOICED) & (level[:len(repeats)] >= loudest - VOICED_DB)
    voiced = [island for island in found
              if is_voiced[island[0]:island[1] + 1].sum() >= VOICED_FRAMES]
    begin, end = voiced[0][0], voiced[-1][1]
    begin = min([i[0] for i in found if i[1] < begin < i[1] + NEAR_FRAMES] + [begin])
    end = max([i[1] for i in found if i[0] - NEAR_FRAMES < end < i[0]] + [end])
    return begin * HOP / RATE_HZ, (end * HOP + FRAME) / RATE_HZ


def make(arguments):
    choose = random.Random(arguments.seed)
    hiss = numpy.random.default_rng(arguments.seed)
    clips = [(path, read(path)) for path in sorted(arguments.clips)]
    limits = {path: voice_limits(samples) for path, samples in clips}
    rows, place = [], 0
    with wave.open(arguments.sound, "wb") as out:
        out.setparams((1, 2, RATE_HZ, 0, "NONE", ""))
        while place < arguments.minutes * 60 * RATE_HZ:
            pause = numpy.zeros(int(choose.uniform(1, 4) * RATE_HZ))
            if choose.random() < 0.3:
                pause = hiss.standard_normal(len(pause)) * 0.0005
            path, samples = choose.choice(clips)
            begin, end = (limit + (place + len(pause)) / RATE_HZ for limit in limits[path])
            rows.append({"clip": path, "start_s": begin, "end_s": end})
            joined = numpy.clip(numpy.concatenate([pause, samples]), -1, 1)
            out.writeframes((joined * 32767).round().astype("<i2").tobytes())
            place += len(joined)
    with open(arguments.list, "w", encoding="utf-8") as out:
        json.dump(rows, out, ensure_ascii=False, indent=1)
    print(f"{len(rows)} clips, {place / RATE_HZ:.1f} s")


def report(name, errors, tolerance):
    print(f"{name}: mean {errors.mean():+.3f} s, {errors.min():+.2f} to {errors.max():+.2f}; "
          f"{(numpy.abs(errors) > tolerance).sum()} of {len(errors)} are more than {tolerance} s off")


def judge(arguments):
    with open(arguments.list, encoding="utf-8") as file:
        rows = json.load(file)
    with open(arguments.transcript, encoding="utf-8") as file:
        segments = json.load(file)["segments"]
    begins, ends, used, lost = [], [], set(), []
    for row in rows:
        covering = [i for i, segment in enumerate(segments)
                    if segment["start_s"] < row["end_s"] and segment["end_s"] > row["start_s"]]
        if not covering:
            lost.append(row)
            continue
        used.update(covering)
        begins.append(segments[covering[0]]["start_s"] - row["start_s"])
        ends.append(segments[covering[-1]]["end_s"] - row["end_s"])
        if max(abs(begins[-1]), abs(ends[-1])) > arguments.tolerance:
            print(f"{row['start_s']:9.2f} {begins[-1]:+.2f} {ends[-1]:+.2f} {row['clip']}")
    print(f"{len(rows)} clips, {len(segments)} segments, {len(lost)} clips without a segment, "
          f"{len(segments) - len(used)} segments without a clip")
    report("beginnings", numpy.array(begins), arguments.tolerance)
    report("ends", numpy.array(ends), arguments.tolerance)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(required=True)
    maker = commands.add_parser("make")
    maker.add_argument("--minutes", type=float, default=120)
    maker.add_argument("--seed", type=int, default=1)
    maker.add_argument("sound", help="the WAVE file to write")
    maker.add_argument("list", help="the JSON file to write")
    maker.add_argument("clips", nargs="+", help="16-bit WAVE files with speech")
    maker.set_defaults(run=make)
    judging = commands.add_parser("judge")
    judging.add_argument("--tolerance", type=float, default=0.3, metavar="SECONDS")
    judging.add_argument("list")
    judging.add_argument("transcript", help="what kazeia transcribe --json wrote")
    judging.set_defaults(run=judge)
    arguments = parser.parse_args()
    arguments.run(arguments)


main()
