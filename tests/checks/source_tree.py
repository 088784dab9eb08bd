"""The files that the checks look at, and how a check reports."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPP = (".cc", ".h")


def tracked_files(root=ROOT):
    """Paths, relative to the root, of all files that git tracks or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, check=True).stdout
    paths = sorted({path for path in listed.decode().split("\0") if path})
    return [path for path in paths if (root / path).is_file()]


def read(path, root=ROOT):
    return (root / path).read_text(encoding="utf-8", errors="replace")


def cpp_files():
    return [path for path in tracked_files() if path.endswith(CPP)]


def is_test(path):
    """Tests, and what only they use: *_test.cc, *_test_support.h, scripted_*.h and the like."""
    name = path.rsplit("/", 1)[-1]
    return path.startswith("tests/") or re.search(r"_test(?:_\w+)?\.\w+$|^scripted_", name) is not None


_NOT_CODE = re.compile(
    r'R"(?P<tag>\w*)\(.*?\)(?P=tag)"'  # raw strings
    r"|//[^\n]*|/\*.*?\*/"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.DOTALL)


def code_only(text):
    """The text with comments and literals blanked out, line numbers kept."""
    return _NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def includes(text):
    """(line number, path) of every include."""
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if match:
            yield number, match.group(1)


def report(problems, what):
    """Prints the problems and ends the process: 1 when there are any."""
    for problem in problems:
        print(problem)
    print(f"{what}: {len(problems)} problem(s)")
    sys.exit(1 if problems else 0)
