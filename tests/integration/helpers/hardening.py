"""Is a program hardened? Checks of an ELF file, for programs of a build and of packages."""
import re

from lib import equal, run


def flaws(program):
    """The hardening that the program lacks, as a list of words."""
    head = run("readelf", "--wide", "--file-header", "--program-headers", "--dynamic", program).stdout
    calls = set(re.findall(r" UND (\w+)", run("readelf", "--wide", "--dyn-syms", program).stdout))
    present = {
        "position-independent": re.search(r"Type: +DYN", head) and re.search(r"Flags:.* PIE", head),
        "read-only relocations": " GNU_RELRO " in head,
        "bound at its start": re.search(r"Flags:.* NOW", head),
        "no executable stack": re.search(r" GNU_STACK .* RW +0x", head),
        "stack protector": "__stack_chk_fail" in calls,
        "checked buffers": any(re.fullmatch(r"__\w+_chk", call) for call in calls),
    }
    return [words for words, there in present.items() if not there]


def hardened(*programs):
    for program in programs:
        equal(f"{program.name} is hardened: it lacks nothing", [], flaws(program))
