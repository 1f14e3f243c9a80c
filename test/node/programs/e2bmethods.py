"""
Uses every method of E2B's published Python SDKs, and prints what came of each as a JSON list. Its argument: "sync" or
"async". A method that it does not know, or that does other than its case says, ends it with an error.
"""

import asyncio
import inspect
import json
import os
import sys
import traceback
import types

import e2b
import e2b_code_interpreter
from e2b.template.main import TemplateBase, TemplateBuilder
from e2bcases import IS_ASYNC, WORKING, equal, exported, of, within
from e2btemplates import REFUSED

# Exported classes that only hold data or settings.
DATA = {
    *("ApiClient", "ConnectionConfig", "VolumeConnectionConfig", "LogEntry", "EntryInfo", "WriteInfo", "GitStatus"),
    *("Context", "Execution", "ExecutionError", "Logs", "Result"),
}


def members(cls):
    """Yields the public methods that E2B's packages give a class: name, and whether it works on the class, an object."""
    for name in dir(cls):
        owner = next((one for one in cls.__mro__ if name in vars(one)), None)
        if name.startswith("_") or owner is None or not owner.__module__.startswith("e2b"):
            continue
        kind = type(vars(owner)[name]).__name__
        if kind in ("classmethod", "staticmethod", "function", "class_method_variant", "DualMethod"):
            yield name, kind != "function", kind not in ("classmethod", "staticmethod")


def methods(sandbox):
    """Names every method, as the cases name them. Fails on an exported class that no place has."""
    of_parts = ("commands", "files", "pty", "git")
    places = {
        **{exported(name): (name, name.lower()) for name in ("Sandbox", "Volume", "Secret")},
        **{exported("Template"): ("Template", "Template()"), TemplateBase: ("Template", "Template()")},
        **{TemplateBuilder: ("Template", "Template()"), e2b.ReadyCmd: ("", "ready")},
        **{type(getattr(sandbox, name)): ("", name) for name in of_parts},
        **{exported("CommandHandle"): ("", "command"), exported("WatchHandle"): ("", "watch")},
        **{exported(f"{name}Paginator"): ("", f"{name.lower()}s") for name in ("Snapshot", "Secret")},
        exported("SandboxPaginator"): ("", "sandboxes"),
        **({e2b.AsyncCommandInputHandle: ("", "input")} if IS_ASYNC else {}),
    }
    named = {"E2B"}
    for cls, (of_class, of_object) in places.items():
        for name, on_class, on_object in members(cls):
            named |= {f"{of_class}.{name}"} if on_class else set()
            named |= {f"{of_object}.{name}"} if on_object else set()
    known = {cls.__name__.removeprefix("Async") for cls in places} | DATA
    for module in e2b, e2b_code_interpreter:
        for name, one in vars(module).items():
            if isinstance(one, types.FunctionType):
                named.add(name)
            elif inspect.isclass(one) and not issubclass(one, BaseException) and [*members(one)]:
                within(name.removeprefix("Async"), known | {"CommandInputHandle"})
    return named


async def main():
    sandbox = await of(exported("Sandbox").create(timeout=1200))
    try:
        cases, found = {*WORKING, *REFUSED}, methods(sandbox)
        equal((found - cases, cases - found), (set(), set()))
        failed = []
        for case in dict.fromkeys(WORKING.values()):
            try:
                await case(sandbox)
            except Exception:
                failed.append(f"{[name for name in WORKING if WORKING[name] is case]}: {traceback.format_exc()}")
        rows = [{"method": name, "result": "works"} for name in WORKING]
        for name, use in REFUSED.items():
            try:
                failed.append(f"{name} was not refused: {await of(use(sandbox))!r}")
            except Exception as error:
                rows.append({"method": name, "result": "refused", "note": str(error)})
        assert not failed, "\n".join(failed)
    finally:
        await of(sandbox.kill())
    print(json.dumps(sorted(rows, key=lambda row: row["method"])))


def finish(coroutine):
    """Runs a coroutine that never waits, without a loop, because the sync SDK is for programs that have none."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("A sync method returned an awaitable")


code = 0
try:
    (asyncio.run if IS_ASYNC else finish)(main())
except Exception:
    traceback.print_exc()
    code = 1
# At the end of Python, the threads of pyqwest 0.12 sometimes abort the process. os._exit() does not wait for them.
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)
