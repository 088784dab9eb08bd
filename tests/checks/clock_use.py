"""Nobody asks for the time or sleeps but through the Clock: a fake one must be able to rule."""

import re

import source_tree

ALLOWED = re.compile(r"storage/clock\.cc$|client/cpp/(?:\w+/)*clock\.cc$")
DIRECT = re.compile(
    r"\babsl::(?:Now|SleepFor|GetCurrentTimeNanos)\b"
    r"|\b(?:system|steady|high_resolution)_clock::now\b"
    r"|\bsleep_(?:for|until)\b"
    r"|(?<![\w.>:])(?:::)?(?:sleep|usleep|nanosleep|clock_nanosleep|clock_gettime|gettimeofday)\s*\("
    r"|\bstd::time\s*\(|(?<![\w.>:])time\s*\(\s*(?:nullptr|NULL|0)\s*\)"
    # Waits by a real clock that look harmless.
    r"|\bwait_(?:for|until)\s*\(")


def problems_in(path, text):
    if ALLOWED.match(path) or source_tree.is_test(path):
        return []
    code = source_tree.code_only(text)
    return [f"{path}:{code.count(chr(10), 0, match.start()) + 1}: '{match.group().strip()}': use storage::Clock"
            " (in the client: its own clock.h)"
            for match in DIRECT.finditer(code)]


if __name__ == "__main__":
    source_tree.report([problem for path in source_tree.cpp_files()
                        for problem in problems_in(path, source_tree.read(path))], "clock use")
