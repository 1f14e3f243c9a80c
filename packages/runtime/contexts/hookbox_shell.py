"""Lines that are no Python, as in IPython: `!command`, `%pip install`, and `%%bash` for all the code."""

import ast
import codecs
import importlib
import os
import re
import shlex
import site
import subprocess
import sys
import threading
import time

#: The functions that changed code calls. Their names cannot collide with names of the code.
SHELL, MAGIC = "__hookbox_shell__", "__hookbox_magic__"
#: How long to wait for the rest of the output of a command that has ended, in seconds. Its background processes may keep the
#: output open for ever.
REST = 0.2

#: Indent, target of an assignment, sign, and the rest.
LINE = re.compile(r"(\s*)([\w.,\[\]'\" ]+=\s*)?(!!?|%(?=[a-z]))(.*)", re.DOTALL)


def parse(code, name):
    """ast.parse for code with such lines. Each of them is changed only if Python rejects it: it may be part of a text."""
    try:
        return ast.parse(code, name)
    except SyntaxError as error:
        original = error
    if code.lstrip().startswith("%%"):
        return ast.parse(cell_call(code.lstrip()[2:]), name)
    lines = code.split("\n")
    error = original
    for _ in lines:
        if not change_line(lines, (error.lineno or 0) - 1):
            break
        try:
            return ast.parse("\n".join(lines), name)
        except SyntaxError as other:
            error = other
    raise original


def change_line(lines, at):
    """Makes line `at` a call; returns False if it is no such line. A backslash at its end joins the next line to it."""
    found = LINE.fullmatch(lines[at]) if 0 <= at < len(lines) else None
    if not found:
        return False
    indent, target, sign, text = found.groups()
    end = at
    while text.endswith("\\") and end + 1 < len(lines):
        end += 1
        text = f"{text[:-1]}{lines[end].strip()}" if sign == "%" else f"{text}\n{lines[end]}"
        # The number of lines stays, so that tracebacks show the right ones.
        lines[end] = ""
    function = MAGIC if sign == "%" else SHELL
    kept = ", True" if function == SHELL and (target or sign == "!!") else ""
    lines[at] = f"{indent}{target or ''}{function}({text.strip()!r}, globals(), locals(){kept})"
    return True


def cell_call(text):
    first, _, body = text.partition("\n")
    # Two line breaks, so that the call is on a line that the code has.
    return f"{MAGIC}({first.strip()!r}, globals(), locals(), {body!r})"


def shell(command, globals_, locals_, kept=False):
    """Runs a command of bash. Returns the lines of its output if it is `kept`; otherwise shows the output."""
    lines = []
    space = {**globals_, **locals_}
    status = run(["bash", "-c", filled(command, space)], lines.append if kept else None)
    globals_["_exit_code"] = status
    find_new_packages()
    return "".join(lines).splitlines() if kept else None


def run(argv, keep=None, text=""):
    """Runs a program, with `text` as its input, and shows its output as it arrives. Returns its exit code."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe)
    show = [keep or sys.stdout.write, sys.stderr.write]
    threads = [
        threading.Thread(target=pump, args=args, daemon=True) for args in zip((process.stdout, process.stderr), show)
    ]
    for thread in threads:
        thread.start()
    try:
        try:
            process.stdin.write(text.encode("utf-8", "surrogateescape"))
            process.stdin.close()
        except BrokenPipeError:
            pass
        status = process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    for thread in threads:
        thread.join(REST)
    return status


def pump(stream, show):
    # Not by lines, because a progress bar has none.
    pieces = iter(lambda: os.read(stream.fileno(), 1 << 16), b"")
    for text in codecs.iterdecode(pieces, "utf-8", "backslashreplace"):
        show(text)


def filled(command, space):
    """Replaces `{expression}` and `$name` by the values of the code. Where the code has no such value, the text stays."""

    def value(match):
        expression = match[1] or match[2]
        try:
            # Not a function of Python's own: `{print}` is for awk, and `$id` for the shell.
            return str(space[expression] if expression.isidentifier() else eval(expression, space))
        except Exception:
            return match[0]

    return re.sub(r"(?<![$\\])\{([^{}]+)\}|(?<![\\$])\$([A-Za-z_]\w*)", value, command)


def find_new_packages():
    """Makes packages importable that a command has just installed, also into a folder that did not exist before."""
    importlib.invalidate_caches()
    users = site.getusersitepackages()
    if site.ENABLE_USER_SITE and users not in sys.path and os.path.isdir(users):
        site.addsitedir(users)


def magic(line, globals_, locals_, body=None):
    """Runs `%name arguments`, or `%%name arguments` with the rest of the code as `body`."""
    name, _, rest = line.partition(" ")
    known, sign = (LINE_MAGICS, "%") if body is None else (CELL_MAGICS, "%%")
    if name not in known:
        raise NameError(f"Cannot run {sign}{name}: the known ones are {', '.join(sign + one for one in known)}")
    return known[name](filled(rest.strip(), {**globals_, **locals_}), globals_, body)


def pip(line, globals_, _):
    globals_["_exit_code"] = run([sys.executable, "-m", "pip", *shlex.split(line)])
    find_new_packages()


def cd(line, *_):
    os.chdir(os.path.expanduser(line or "~"))
    print(os.getcwd())


def env(line, *_):
    name, sign, value = line.partition("=")
    if sign:
        os.environ[name.strip()] = value.strip()
        return None
    return os.environ.get(name) if name else dict(os.environ)


def timed(line, globals_, body):
    start, cpu = time.perf_counter(), time.process_time()
    exec(compile(parse(body if body is not None else line, "<timed>"), "<timed>", "exec"), globals_)
    print(f"CPU time: {time.process_time() - cpu:.3g} s, wall time: {time.perf_counter() - start:.3g} s")


def script(program):
    def magic_of_program(line, globals_, body):
        argv = [program, *shlex.split(line)]
        status = globals_["_exit_code"] = run(argv, text=body)
        find_new_packages()
        if status:
            raise subprocess.CalledProcessError(status, argv)

    return magic_of_program


def writefile(line, _, body):
    *options, path = shlex.split(line)
    with open(os.path.expanduser(path), "a" if "-a" in options else "w", encoding="utf-8") as file:
        file.write(body)
    print(f"Wrote {path}")


def nothing(*_):
    """matplotlib shows its figures anyway."""


LINE_MAGICS = {"pip": pip, "cd": cd, "env": env, "time": timed, "matplotlib": nothing, "config": nothing}
CELL_MAGICS = {"bash": script("bash"), "sh": script("sh"), "time": timed, "writefile": writefile}
