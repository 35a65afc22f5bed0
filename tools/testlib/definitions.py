"""Finds the definitions of a source file by name: functions, tables, types and macros.

A definition in C begins in the first column and ends with a brace in the first column. Python: by indentation.
"""
import re
from dataclasses import dataclass


@dataclass
class Definition:
    name: str
    begin: int  # numbers of its first line and of the line after its last, from 0
    end: int


def c_name(head):
    """The name that the joined first lines of a definition define, or None."""
    if head.startswith("#define"):
        match = re.match(r"#define\s+(\w+)", head)
    elif match := re.match(r"(?:typedef )?(?:struct|enum|union) (\w+) \{", head):
        pass
    elif match := re.search(r"\b(\w+)(?:\[[^=]*\])* = ", head.partition("(")[0]):
        pass
    else:
        match = re.search(r"\b(\w+)\(", re.sub(r"\b(PRINTF|__attribute__)\((\([^()]*\)|[^()])*\)", "", head))
    return match and match[1]


def of_c(lines):
    head = None  # the number of the first line of the next definition
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.startswith("#"):
            begin = number
            while lines[number].endswith("\\") and number + 1 < len(lines):
                number += 1
            if line.startswith("#define"):
                yield Definition(c_name(line), begin, number + 1)
            head = None
        elif not line or line.startswith(("/*", " *", "}")):
            head = None
        elif line.startswith("{") or line.endswith("{"):
            begin = number if head is None else head
            while number + 1 < len(lines) and not lines[number].startswith("}"):
                number += 1
            name = c_name(" ".join(text.strip() for text in lines[begin:number + 1]))
            if name:
                yield Definition(name, begin, number + 1)
            head = None
        elif head is None:
            head = number
        if head is not None and line.endswith(";"):  # a declaration, or a variable
            name = c_name(" ".join(text.strip() for text in lines[head:number + 1]))
            if name and " = " in line:
                yield Definition(name, head, number + 1)
            head = None
        number += 1


def of_python(lines):
    for number, line in enumerate(lines):
        match = re.match(r"( *)(?:def|class) (\w+)", line)
        if not match:
            continue
        end = number + 1
        while end < len(lines) and (not lines[end].strip() or lines[end].startswith(match[1] + " ")):
            end += 1
        yield Definition(match[2], number, end)


def find(path, text):
    """All definitions of the file, in order; a definition inside another follows the other."""
    lines = text.split("\n")
    if path.suffix in (".c", ".h"):
        return list(of_c(lines))
    return list(of_python(lines)) if text.startswith("#!/usr/bin/") and "python" in lines[0] or path.suffix == ".py" else []
