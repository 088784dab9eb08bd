"""Lists which field-report cases tests name, and at which level: of the store, of the service.

Fails when a required case has no test at one of its levels, and when a test names a case that
docs/field-reports.md does not restate.
"""

import collections
import re

import source_tree

REQUIRED = ("F04 F15 F21 F22 F25 F26 F27 F28 F30 F34 F36 F37 F44 F48"
            " M01 M02 M03 M04 M05 M06 M09 M10 M11 M12 M13 M16 M18 M19 M21").split()
# Only the service has connections and metrics.
OF_THE_SERVICE_ONLY = ("F44", "F48")
CASE = re.compile(r"(?<![0-9A-Zx])[FM][0-9]{2}(?![0-9])")
TEST_SOURCE = (".cc", ".h", ".py", ".sh", ".go", ".java", ".ts", ".rs")


def cases_in(text):
    return set(CASE.findall(text))


def level(path):
    return "store" if re.match(r"(?:tests/)?storage/", path) else "service"


def levels(paths):
    return {level(path) for path in paths}


def missing(named):
    """(case, level) of each required case without a test there; `named`: paths by case."""
    return [(case, wanted) for case in REQUIRED for wanted in ("store", "service")
            if wanted not in levels(named.get(case, ()))
            and not (wanted == "store" and case in OF_THE_SERVICE_ONLY)]


def main():
    named = collections.defaultdict(list)
    for path in source_tree.tracked_files():
        if source_tree.is_test(path) and path.endswith(TEST_SOURCE) and not path.startswith("tests/checks/"):
            for case in cases_in(source_tree.read(path)):
                named[case].append(path)
    for case in sorted(named):
        print(f"{case}  {' and '.join(sorted(levels(named[case]), reverse=True)):17}  {'  '.join(named[case])}")
    described = cases_in(source_tree.read("docs/field-reports.md"))
    source_tree.report([f"{case}: no test of the {where} names it" for case, where in missing(named)]
                       + [f"{case}: not in docs/field-reports.md" for case in sorted(named) if case not in described],
                       "field reports")


if __name__ == "__main__":
    main()
