"""Harbor's own environment for E2B, alone and in a trial, from a template that exists."""

import asyncio
from typing import Any

from checks import check, report
from e2b import Sandbox, TemplateException
from harbor.environments.e2b import E2BEnvironment
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths
from harbor_words import check_files, folder, trial

template = "base"


def environment(**more: Any) -> E2BEnvironment:
    return E2BEnvironment(
        environment_dir=folder / "none",
        environment_name="words",
        session_id="words__1",
        trial_paths=TrialPaths(folder / "trial"),
        task_env_config=EnvironmentConfig(docker_image="python", workdir="/tmp"),
        **more,
    )


async def alone() -> None:
    """Checks each method of an environment."""
    box = environment(prebuilt_template_id=template)
    await box.start(force_build=False)

    async def run(command: str, **more: Any) -> list[Any]:
        told = await box.exec(command, **more)
        return [told.stdout, told.stderr, told.return_code]

    command = await run('echo "$PWD $A"; echo oh >&2; exit 3', env={"A": "b c"})
    user = await run("id -un")
    await check_files(box, "file")
    await box.stop(delete=True)

    check("command", lambda: (command, ["/tmp b c\n", "oh\n", 3]))
    check("user", lambda: (user[0], "root\n"))


def refused() -> tuple[Any, Any]:
    """Without a template, Harbor builds one."""
    try:
        return asyncio.run(environment().start(force_build=False)), "refused"
    except TemplateException as error:
        return "not supported by hookbox" in str(error), True


check("alone", lambda: (asyncio.run(alone()), None))
check("trial", lambda: trial("/tmp", ["-e", "e2b", "--ek", f"prebuilt_template_id={template}"]))
check("no template", refused)
check("deleted", lambda: (Sandbox.list().next_items(), []))
report()
