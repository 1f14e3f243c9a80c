"""What both environments of Harbor are tried with: files that go there and back, and a trial of a task about words."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from checks import check

folder = Path(tempfile.mkdtemp())

TASK = """
schema_version = "1.4"
[task]
name = "hookbox/words"
version = "1.0.0"
[verifier]
environment_mode = "shared"
[environment]
docker_image = "python"
workdir = "WORKDIR"
[environment.env]
WHO = "you"
"""

FILES = {
    "instruction.md": "Count the words of words.txt into count.txt.",
    "environment/words.txt": "one two three",
    "solution/solve.sh": '#!/bin/bash\nwc -w < words.txt > count.txt; echo "$WHO" > who.txt\n',
    "tests/test.sh": '#!/bin/bash\n[ "$(cat count.txt who.txt | xargs)" = "3 you" ]\n'
    "echo $((1 - $?)) > /logs/verifier/reward.txt\n",
}


async def check_files(environment: Any, name: str) -> None:
    """Sends a folder and a file to an environment that runs, and gets them back, the file by this name."""
    source, target = folder / "source", folder / "target"
    (source / "deep").mkdir(parents=True)
    (source / "deep/tool").write_bytes(bytes(range(256)) * 8192)
    (source / "deep/tool").chmod(0o750)
    (source / "link").symlink_to("deep/tool")
    await environment.upload_dir(source, "/tmp/up/there")
    await environment.download_dir("/tmp/up", target)
    await environment.upload_file(source / "deep/tool", "/tmp/new/folder/file")
    await environment.download_file("/tmp/new/folder/file", folder / name)
    kinds = [await environment.is_dir("/tmp/up"), await environment.is_file("/tmp/up")]

    content = (source / "deep/tool").read_bytes()
    there = target / "there"
    mode = (there / "deep/tool").stat().st_mode & 0o777
    check("folders", lambda: ([(there / "link").read_bytes() == content, mode], [True, 0o750]))
    check("files", lambda: ((folder / name).read_bytes() == content, True))
    check("kinds", lambda: (kinds, [True, False]))


def trial(workdir: str, environment: list[str]) -> tuple[Any, Any]:
    """Runs the task with the agent that follows the solution. `environment`: Harbor's options for it."""
    task = folder / "words"
    for name, text in {"task.toml": TASK.replace("WORKDIR", workdir), **FILES}.items():
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(text)
    harbor = [str(Path(sys.executable).with_name("harbor")), "run", "-p", str(task), "-a", "oracle"]
    ran = subprocess.run(
        [*harbor, *environment, "-q", "-o", str(folder / "jobs")],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(folder)},
    )
    found = [json.loads(file.read_text()) for file in (folder / "jobs").glob("*/*/result.json")]
    if len(found) != 1:
        raise RuntimeError(ran.stdout + ran.stderr)
    [result] = found
    return [result["exception_info"], result["verifier_result"]["rewards"]], [None, {"reward": 1.0}]
