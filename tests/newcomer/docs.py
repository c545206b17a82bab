"""Somebody who reads the book and types every command of it, page by page, and compares what comes with what is printed.

    HANSE=BINARY TOOLS=FOLDER_OF_KUBECTL tests/newcomer/docs.py [PAGE...]

In a block that is fenced as `console`, a line that begins with `$ ` is typed, lines that begin with `> ` go with it, and
what follows has to come. `...` stands for anything: a line of it for any number of lines. How old something is, UIDs, times
and ports of this machine may be others than in the book, and so may the number of blanks between words. What is only looked
at is looked at again until it is as printed: changes take their time.

    console            one shell for the whole page, in a folder of its own that has examples/ and deploy/ in it
    console server     in a terminal of its own; it has to say what is printed, runs until the page ends, and has to end well
    console screen 80  drawn on a terminal of so many columns, by a program that is left with q; compared as it looks
    console fails      every command of it has to fail
"""

import glob
import os
import re
import subprocess
import sys
import tempfile
import time

from stage import ENVIRONMENT, HANSE, PATIENCE, ROOT, Terminal, plain

LOOKING = re.compile(r"^(kubectl( --?\S+( \S+)?)*? (get|auth)|hanse (explain|status|fsck|cell list)|curl|grep) ?")
END = "--- what was typed has ended:"

# In other runs these are others.
VARYING = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"(127\.0\.0\.1|localhost):\d+"), r"\1:PORT"),
    (re.compile(r"(?<![\w.-])(\d+d)?(\d+h)?(\d+m)?(\d+s)?(?<=[dhms])(?![\w.-])"), "AGE"),
]


class Step:
    def __init__(self, line, command):
        self.line, self.command, self.expected = line, command, []


class Block:
    def __init__(self, manner):
        self.manner, self.steps = manner, []


def blocks(text):
    """The blocks of a page that are typed."""
    found, block = [], None
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"^```(.*)$", line)
        if fence and block is None:
            words = fence.group(1).split()
            block = Block(words[1:]) if words[:1] == ["console"] else Block(None)
        elif fence:
            if block.manner is not None:
                assert block.steps, f"line {number}: a console block in which nothing is typed"
                found.append(block)
            block = None
        elif block is None:
            assert not line.startswith("$ "), f"line {number}: a command that is in no block"
        elif block.manner is None:
            continue
        elif line.startswith("$ "):
            block.steps.append(Step(number, line[2:]))
        elif line.startswith("> ") and not block.steps[-1].expected:
            block.steps[-1].command += "\n" + line[2:]
        else:
            block.steps[-1].expected.append(line)
    assert block is None, "a block that does not end"
    return found


def same_in_all_runs(text):
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return re.sub(r"\s+", " ", text).strip()


def pattern_of(expected):
    """What fits the lines of the book."""
    parts = []
    for line in expected:
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            words = [re.escape(same_in_all_runs(word)) if word.strip() else "" for word in line.split("...")]
            parts.append(" ?.*? ?".join(words) + r"\n")
    return re.compile("".join(parts))


def fits(expected, text):
    # What turns while somebody waits is gone when they have waited.
    shown = (line for line in plain(text).splitlines() if not re.match("[\u2800-\u28ff] ", line))
    lines = [same_in_all_runs(line) for line in shown]
    while lines and not lines[-1]:
        lines.pop()
    shown = list(expected)
    while shown and not shown[-1].strip():
        shown.pop()
    return pattern_of(shown).fullmatch("".join(line + "\n" for line in lines)) is not None


