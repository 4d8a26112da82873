"""Writes the models of the memory tests.

In: a folder. Out: in it, chat.gguf and listen/, as tests/e2e/tiny_model.py and tiny_listener.py make them.
"""
import pathlib
import sys

import tiny_listener
import tiny_model

folder = pathlib.Path(sys.argv[1])
tiny_model.write(folder / "chat.gguf")
tiny_listener.write(folder / "listen", "Allume la lumière.")
