"""A deep agent with a scripted model and the backends of langchain-e2b, synchronous and asynchronous."""

import asyncio
import os
from typing import Any

import e2b
from checks import check, report
from deepagents import create_deep_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_e2b import AsyncE2BSandbox, E2BSandbox

HOME = os.environ.get("SANDBOX_HOME", "/home/user")
FILE = f"{HOME}/a.py"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("write_file", {"file_path": FILE, "content": "print(6 * 7)\n"}),
    ("execute", {"command": f"python3 {FILE}"}),
    ("edit_file", {"file_path": FILE, "old_string": "7", "new_string": "8"}),
    ("read_file", {"file_path": FILE}),
    ("grep", {"pattern": "print", "path": HOME}),
    ("glob", {"pattern": "*.py", "path": HOME}),
]


class Scripted(GenericFakeChatModel):
    """Calls the tools in turn."""

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self


def scripted() -> Scripted:
    calls = [
        AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{i}"}])
        for i, (name, args) in enumerate(CALLS)
    ]
    return Scripted(messages=iter([*calls, AIMessage("done")]))


def outcome(result: dict[str, Any]) -> tuple[Any, Any]:
    tools = [message.text for message in result["messages"] if isinstance(message, ToolMessage)]
    wanted = ["", "42", "", "6 * 8", "a.py", "a.py"]
    found = [text if text not in tools[i] else "ok" for i, text in enumerate(wanted)]
    return [*found, result["messages"][-1].text], ["ok"] * len(CALLS) + ["done"]


QUESTION: Any = {"messages": [{"role": "user", "content": "Compute."}]}


def agent() -> tuple[Any, Any]:
    return outcome(create_deep_agent(model=scripted(), backend=backend).invoke(QUESTION))


def files() -> tuple[Any, Any]:
    content = bytes(range(256)) * 8192
    uploaded = backend.upload_files([(f"{HOME}/folder/x.bin", content)])
    there, none = backend.download_files([f"{HOME}/folder/x.bin", f"{HOME}/none"])
    return [uploaded[0].error, there.content == content, none.error], [None, True, "file_not_found"]


def late() -> tuple[Any, Any]:
    return backend.execute("sleep 60", timeout=1).exit_code, 124


async def use_async() -> tuple[Any, Any]:
    sandbox = await e2b.AsyncSandbox.create()
    await sandbox.commands.run(f"rm -f {FILE}")
    agent = create_deep_agent(model=scripted(), backend=AsyncE2BSandbox(sandbox=sandbox, workdir=HOME))
    try:
        return outcome(await agent.ainvoke(QUESTION))
    finally:
        await sandbox.kill()


sandbox = e2b.Sandbox.create()
backend = E2BSandbox(sandbox=sandbox, workdir=HOME)
check("agent", agent)
check("files", files)
check("time limit", late)
check("asynchronous agent", lambda: asyncio.run(use_async()))
check("kill", lambda: ([sandbox.kill(), sandbox.is_running()], [True, False]))
report()