class Shell:
    """One shell, to which one command is given after the other."""

    def __init__(self, environment, folder):
        self.process = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env=environment, cwd=folder, text=True, bufsize=1)

    def run(self, command):
        self.process.stdin.write(f"{{ {command}\n}} </dev/null\nended=$?; echo; echo '{END}' $ended\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith(END):
                text = "".join(lines)
                return int(line.split()[-1]), text[:-1] if text.endswith("\n\n") or text == "\n" else text
            lines.append(line)
        raise AssertionError(f"the shell ended: {''.join(lines)}")

    def end(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


class Reader:
    """Somebody with one page of the book before them."""

    def __init__(self, page, folder):
        self.page, self.folder, self.servers = page, folder, []
        tools = os.path.join(folder, "bin")
        os.makedirs(tools)
        with open(os.path.join(tools, "hanse"), "w") as program:
            # As it is called in the book, on a port that nobody else has, unless the book names one.
            program.write(f"""#!/bin/bash
case "$1 $*" in
*--listen*) ;;
serve\\ *|dev\\ *) exec -a hanse {HANSE} "$@" --listen 127.0.0.1:0 ;;
esac
exec -a hanse {HANSE} "$@"
""")
        os.chmod(os.path.join(tools, "hanse"), 0o755)
        self.home = os.path.join(folder, "home")
        os.makedirs(self.home)
        for name in ("examples", "deploy"):
            os.symlink(os.path.join(ROOT, name), os.path.join(self.home, name))
        self.environment = dict(ENVIRONMENT, PATH=tools + os.pathsep + ENVIRONMENT["PATH"], HOME=self.home, TERM="xterm-256color")
        self.environment.pop("KUBECONFIG", None)
        self.shell = Shell(self.environment, self.home)

    def wrong(self, step, code, came):
        shown = "\n".join(step.expected)
        raise AssertionError(f"{self.page}:{step.line}: {step.command}\n--- the book says\n{shown}\n--- what came (exit {code})\n{plain(came)}")

    def type(self, block):
        for step in block.steps:
            if "server" in block.manner:
                self.serve(step)
            elif "screen" in block.manner:
                self.look(step, int(block.manner[-1]))
            else:
                self.run(step, "fails" in block.manner)

    def run(self, step, fails):
        deadline = time.monotonic() + PATIENCE
        while True:
            code, came = self.shell.run(step.command)
            if (code != 0) == fails and fits(step.expected, came):
                return
            if not LOOKING.match(step.command) or time.monotonic() > deadline:
                self.wrong(step, code, came)
            time.sleep(0.2)

    def serve(self, step):
        server = Terminal("bash", "--norc", "-c", f"exec {step.command}", environment=self.environment, folder=self.home)
        self.servers.append((step, server))
        try:
            server.until_it(lambda text: fits(step.expected, text), "what the book says")
        except AssertionError as error:
            self.wrong(step, "none", str(error))

    def look(self, step, columns):
        import pyte

        rows = len(step.expected)
        assert rows > 0, f"{self.page}:{step.line}: a screen without anything on it"
        environment = dict(self.environment, **dict(line.split("=", 1) for line in self.shell.run("env")[1].splitlines() if "=" in line))
        program = Terminal("bash", "--norc", "-c", f"exec {step.command}", environment=environment, folder=self.home, size=(rows, columns))
        deadline = time.monotonic() + PATIENCE
        drawn = []
        while True:
            program.read(0.2)
            screen = pyte.Screen(columns, rows)
            pyte.Stream(screen).feed(program.text)
            drawn = [line.rstrip() for line in screen.display]
            if fits(step.expected, "\n".join(drawn)):
                break
            if time.monotonic() > deadline:
                program.kill()
                self.wrong(step, "none", "\n".join(drawn))
        program.type(b"q")
        code = program.end()
        assert code == 0, f"{self.page}:{step.line}: exit {code}"

    def close(self, well):
        self.shell.end()
        for step, server in reversed(self.servers):
            code = server.interrupt()
            assert not well or code == 0 or not step.command.startswith("hanse"), f"{self.page}:{step.line}: {step.command} ended with {code}"


def read(page):
    with open(os.path.join(ROOT, page)) as file:
        found = blocks(file.read())
    if not found:
        return 0, 0
    if page.startswith("examples/"):
        # They are for whoever has a federation to try.
        begin = blocks("```console server\n$ hanse dev\nHanse is ready: ...\n...\n```\n```console\n$ export KUBECONFIG=$PWD/hanse-data/dev.kubeconfig\n```\n")
        found = begin + found
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(page, folder)
        well = False
        try:
            for block in found:
                reader.type(block)
            well = True
        finally:
            reader.close(well)
    steps = [step for block in found for step in block.steps]
    return len(steps), sum(compared(step.expected) for step in steps)


def compared(expected):
    """How many lines of the book had to come."""
    return sum(1 for line in expected if line.strip() not in ("", "..."))


def main(chosen):
    pages = [os.path.relpath(page, ROOT) for pattern in ("docs/src/**/*.md", "examples/*/README.md")
             for page in sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True))]
    wanted = [page for page in pages if not chosen or any(word in page for word in chosen)]
    assert wanted, f"no page is called {chosen}"
    failed, commands, lines = [], 0, 0
    for page in wanted:
        began = time.monotonic()
        try:
            typed, came = read(page)
            commands, lines = commands + typed, lines + came
            took = time.monotonic() - began
            print(f"ok: {page}: {typed} commands, {took:.0f} s" if typed else f"--: {page}: nothing to type", flush=True)
        except AssertionError as error:
            print(f"FAILED: {error}", flush=True)
            failed.append(page)
    if failed:
        sys.exit(f"not as the book says: {', '.join(failed)}")
    print(f"the book is right: {commands} commands typed, {lines} lines of what came compared")


if __name__ == "__main__":
    main(sys.argv[1:])
