"""localioctl doctor under test: a case breaks one thing, and exactly the finding about this thing changes.

baseline = Doctor("SPEC", "-o", ...).  breaks(sentence, id, result, todo, ...) runs the doctor with the thing broken and compares.
"""
import functools
import json
import os
import subprocess

import lib

PARAMETER = "/sys/module/fuse/parameters/enable_uring"
OFFERED = os.path.exists(PARAMETER)
LOCALIOCTL = os.environ.get("LOCALIOFS_BIN", "") + "/localioctl"


@functools.cache
def yes():
    path = lib.scratch() / "Y"
    path.write_text("Y\n")
    return path


def diagnose(*words, prefix=(), script="", env=None, pass_fds=()):
    """({id: its object}, {id: because}, exit status) of the doctor, as a command behind the prefix, after the script in a
    mount namespace of its own. Other tests may set enable_uring meanwhile, so that every doctor sees another file there."""
    uring = f"mount --bind {yes()} {PARAMETER} && " if OFFERED else ""
    command = f'{uring}{script or "true"} && exec "$@"'
    argv = ["unshare", "--mount", "--propagation=private", "sh", "-c", command, "sh", *prefix, LOCALIOCTL, "doctor", "--json",
            *words]
    result = subprocess.run(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, timeout=60, env={**os.environ, **(env or {})}, pass_fds=pass_fds)
    try:
        answer = json.loads(result.stdout)
    except ValueError:
        raise AssertionError(f"{argv}: status {result.returncode}: {result.stdout}{result.stderr}") from None
    return ({check["id"]: check for check in answer["checks"]},
            {check["id"]: check["because"] for check in answer["unchecked"]}, result.returncode)


class Doctor:
    """The doctor with these words, and its findings while nothing is broken."""

    def __init__(self, *words, **how):
        self.words, self.how = words, how
        self.checks, self.unchecked, self.status = diagnose(*words, **how)
        lib.equal(f"doctor {' '.join(map(str, words))}: it works, and nothing fails", (0, {}, []),
                  (self.status, self.unchecked, self.results("fail")))

    def results(self, result):
        return [name for name, check in self.checks.items() if check["result"] == result]

    def breaks(self, sentence, name, result, todo, *words, **how):
        """Exactly this check changes, to this result, and the others are as before or not made. todo is in its remedy.
        Returns the check's object."""
        checks, unchecked, status = diagnose(*(words or self.words), **{**self.how, **how})
        changed = {check: seen["result"] for check, seen in checks.items()
                   if seen["result"] != self.checks.get(check, {"result": "ok"})["result"]}
        wanted = {name: result} if result != "unknown" else {}
        details = "\n".join(f"{check['id']}: {check['result']}: {check['found']}" for check in checks.values()
                            if check["id"] in changed) + f"\nnot checked: {unchecked}"
        lib.true(f"{sentence}: {result} {name}, and nothing else",
                 changed == wanted and status == {"advice": 0, "fail": 1, "unknown": 2}[result]
                 and (result != "unknown" or name in unchecked), f"status {status}\n{details}")
        if result == "fail":
            lib.equal("... whatever is not checked for that reason says so", set(), set(unchecked.values()) - {name})
        if result != "unknown":
            found = checks.get(name, {"todo": "", "meaning": ""})
            lib.true(f"... with the remedy: {todo}", todo in found["todo"] and found["meaning"] != "", found)
            return found
        return None

    def mended(self, sentence, *words, **how):
        """Nothing differs from the beginning any more."""
        checks, unchecked, status = diagnose(*(words or self.words), **{**self.how, **how})
        lib.equal(sentence, (self.status, self.unchecked, {name: check["result"] for name, check in self.checks.items()}),
                  (status, unchecked, {name: check["result"] for name, check in checks.items()}))
