"""Files over 400 lines are named, over 600 refused; so are functions over 70 lines."""

import ast
import re

import source_tree

FILE_NAMED, FILE_LIMIT, FUNCTION_LIMIT = 400, 600, 70
CODE = (".cc", ".h", ".py", ".proto", ".go", ".java", ".ts", ".rs")
_NOT_A_FUNCTION = re.compile(r"^\s*(?:if|for|while|switch|catch|else|do|namespace|class|struct|enum|union|extern|"
                             r"return|try)\b|=\s*$|\benum\b")
_SIGNATURE_END = re.compile(r"\)\s*(?:(?:const|noexcept|override|final|mutable|&&?)\s*)*(?:->[^;{}]*)?$"
                            r"|\)\s*:[^;]*$")


def cpp_functions(text):
    """(first line, last line, head) of each outermost block that follows a signature."""
    code = re.sub(r"^[ \t]*#[^\n]*(?:\\\n[^\n]*)*", lambda m: re.sub(r"[^\n]", " ", m.group()),
                  source_tree.code_only(text), flags=re.MULTILINE)
    stack, inside, head_start, found = [], 0, 0, []
    for position, char in enumerate(code):
        if char == "{":
            head = code[head_start:position].strip()
            is_function = not inside and _SIGNATURE_END.search(head) and not _NOT_A_FUNCTION.search(head)
            begin = head_start + len(code[head_start:position]) - len(code[head_start:position].lstrip())
            stack.append((is_function, begin, head))
            inside += bool(is_function)
        elif char == "}" and stack:
            is_function, begin, head = stack.pop()
            if is_function:
                inside -= 1
                found.append((code.count("\n", 0, begin) + 1, code.count("\n", 0, position) + 1, head))
        if char in "{};":
            head_start = position + 1
    return found


def python_functions(text):
    return [(node.lineno, node.end_lineno, node.name) for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def long_functions(path, text):
    functions = python_functions(text) if path.endswith(".py") else cpp_functions(text)
    return [f"{path}:{first}: a function of {last - first + 1} lines, at most {FUNCTION_LIMIT}:"
            f" {' '.join(head.split())[:80]}"
            for first, last, head in functions if last - first + 1 > FUNCTION_LIMIT]


def main():
    problems = []
    for path in source_tree.tracked_files():
        if not path.endswith(CODE):
            continue
        text = source_tree.read(path)
        lines = text.count("\n")
        if lines > FILE_LIMIT:
            problems.append(f"{path}: {lines} lines, at most {FILE_LIMIT}: split it")
        elif lines > FILE_NAMED:
            print(f"look twice: {path} has {lines} lines")
        if path.endswith((*source_tree.CPP, ".py")):
            problems += long_functions(path, text)
    source_tree.report(problems, "sizes")


if __name__ == "__main__":
    main()
