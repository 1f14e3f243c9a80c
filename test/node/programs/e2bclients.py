"""Uses E2B's published Python SDKs, synchronous and asynchronous, and prints what they return as JSON."""

import asyncio
import json
import os
import sys

from e2b import AsyncSandbox, CommandExitException, Sandbox
from e2b_code_interpreter import Sandbox as CodeInterpreter

seen = {}

with Sandbox.create(metadata={"a b": "c&d=é+"}, envs={"COLOUR": "green"}) as sandbox:
    seen["run"] = sandbox.commands.run("echo $COLOUR $E2B_SANDBOX; cat", stdin=False).stdout
    sandbox.files.write("notes/ü.txt", "héllo")
    seen["read"] = sandbox.files.read("notes/ü.txt")
    seen["listed"] = [entry.name for entry in sandbox.files.list("notes")]
    try:
        sandbox.commands.run("exit 3")
    except CommandExitException as error:
        seen["exit"] = error.exit_code
    seen["found"] = len(Sandbox.list().next_items())
    seen["state"] = sandbox.get_info().state
    sandbox_id = sandbox.sandbox_id
seen["killed again"] = Sandbox.kill(sandbox_id)

with CodeInterpreter.create() as interpreter:
    interpreter.run_code("x = 6")
    seen["code"] = interpreter.run_code("print('out')\nx * 7").text
    seen["error"] = interpreter.run_code("1 / 0").error.name


async def use_async() -> None:
    sandbox = await AsyncSandbox.create()
    seen["async"] = (await sandbox.commands.run("echo async")).stdout
    running = await sandbox.commands.run("sleep 300", background=True)
    await sandbox.kill()
    try:
        await running.wait()
    except Exception as error:
        seen["cut"] = type(error).__name__
        print(repr(error), repr(error.__cause__), file=sys.stderr)
    seen["running"] = await sandbox.is_running()


asyncio.run(use_async())
print(json.dumps(seen))
# At the end of Python, the threads of pyqwest 0.12 sometimes abort the process. os._exit() does not wait for them.
sys.stdout.flush()
os._exit(0)
