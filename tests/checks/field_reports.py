"""Lists which field-report cases tests name; fails when a required one is missing.

The cases are restated in docs/field-reports.md.
"""

import collections
import re

import source_tree

REQUIRED = ("F04 F15 F21 F22 F25 F26 F27 F28 F30 F34 F36 F37 F44 F48"
            " M01 M02 M03 M04 M05 M06 M09 M10 M11 M12 M13 M16 M18 M19 M21").split()
CASE = re.compile(r"(?<![0-9A-Zx])[FM][0-9]{2}(?![0-9])")
TEST_SOURCE = (".cc", ".h", ".py", ".sh", ".go", ".java", ".ts", ".rs")


def cases_in(text):
    return set(CASE.findall(text))


def level(path):
    return "store" if re.match(r"(?:tests/)?storage/", path) else "service"


def missing(named):
    return [case for case in REQUIRED if case not in named]


def main():
    named = collections.defaultdict(list)
    for path in source_tree.tracked_files():
        if source_tree.is_test(path) and path.endswith(TEST_SOURCE) and not path.startswith("tests/checks/"):
            for case in cases_in(source_tree.read(path)):
                named[case].append(path)
    for case in sorted(named):
        levels = sorted({level(path) for path in named[case]}, reverse=True)
        print(f"{case}  {' and '.join(levels):17}  {'  '.join(named[case])}")
    described = cases_in(source_tree.read("docs/field-reports.md"))
    source_tree.report([f"{case}: no test names it" for case in missing(named)]
                       + [f"{case}: not in docs/field-reports.md" for case in sorted(named) if case not in described],
                       "field reports")


if __name__ == "__main__":
    main()
