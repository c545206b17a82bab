"""What somebody at a keyboard has: a terminal, the programs on their path, and patience."""

import os
import pty
import re
import select
import signal
import struct
import fcntl
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
EXAMPLES = os.path.join(ROOT, "examples")
HANSE = os.path.abspath(os.environ["HANSE"])
ENVIRONMENT = dict(os.environ, PATH=os.path.abspath(os.environ["TOOLS"]) + os.pathsep + os.environ["PATH"])
PATIENCE = 60


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *command, environment=None, folder=None, size=(24, 80)):
        self.text = ""
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            os.chdir(folder or os.getcwd())
            os.execvpe(command[0], command, environment or ENVIRONMENT)
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def read(self, seconds):
        """What comes within that time is in `text`; False if nothing comes."""
        ready, _, _ = select.select([self.screen], [], [], max(seconds, 0))
        if ready:
            self.text += os.read(self.screen, 65536).decode(errors="replace")
        return bool(ready)

    def until(self, pattern):
        return self.until_it(lambda text: re.search(pattern, text), repr(pattern))

    def until_it(self, holds, what):
        deadline = time.monotonic() + PATIENCE
        while not holds(self.text):
            try:
                if not self.read(deadline - time.monotonic()):
                    raise AssertionError(f"{what} never came:\n{self.text}")
            except OSError:
                raise AssertionError(f"it ended before {what}:\n{self.text}") from None
        return self.text

    def type(self, keys):
        os.write(self.screen, keys)

    def interrupt(self):
        self.type(b"\x03")
        return self.end()

    def end(self):
        """Reads to the end and answers the exit code."""
        try:
            while os.read(self.screen, 65536):
                pass
        except OSError:
            pass
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.end()


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")
