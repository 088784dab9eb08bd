"""No test is skipped, disabled or left for later, and no code is."""

import re

import source_tree

# Brackets keep the patterns from finding themselves.
LEFT_OUT = re.compile(r"GTEST[_]SKIP|\bDISABLED[_]\w|unittest\.[s]kip|pytest\.mark\.(?:[s]kip|[x]fail)|\bt\.[S]kip\("
                      r"|\bit\.[s]kip|@[D]isabled|#\[[i]gnore|SKIP[_]RETURN_CODE|\bWILL[_]FAIL\b"
                      r"|\b(?:TO[D]O|FIX[M]E|XX[X])\b|(?i:not [i]mplemented|un[i]mplemented\()")
SOURCE = (".cc", ".h", ".py", ".sh", ".go", ".java", ".ts", ".rs", ".txt", ".cmake", ".proto")


def problems_in(path, text):
    return [f"{path}:{number}: {match.group()}" for number, line in enumerate(text.splitlines(), 1)
            for match in LEFT_OUT.finditer(line)]


if __name__ == "__main__":
    source_tree.report([problem for path in source_tree.tracked_files()
                        if path.endswith(SOURCE) or "/" in path and "." not in path.rsplit("/", 1)[1]
                        for problem in problems_in(path, source_tree.read(path))], "honest tests")
