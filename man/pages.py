"""The pages, the sources and the programs, for man/check and man/check-programs: what stands where, and whether it agrees.

Both take SOURCE-ROOT and BUILD-ROOT, and print TAP, as the other unit tests do.
"""
import functools
import re
import subprocess
import sys
from pathlib import Path

SOURCE, BUILD = map(Path, sys.argv[1:])
PROGRAMS = {"localiofs": "src/localiofs", "localioctl": "src/ctl/localioctl",
            "localiofs-sidecar": "src/sidecar/localiofs-sidecar", "localiofs-mounter": "src/mounter/localiofs-mounter"}
counts = {"all": 0, "failed": 0}


def section(page, title=None):
    """A page, or what stands under one of its .Ss or .Sh."""
    text = (SOURCE / "man" / page).read_text()
    if not title:
        return text
    found = re.search(rf"^\.S[sh] {title}\n(.*?)(?=^\.S[sh] )", text, re.M | re.S)
    return found[1] if found else ""


def names(text, macro):
    """The words behind the macro at the beginning of lines, which name several with commas between."""
    return set(re.findall(r"\w+", " ".join(re.findall(rf"^\.{macro} (.+)$", text, re.M)))) - {"Cm", "No"}


@functools.cache
def usage(program):
    return subprocess.run([BUILD / PROGRAMS[program], "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout


def items(text, macro):
    """What follows the macro on the .It lines; one line may name several."""
    lines = re.findall(r"^\.It (.+)$", text, re.M)
    return {name for line in lines for name in re.findall(rf"(?<!Ns )\b{macro} ([\w.-]+)", line)}


@functools.cache
def option_table():
    """The one table of mount options, as the source has it: by what becomes of an option, its names."""
    source = (SOURCE / "src/mount/options_table.c").read_text()
    lines = re.search(r"option_entry option_table\[\] = \{\n(.*?)^\};", source, re.M | re.S)[1]
    kinds = {"ACCEPT": "accepted", "SHOWN": "remount", "REFUSE": "refused"}
    table = {kind: set() for kind in ("options", *kinds.values())}
    for macro, name in re.findall(r'\b([A-Z_]+)\("([\w.]+)"', lines):
        table[kinds.get(macro.partition("_")[0], "options")].add(name)
    lines = re.search(r"refused_values\[\] = \{\n(.*?)^\};", source, re.M | re.S)[1]
    table["refused"] |= {f"{name}={value}" for name, value in re.findall(r'\{"(\w+)", "([\w.]+)"', lines)}
    return table


def agree(what, documented, real):
    """Prints whether two sets are the same: that of a page, and that of the sources or of a program."""
    counts["all"] += 1
    missing, stale = sorted(real - documented), sorted(documented - real)
    good = real and not missing and not stale
    counts["failed"] += not good
    print(f"{'ok' if good else 'not ok'} {counts['all']} - {what}")
    if not good:
        print(f"#   not in the page: {missing}\n#   in the page only: {stale}")


def finish():
    print(f"1..{counts['all']}")
    sys.exit(1 if counts["failed"] else 0)
