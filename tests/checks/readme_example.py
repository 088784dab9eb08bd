"""Runs the worked example of the README against a real server and compares what it prints.

    readme_example.py [--update]

--update writes the output into the README instead; look at the difference before you commit it.
Identities and times differ from run to run: they are compared by their shape.
"""

import argparse
import difflib
import os
import re
import sys
import tempfile

import source_tree

sys.path.insert(0, str(source_tree.ROOT / "tests/e2e"))
import snowlease_e2e  # noqa: E402  (its folder is not a package)

README = source_tree.ROOT / "README.md"
BLOCK = re.compile(r"(<!-- example: begin[^>]*-->\n```console\n)(.*?)(```\n<!-- example: end -->)", re.DOTALL)
END = "end-of-output-of-one-command"
SHAPES = (
    (re.compile(r"\b[0-9a-f]{32}\b"), "HEX32"),
    # 1970 is no time but "none".
    (re.compile(r"\b(?!1970)\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?"), "DATE"),
    (re.compile(r"\b1[6-9]\d{11}\b"), "MILLIS"),
    (re.compile(r"\b\d{17,19}\b"), "ID"),
    # What is left of five minutes, and other times that the wall clock makes.
    (re.compile(r"\b(?:\d+m)?\d+(?:\.\d+)?s\b"), "DURATION"),
    (re.compile(r"[ \t]+"), " "),
)


def commands_and_outputs(block):
    """[(command, expected output)] of a console block; a command may go on after a backslash."""
    pairs = []
    lines = block.splitlines()
    while lines:
        line = lines.pop(0)
        if line.startswith("$ "):
            command = [line[2:]]
            while command[-1].endswith("\\"):
                command.append(lines.pop(0))
            pairs.append(("\n".join(command), []))
        else:
            pairs[-1][1].append(line)
    return [(command, "\n".join(output)) for command, output in pairs]


def shape(text):
    for pattern, name in SHAPES:
        text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def run(commands):
    """The output of each command; all run in one shell against one new server, as a reader would."""
    script = "exec 2>&1\n" + "".join(f"{command}\necho {END}\n" for command in commands)
    with tempfile.TemporaryDirectory() as directory:
        server = snowlease_e2e.Server(directory, "--admin-enabled").start()
        try:
            done = snowlease_e2e.run("bash", "-c", script, timeout=60, cwd=directory, environment={
                "PATH": f"{snowlease_e2e.BIN}:{os.environ['PATH']}", "NO_COLOR": "1",
                "SNOWLEASE_SERVER": server.target})
        finally:
            server.kill()
    # The reader's server is on the default address, which the command line leaves out.
    text = done.stdout.replace(f" --server {server.target}", "")
    return [output.strip("\n") for output in text.split(END + "\n")[:-1]]


def update(readme, match, pairs, outputs):
    block = "".join(f"$ {command}\n{output}\n" if output else f"$ {command}\n"
                    for (command, _), output in zip(pairs, outputs))
    README.write_text(readme[:match.start(2)] + block + readme[match.end(2):], encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    readme = README.read_text(encoding="utf-8")
    match = BLOCK.search(readme)
    if not match:
        sys.exit("README.md has no worked example between its marks")
    pairs = commands_and_outputs(match.group(2))
    outputs = run([command for command, _ in pairs])
    if options.update:
        update(readme, match, pairs, outputs)
        return
    differing = 0
    for (command, expected), output in zip(pairs, outputs):
        if shape(expected) != shape(output):
            differing += 1
            print(f"$ {command}")
            print("\n".join(difflib.unified_diff(expected.splitlines(), output.splitlines(), "README.md", "printed now",
                                                 lineterm="")))
    print(f"readme example: {len(pairs)} commands, {differing} with other output; "
          f"to mend: tests/checks/readme_example.py --update")
    sys.exit(1 if differing or len(outputs) != len(pairs) else 0)


if __name__ == "__main__":
    main()
