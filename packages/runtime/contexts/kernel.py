"""Runs Python code piece by piece and keeps what it leaves behind; it must not decide who may send code.

Descriptor 3 brings one JSON object per line, {"code"}, and descriptor 4 takes one per line:
{"stdout"}, {"stderr"}, {"result", "main"} with MIME types as keys, {"error": {"name", "value", "traceback"}},
and at last {"done": true}. What child processes write goes past this, to descriptors 1 and 2.
"""

import ast
import asyncio
import builtins
import importlib.abc
import importlib.machinery
import inspect
import io
import json
import linecache
import os
import signal
import sys
import threading
import traceback
import types

# What lies beside this file is not written to.
sys.dont_write_bytecode, kept = True, sys.dont_write_bytecode
from hookbox_display import as_json, bundle, encoded  # noqa: E402

sys.dont_write_bytecode = kept

BACKEND = "hookbox_matplotlib"

requests = os.fdopen(3, "r", encoding="utf-8")
events = os.fdopen(4, "wb", buffering=0)
os.set_inheritable(3, False)
os.set_inheritable(4, False)
kernel_pid = os.getpid()
sending = threading.RLock()
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)


class Interrupts:
    """SIGINT breaks the code off, but never in the middle of a line that is being sent."""

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


def send(**event):
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


class Output(io.TextIOBase):
    """sys.stdout or sys.stderr: in order with results. A forked child writes to the descriptor instead."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, name, descriptor):
        self.name = f"<{name}>"
        self.stream = name
        self.descriptor = descriptor
        self.buffer = OutputBytes(self)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if os.getpid() != kernel_pid:
            os.write(self.descriptor, text.encode("utf-8", "backslashreplace"))
        elif text:
            send(**{self.stream: text})
        return len(text)

    def fileno(self):
        return self.descriptor

    def writable(self):
        return True


class OutputBytes(io.RawIOBase):
    def __init__(self, output):
        self.output = output

    def write(self, data):
        self.output.write(bytes(data).decode("utf-8", "backslashreplace"))
        return len(data)

    def writable(self):
        return True


def display(*values, raw=False, **_):
    """Shows values in every form that they have; with raw=True they are dicts by MIME type."""
    for value in values:
        send(result={m: encoded(m, v) for m, v in value.items()} if raw else bundle(value), main=False)


def show_figures(*_, last=None, **__):
    """Shows matplotlib's open figures, and closes them; the one that is the last value is the main result."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums() if pyplot else []:
        figure = pyplot.figure(number)
        send(result=figure_forms(figure), main=figure is last)
        pyplot.close(figure)


def figure_forms(figure):
    png = io.BytesIO()
    figure.savefig(png, format="png", bbox_inches="tight")
    return {"text/plain": repr(figure), "image/png": encoded("image/png", png.getvalue())}


def is_open_figure(value):
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot is not None and any(pyplot.figure(number) is value for number in pyplot.get_fignums())


class BackendFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives matplotlib a backend whose show() shows here."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == BACKEND else None

    def exec_module(self, module):
        from matplotlib.backends.backend_agg import FigureCanvasAgg, FigureManagerBase

        module.FigureCanvas = FigureCanvasAgg
        module.FigureManager = FigureManagerBase
        module.show = show_figures


def execute(code, name, space):
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if tree.body:
        evaluate(compile(tree, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), space)
    if last is None:
        return None
    return evaluate(compile(ast.Expression(last.value), name, "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), space)


def evaluate(compiled, space):
    if not compiled.co_flags & inspect.CO_COROUTINE:
        return eval(compiled, space)
    return loop.run_until_complete(eval(compiled, space))


def without_own(shown):
    """Leaves out the frames of this file: print() ends in one, and so does what is interrupted."""
    if shown:
        shown.stack = traceback.StackSummary.from_list([one for one in shown.stack if one.filename != __file__])
        without_own(shown.__cause__)
        without_own(shown.__context__)
    return shown


def report(error):
    trace = error.__traceback__
    # What lies above the code is ours; an error of syntax has nothing below.
    while trace and not trace.tb_frame.f_code.co_filename.startswith("<cell "):
        trace = trace.tb_next
    shown = traceback.TracebackException(type(error), error, trace)
    text = "".join(without_own(shown).format())
    send(error={"name": type(error).__name__, "value": str(error), "traceback": text})


def run(code, count, space):
    name = f"<cell {count}>"
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    interrupts.late = False
    signal.signal(signal.SIGINT, interrupts.handle)
    try:
        # Until now an interrupt would have been lost.
        send(begun=True)
        value = execute(code, name, space)
        if value is not None:
            space["_"] = value
            if not is_open_figure(value):
                send(result=bundle(value), main=True)
        show_figures(last=value)
    except BaseException as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        report(error)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # It only makes a call that blocks return, so that an interrupt that came before is heeded.
    signal.signal(signal.SIGURG, lambda *_: None)
    sys.stdout, sys.stderr = Output("stdout", 1), Output("stderr", 2)
    sys.path[0] = ""
    sys.argv = [""]
    sys.meta_path.append(BackendFinder())
    os.environ.setdefault("MPLBACKEND", f"module://{BACKEND}")
    builtins.display = display
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    send(ready=True)
    for count, line in enumerate(requests, 1):
        try:
            run(json.loads(line)["code"], count, module.__dict__)
        except KeyboardInterrupt:
            # It came a moment too late for the code.
            pass
        send(done=True)


main()
