"""Runs Python code piece by piece, and keeps its variables between the pieces.

Requests arrive on descriptor 3, as one JSON object per line: {"code", "env"}. Events go to descriptor 4, one per line:
{"stdout"}, {"stderr"}, both with {"flushed"} after a flush, {"result", "main"} with MIME types as keys, {"error": {"name", "value", "traceback"}},
and at the end {"done": true}. Child processes write to descriptors 1 and 2 instead.
"""

import builtins
import codecs
import contextlib
import io
import linecache
import os
import signal
import sys
import threading
import traceback
import types
from json import loads

# No bytecode is written into the folder of this file.
sys.dont_write_bytecode, kept = True, sys.dont_write_bytecode
import hookbox_cells as cells  # noqa: E402
import hookbox_libraries as libraries  # noqa: E402
import hookbox_shell as shell  # noqa: E402
from hookbox_display import as_json  # noqa: E402

sys.dont_write_bytecode = kept

REQUESTS, EVENTS = 3, 4
requests = os.fdopen(REQUESTS, "r", encoding="utf-8")
events = os.fdopen(EVENTS, "wb", buffering=0)
os.set_inheritable(REQUESTS, False)
os.set_inheritable(EVENTS, False)
kernel_pid = os.getpid()
sending = threading.RLock()
OWN = {__file__, cells.__file__, libraries.__file__, shell.__file__}


class Interrupts:
    """Handles SIGINT: interrupts the code, but never while a line is being sent."""

    def __init__(self):
        self.sending = 0
        self.late = False

    def handle(self, *_):
        if self.sending:
            self.late = True
        else:
            raise KeyboardInterrupt

    def raise_late(self):
        if self.late and not self.sending:
            self.late = False
            raise KeyboardInterrupt


interrupts = Interrupts()


def is_forked():
    """Returns whether this process is a fork of the code. A fork must not write to the descriptors of hookbox."""
    return os.getpid() != kernel_pid


def send(**event):
    if is_forked():
        return write_plainly(**event)
    data = memoryview(as_json(event).encode("utf-8", "backslashreplace") + b"\n")
    on_main = threading.current_thread() is threading.main_thread()
    interrupts.sending += on_main
    try:
        with sending:
            while data:
                data = data[events.write(data):]
    finally:
        interrupts.sending -= on_main
    if on_main:
        interrupts.raise_late()


def write_plainly(stdout="", stderr="", result=None, error=None, **_):
    """Writes the output of a fork to descriptors 1 and 2, as other child processes do."""
    shown = "" if result is None else f"{result.get('text/plain', '')}\n"
    failed = "" if error is None else error["traceback"]
    for descriptor, text in (1, stdout + shown), (2, stderr + failed):
        if text:
            os.write(descriptor, text.encode("utf-8", "backslashreplace"))


def leave_to_parent():
    for descriptor in REQUESTS, EVENTS:
        try:
            os.close(descriptor)
        except OSError:
            pass


class Output(io.TextIOBase):
    """sys.stdout or sys.stderr. Its texts are sent as events, so that they stay in order with the results."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, name, descriptor):
        self.name = f"<{name}>"
        self.stream = name
        self.descriptor = descriptor
        self.is_flushed = True
        self.buffer = OutputBytes(self)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self.buffer.finish()
        self.show(text)
        return len(text)

    def show(self, text):
        if text:
            self.is_flushed = False
            send(**{self.stream: text})

    def flush(self):
        if not self.is_flushed:
            self.is_flushed = True
            send(**{self.stream: "", "flushed": True})

    def reconfigure(self, **_):
        pass

    def close(self):
        """Does nothing. Programs close their output at their end, and the next code would print into a closed file."""

    def fileno(self):
        return self.descriptor

    def writable(self):
        return True


class OutputBytes(io.RawIOBase):
    """The `buffer` of an Output, which takes bytes. The bytes of one character may arrive in several writes."""

    def __init__(self, output):
        self.output = output
        self.decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data):
        data = bytes(data)
        if is_forked():
            return os.write(self.output.descriptor, data)
        self.output.show(self.decoder.decode(data))
        return len(data)

    def finish(self):
        """Sends the first bytes of an incomplete character."""
        self.output.show(self.decoder.decode(b"", final=True))

    def flush(self):
        self.output.flush()

    def writable(self):
        return True


def without_own(shown):
    """Removes the frames of this file, in which print() and interrupted code end."""
    rest = [shown]
    while rest:
        one = rest.pop()
        if one:
            one.stack = traceback.StackSummary.from_list([each for each in one.stack if each.filename not in OWN])
            rest += [one.__cause__, one.__context__]
    return shown


def answer_of(ask, otherwise):
    """Returns the result of `ask`, or `otherwise` if it fails: an error can fail again when it is converted to text."""
    try:
        return ask()
    except BaseException:
        return otherwise


#: The text that Python's own tracebacks use.
UNTOLD = "<exception str() failed>"


def report(error):
    # The name of the type itself: a metaclass can define another `__name__`.
    name = type.__dict__["__name__"].__get__(type(error))
    value = answer_of(lambda: str(error), UNTOLD)
    text = answer_of(lambda: traceback_of(error), f"{name}: {value}\n")
    send(error={"name": name, "value": value, "traceback": text})


def traceback_of(error):
    trace = error.__traceback__
    # Frames above the code are ours. A syntax error has no frames below them.
    while trace and not cells.is_cell(trace.tb_frame):
        trace = trace.tb_next
    shown = traceback.TracebackException(type(error), error, trace)
    return "".join(without_own(shown).format())


@contextlib.contextmanager
def variables(env):
    """Sets variables of the environment, and gives them back their previous values."""
    before = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def run(code, count, space):
    """Runs code. Returns the exit code that a process would have that runs only this code."""
    name = f"<cell {count}>"
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    interrupts.late = False
    signal.signal(signal.SIGINT, interrupts.handle)
    try:
        # Before this, an interrupt would be lost.
        send(begun=True)
        value = cells.execute(code, name, space)
        if value is not None:
            space["_"] = value
            if not libraries.is_open_figure(value):
                libraries.display_main(value)
        libraries.show_rest(value)
        for output in outputs:
            output.buffer.finish()
        return 0
    except BaseException as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if is_forked() and isinstance(error, SystemExit):
            return error.code if isinstance(error.code, int) else int(error.code is not None)
        report(error)
        return 1
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


outputs = [Output("stdout", 1), Output("stderr", 2)]


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # This signal only makes a blocking call return, so that Python handles an interrupt that arrived before.
    signal.signal(signal.SIGURG, lambda *_: None)
    os.register_at_fork(after_in_child=leave_to_parent)
    sys.stdout, sys.stderr = outputs
    sys.path[0] = ""
    sys.argv = [""]
    libraries.install(send)
    builtins.display = libraries.display
    setattr(builtins, shell.SHELL, shell.shell)
    setattr(builtins, shell.MAGIC, shell.magic)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    send(ready=True)
    for count, line in enumerate(requests, 1):
        status = 0
        try:
            # Python ignores a byte order mark at the beginning of a file, but not of a string.
            request = loads(line)
            with variables(request["env"]):
                status = run(request["code"].removeprefix("\ufeff"), count, module.__dict__)
        except KeyboardInterrupt:
            # The interrupt arrived after the end of the code.
            pass
        if is_forked():
            # This process is a fork that the code has made: it must not run the next code.
            os._exit(status & 0xFF)
        send(done=True)


main()
