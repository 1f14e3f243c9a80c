"""A sandbox agent of OpenAI's Agents SDK with a scripted model; then the session is used alone."""

import asyncio
import io
import json
import os
from pathlib import Path
from typing import Any

from agents import Model, ModelResponse, RunConfig, Runner, Usage
from agents.extensions.sandbox import E2BSandboxClient, E2BSandboxClientOptions
from agents.run_config import SandboxRunConfig
from agents.sandbox import Manifest, SandboxAgent
from agents.sandbox.entries import Dir, File
from checks import check, report
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

ROOT = os.environ.get("SANDBOX_HOME", "/home/user") + "/workspace"
COMMANDS = ["cat notes/a.txt; echo; echo $WHO; exit 3", "python3 -c 'print(6 * 7)'", "pwd"]


class Scripted(Model):
    """Calls the tool for commands, then says that it is done."""

    outputs: list[str] = []

    async def get_response(
        self, system_instructions: Any, input: Any, *args: Any, **more: Any
    ) -> ModelResponse:
        self.outputs = [
            str(item["output"])
            for item in input
            if isinstance(item, dict) and item.get("type") == "function_call_output"
        ]
        done = len(self.outputs)
        output: Any = (
            ResponseFunctionToolCall(
                type="function_call",
                name="exec_command",
                call_id=f"call-{done}",
                arguments=json.dumps({"cmd": COMMANDS[done]}),
            )
            if done < len(COMMANDS)
            else ResponseOutputMessage(
                id="1",
                type="message",
                role="assistant",
                status="completed",
                content=[ResponseOutputText(type="output_text", text="done", annotations=[])],
            )
        )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **more: Any) -> Any:
        raise NotImplementedError


def options(interface: str) -> E2BSandboxClientOptions:
    return E2BSandboxClientOptions(
        sandbox_type=interface, template="base", timeout=300, exposed_ports=(3000,)
    )


def manifest() -> Manifest:
    files: dict[str | Path, Any] = {"notes": Dir(children={"a.txt": File(content=b"one two")})}
    return Manifest(root=ROOT, entries=files, environment={"value": {"WHO": "you"}})


async def run_agent() -> tuple[Any, Any]:
    model = Scripted()
    agent = SandboxAgent(name="coder", model=model, default_manifest=manifest())
    sandbox = SandboxRunConfig(client=E2BSandboxClient(), options=options("e2b_code_interpreter"))
    config = RunConfig(sandbox=sandbox, tracing_disabled=True)
    result = await Runner.run(agent, "Count the words.", run_config=config)
    first, second, third = model.outputs
    found = ["one two" in first and "you" in first and "3" in first, "42" in second, ROOT in third]
    return [result.final_output, *found], ["done", True, True, True]


async def use_session(results: dict[str, Any]) -> None:
    client = E2BSandboxClient()
    session = await client.create(manifest=manifest(), options=options("e2b"))
    await session.start()
    ran = await session.exec("echo out; echo err >&2; exit 3")
    results["command"] = [ran.stdout, ran.stderr, ran.exit_code]
    await session.mkdir(Path("deep/er"), parents=True)
    await session.write(Path("deep/er/x.bin"), io.BytesIO(b"\0\xff\n"))
    results["files"] = (await session.read(Path("deep/er/x.bin"))).read()
    results["list"] = [Path(entry.path).name for entry in await session.ls(Path("deep/er"))]
    pty = await session.pty_exec_start("read word; echo got $word", tty=True, yield_time_s=1)
    typed = await session.pty_write_stdin(session_id=pty.process_id, chars="it\n", yield_time_s=5)
    results["terminal"] = b"got it" in typed.output
    archive = (await session.persist_workspace()).read()
    await session.rm(Path("deep"), recursive=True)
    await session.hydrate_workspace(io.BytesIO(archive))
    results["archive"] = (await session.read(Path("deep/er/x.bin"))).read()
    results["running"] = await session.running()
    endpoint = await session.resolve_exposed_port(3000)
    results["port"] = [endpoint.host.startswith("3000-"), endpoint.tls]
    again = await client.resume(session.state)
    results["reconnect"] = [again.state.sandbox_id == session.state.sandbox_id]
    await session.aclose()
    results["kill"] = await session.running()


def session_checks() -> None:
    results: dict[str, Any] = {}
    error: list[BaseException] = []
    try:
        asyncio.run(use_session(results))
    except BaseException as caught:
        error.append(caught)
    wanted = {
        "command": [b"out\n", b"err\n", 3],
        "files": b"\0\xff\n",
        "list": ["x.bin"],
        "terminal": True,
        "archive": b"\0\xff\n",
        "running": True,
        "port": [True, True],
        "reconnect": [True],
        "kill": False,
    }
    for name, value in wanted.items():
        check(name, lambda: (results[name] if name in results else error[0], value))


check("agent", lambda: asyncio.run(run_agent()))
session_checks()
report()
