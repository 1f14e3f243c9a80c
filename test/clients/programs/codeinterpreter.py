"""
Uses every method of E2B's code interpreter, sync or async, and prints what it gave as one JSON object. Its arguments:
"sync" or "async", a folder of the sandbox, the options of `create` as JSON, and the port for the older version.
"""

import asyncio
import dataclasses
import inspect
import json
import os
import sys
import time

import e2b_code_interpreter.code_interpreter_async as asynchronous
import e2b_code_interpreter.code_interpreter_sync as synchronous
from e2b_code_interpreter import AsyncSandbox, Sandbox

how, folder, options, *ports = sys.argv[1:]
# Without a setting for its port, the older version uses this one.
for port in ports:
    asynchronous.JUPYTER_PORT = synchronous.JUPYTER_PORT = int(port)
seen = {}
DRAWING = """import matplotlib.pyplot as plt, pandas as pd
for draw in (
    lambda axes: axes.plot([1, 2]),
    lambda axes: axes.scatter([1], [2]),
    lambda axes: axes.bar(["a"], [1]),
    lambda axes: axes.pie([1]),
    lambda axes: axes.boxplot([1, 2, 9]),
    lambda axes: axes.imshow([[1]]),
):
    draw(plt.figure().add_subplot())
    plt.show()
figure, axes = plt.subplots(1, 2)
axes[0].plot([1])
axes[1].pie([1])
plt.show()
pd.DataFrame({"a": [1]})"""


async def of(value):
    """The sync methods return what the async ones return later."""
    return await value if inspect.isawaitable(value) else value


def plain(value):
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return [plain(one) for one in value] if isinstance(value, list) else value


async def error_of(call):
    try:
        await of(call())
        return None
    except Exception as error:
        return [type(error).__name__, str(error)]


async def main():
    sandbox = await of((AsyncSandbox if how == "async" else Sandbox).create(**json.loads(options)))
    run = sandbox.run_code
    context = await of(sandbox.create_code_context(cwd=folder))
    shown = []

    def show(message):
        shown.append([message.line, message.error, abs(message.timestamp - time.time_ns()) < 600e9])

    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\ndisplay('first')\n1 + 1"
    results, errors = [], []
    execution = await of(run(code, context=context, on_stdout=show, on_stderr=show, on_result=results.append))
    seen["run"] = plain(execution)
    seen["shown"] = shown
    seen["results"] = plain(results)
    failed = await of(run("def f(): return missing\nf()", context=context, on_error=errors.append))
    seen["error"] = [failed.error.name, failed.error.value, "in f" in failed.error.traceback, len(errors)]
    seen["languages"] = [
        [(one := await of(run(code, language=language))).text, *one.logs.stdout]
        for language, code in {"python": "'q'", "js": "[1]", "ts": "let x: number = 2; x", "bash": "echo $((1 + 2))"}.items()
    ]
    read = "import os; os.environ.get('HBX_OWN', 'none')"
    seen["envs"] = [(await of(run(read, envs={"HBX_OWN": "1"}))).text, (await of(run(read))).text]
    seen["folder"] = [context.cwd == folder, (await of(run("import os; os.getcwd()", context=context))).text == folder]
    await of(run("kept = 1", context=context))
    seen["timeout"] = (await error_of(lambda: run("import time; time.sleep(60)", context=context, timeout=1)))[0]
    seen["kept"] = (await of(run("kept", context=context))).text
    drawn = await of(run(DRAWING))
    seen["charts"] = [
        [type(one).__name__ for one in [result.chart, *getattr(result.chart, "elements", [])]] for result in drawn.results
    ]
    seen["formats"] = [sorted(result.formats()) for result in drawn.results]
    listed = await of(sandbox.list_code_contexts())
    seen["listed"] = [context.id in [one.id for one in listed], {"python", "javascript"} <= {one.language for one in listed}]
    await of(sandbox.restart_code_context(context))
    restarted = await of(run("'kept' in globals()", context=context))
    seen["restarted"] = [restarted.text, restarted.execution_count]
    await of(sandbox.remove_code_context(context.id))
    seen["removed"] = await error_of(lambda: run("1", context=context))
    seen["unknown"] = await error_of(lambda: run("1", language="cobol"))
    seen["both"] = (await error_of(lambda: run("1", language="python", context=context)))[0]
    print(json.dumps(seen))


asyncio.run(main())
# At the end of Python, the threads of pyqwest 0.12 sometimes abort the process. os._exit() does not wait for them.
sys.stdout.flush()
os._exit(0)
