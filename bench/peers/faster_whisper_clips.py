#!/usr/bin/env python3
"""faster-whisper as a peer of compare_whisper.py: int8 weights, greedy, no timestamps.

In: a model folder and clips. Out: a JSON line {"file", "seconds", "text"} a clip; seconds are those
from the samples to the last word, without reading the file, as kazeia transcribe counts them. Needs:
pip install faster-whisper.
"""
import argparse
import json
import os
import time


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", required=True, metavar="FOLDER")
    parser.add_argument("--language", default="fr")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--compute", default="int8", help="a compute type of CTranslate2")
    parser.add_argument("clips", nargs="+", metavar="CLIP.wav")
    return parser.parse_args()


def transcribe(model, clip, samples, language):
    begin = time.perf_counter()
    segments, _ = model.transcribe(samples, language=language, beam_size=1, temperature=0.0,
                                   condition_on_previous_text=False, without_timestamps=True,
                                   vad_filter=False)
    text = "".join(segment.text for segment in segments)  # the work is done here
    return {"file": clip, "seconds": time.perf_counter() - begin, "text": text.strip()}


def main():
    arguments = parse_arguments()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    from faster_whisper import WhisperModel, decode_audio  # after the line above, which it reads
    model = WhisperModel(arguments.model, device="cpu", compute_type=arguments.compute,
                         cpu_threads=arguments.threads, num_workers=1)
    for clip in arguments.clips:
        found = transcribe(model, clip, decode_audio(clip), arguments.language)
        print(json.dumps(found, ensure_ascii=False), flush=True)


main()
