"""Every relative link in the documentation leads to a file and a heading that exist."""

import os
import re

import source_tree

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def prose(text):
    """The text without code."""
    without_fences = FENCE.sub(lambda m: "\n" * m.group().count("\n"), text)
    return re.sub(r"`[^`\n]*`", "", without_fences)


def anchors(text):
    """The anchors that a renderer makes of the headings."""
    made = set()
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*$", FENCE.sub("", text), re.MULTILINE):
        made.add(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"))
    return made


def problems_in(path, text, exists, read):
    found = []
    for target in LINK.findall(prose(text)):
        if EXTERNAL.match(target):
            continue
        file, _, anchor = target.partition("#")
        resolved = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not exists(resolved):
            found.append(f"{path}: link to {target}: no such file")
        elif anchor and resolved.endswith(".md") and anchor not in anchors(read(resolved)):
            found.append(f"{path}: link to {target}: no such heading")
    return found


def unlinked_adrs(files, index_text):
    return [f"{path}: not in docs/index.md" for path in files
            if re.fullmatch(r"docs/adr/\d{4}-[\w-]+\.md", path) and path.removeprefix("docs/") not in index_text]


def main():
    files = source_tree.tracked_files()
    problems = [problem for path in files if path.endswith(".md")
                for problem in problems_in(path, source_tree.read(path),
                                           lambda target: (source_tree.ROOT / target).exists(), source_tree.read)]
    source_tree.report(problems + unlinked_adrs(files, source_tree.read("docs/index.md")), "links")


if __name__ == "__main__":
    main()
