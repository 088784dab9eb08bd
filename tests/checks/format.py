"""C++ is as clang-format leaves it, with .clang-format at the root."""

import subprocess
import sys

import source_tree

files = source_tree.cpp_files()
result = subprocess.run(["clang-format-14", "--dry-run", "--Werror", "--ferror-limit=1", *files],
                        cwd=source_tree.ROOT, capture_output=True, text=True, check=False)
sys.stdout.write(result.stderr)
print(f"format: {len(files)} files; to mend: clang-format-14 -i FILE")
sys.exit(result.returncode)
