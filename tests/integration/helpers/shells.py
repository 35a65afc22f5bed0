"""Real completion requests to interactive shells: Bash(env), Zsh(env) and Fish(env) have completions(line), which is the set
of words that the shell offers for the last word of the line.

bash and zsh run on a terminal. A key makes them put all that they offer into the line, and another key makes them send the
line through a pipe, so that no test reads a screen.
"""
import os
import pty
import re
import select
import shlex
import subprocess
import threading


def last_word(line):
    """Where the last word begins, whose blanks have backslashes."""
    return re.match(r"(?:.*(?<!\\) )?", line).end()


class Terminal:
    """An interactive shell. setup: its commands, in which {fd} is the pipe's descriptor."""

    def __init__(self, argv, setup, env):
        self.read, write = os.pipe()
        self.terminal, inside = pty.openpty()
        self.process = subprocess.Popen(argv, stdin=inside, stdout=inside, stderr=inside, pass_fds=[write],
                                        start_new_session=True, env={**env, "TERM": "dumb", "LINES": "1000", "COLUMNS": "1000"})
        os.close(inside)
        os.close(write)
        self.screen = b""
        threading.Thread(target=self.drain, daemon=True).start()
        for line in setup:
            os.write(self.terminal, line.replace("{fd}", str(write)).encode() + b"\n")
        os.write(self.terminal, f"printf 'ready\\0' >&{write}\n".encode())
        self.answer()

    def drain(self):
        """The shell must not wait for the terminal."""
        try:
            while data := os.read(self.terminal, 4096):
                self.screen = (self.screen + data)[-4000:]
        except OSError:
            pass  # the shell has ended

    def answer(self):
        got = b""
        while not got.endswith(b"\0"):
            if not select.select([self.read], [], [], 60)[0] or not (data := os.read(self.read, 65536)):
                raise AssertionError(f"the shell sent no line; its screen: {self.screen.decode(errors='replace')}")
            got += data
        return got[:-1].decode()

    def completions(self, line):
        os.write(self.terminal, line.encode() + b"\x18*\x18d")  # ^X* inserts, ^Xd sends
        return self.words(line, self.answer())

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)
        os.close(self.read)


class Bash(Terminal):
    def __init__(self, env):
        super().__init__(["bash", "--norc", "--noprofile", "-i"],
                         [". /usr/share/bash-completion/bash_completion",
                          r"""bind '"\C-x*": insert-completions'""",
                          r"""bind -x '"\C-xd": printf "%s\0" "$READLINE_LINE" >&{fd}; READLINE_LINE=; READLINE_POINT=0'"""], env)

    @staticmethod
    def words(line, answer):
        """What comes after the last word break of the line (COMP_WORDBREAKS); the shell keeps what is before it."""
        begin = last_word(line)
        keep = max(begin, line.rfind("=") + 1, line.rfind(":") + 1)
        return {line[begin:keep] + word for word in shlex.split(answer[keep:])} - {line[begin:]}


class Zsh(Terminal):
    def __init__(self, env):
        super().__init__(["zsh", "-f", "-i"],
                         [f"fpath=({env['ZSH_FUNCTIONS']} $fpath); autoload -U compinit && compinit -u -D",
                          "zstyle ':completion:*' completer _all_matches _complete; zstyle ':completion:*' insert true",
                          """send() { printf '%s\\0' "$BUFFER" >&{fd}; BUFFER= }; zle -N send""",
                          "bindkey '^X*' complete-word; bindkey '^Xd' send"], env)

    @staticmethod
    def words(line, answer):
        begin = last_word(line)
        return set(shlex.split(answer[begin:])) - {line[begin:]}


class Fish:
    def __init__(self, env):
        self.env = env

    def completions(self, line):
        ran = subprocess.run(["fish", "-c", "complete --do-complete $argv[1]", line], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env, timeout=60, check=False)
        if ran.stderr:
            raise AssertionError(ran.stderr)
        return {found.partition("\t")[0] for found in ran.stdout.splitlines()}

    def end(self):
        pass
