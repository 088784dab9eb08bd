"""No path of one machine and no host of a package registry in a tracked file."""

import re

import source_tree

# Brackets keep the patterns from finding themselves.
MACHINE = re.compile(r"/[w]ork/|/[f]arm/|/[r]oot/|/[h]ome/\w+/"
                     r"|https?://(?:[d]eb|[s]ecurity|[r]egistry|[f]iles|[p]roxy|[r]epo[0-9]?|[s]tatic|[i]ndex)\.")


def problems_in(path, text):
    return [f"{path}:{number}: {match.group()}" for number, line in enumerate(text.splitlines(), 1)
            for match in MACHINE.finditer(line)]


if __name__ == "__main__":
    source_tree.report([problem for path in source_tree.tracked_files()
                        for problem in problems_in(path, source_tree.read(path))], "portable paths")
