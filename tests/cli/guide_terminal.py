"""A terminal on which a test answers `wright guide`."""

import os
import pty
import subprocess
import sys
import time

STATE = ".wright-guide.json"
NEXT = "q leaves: "


class Terminal:
    """`wright guide` on a terminal of its own."""

    def __init__(self, folder, *arguments, language="en"):
        self.main, terminal = pty.openpty()
        argv = [sys.executable, "-m", "clusterwright", "--lang", language, "guide", *arguments]
        self.process = subprocess.Popen(
            argv,
            cwd=folder,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            env={**os.environ, "TERM": "dumb", "NO_COLOR": "1"},
        )
        os.close(terminal)
        self.output = ""

    def wait_for(self, text, limit_s=60):
        """Read until the text is there; return what came with it."""
        end, before = time.monotonic() + limit_s, len(self.output)
        while text not in self.output[before:]:
            assert time.monotonic() < end, self.output
            try:
                data = os.read(self.main, 65536)
            except OSError:
                break
            self.output += data.decode().replace("\r\n", "\n")
        assert text in self.output[before:], self.output
        return self.output[before:]

    def answer(self, text, until):
        """Type a line and read on."""
        os.write(self.main, f"{text}\n".encode())
        return self.wait_for(until)

    def end(self):
        """Return the exit code."""
        try:
            while data := os.read(self.main, 65536):
                self.output += data.decode().replace("\r\n", "\n")
        except OSError:
            pass
        code = self.process.wait(timeout=60)
        os.close(self.main)
        return code
