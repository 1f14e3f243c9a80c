"""Uses the provider of packages/integrations/openenv as OpenEnv's clients do."""

import json
import sys
from typing import Any

from checks import check, report
from hookbox_openenv import KubernetesProvider
from k8s_agent_sandbox import SandboxClient
from openenv.core.generic_client import GenericEnvClient

options = json.loads(sys.argv[1])
pool, namespace = options["pool"], options["namespace"]


def claims() -> list[str]:
    return SandboxClient().list_all_sandboxes(namespace)


def episode(env: Any) -> list[Any]:
    """Resets, takes two steps and returns what was seen."""
    first = env.reset().observation["heard"]
    env.step({"word": "hello"})
    last = env.step({"word": "bye"})
    return [first, last.observation["heard"], last.reward, last.done, env.state()["step_count"]]


def from_image() -> tuple[Any, Any]:
    provider = KubernetesProvider({"echo-env:1": pool}, namespace)
    env = GenericEnvClient.from_docker_image("echo-env:1", provider=provider).sync()
    try:
        return [*episode(env), len(claims())], ["nothing", "bye", 3, True, 2, 1]
    finally:
        env.close()


def from_provider() -> tuple[Any, Any]:
    with GenericEnvClient(provider=KubernetesProvider(pool, namespace)).sync() as env:
        return episode(env)[1:], ["bye", 3, True, 2]


def variables() -> tuple[Any, Any]:
    provider = KubernetesProvider(pool, namespace)
    env = GenericEnvClient.from_docker_image(
        "any", provider=provider, env_vars={"GREETING": "hi"}
    ).sync()
    try:
        return episode(env)[0], "hi"
    finally:
        env.close()


def by_router() -> tuple[Any, Any]:
    headers = options["headers"]
    provider = KubernetesProvider(
        pool, namespace, router_url=options["router_url"], headers=headers
    )
    base_url = provider.start_container()
    try:
        provider.wait_for_ready(base_url)
        with GenericEnvClient(base_url=base_url, headers=headers).sync() as env:
            return episode(env), ["nothing", "bye", 3, True, 2]
    finally:
        provider.close()


def no_pool() -> tuple[Any, Any]:
    try:
        KubernetesProvider({"a": "b"}, namespace).start_container("other")
    except ValueError as error:
        return str(error), "There is no pool for the image 'other', only for: a"
    return None, "an error"


def not_ready() -> tuple[Any, Any]:
    provider = KubernetesProvider(pool, namespace)
    try:
        provider.wait_for_ready("http://127.0.0.1:1", timeout_s=0.5)
    except TimeoutError as error:
        return "is not ready after 0.5 s" in str(error), True
    return None, "an error"


check("image, port-forward", from_image)
check("provider alone", from_provider)
check("variables", variables)
check("router, bearer token", by_router)
check("image without a pool", no_pool)
check("server that is not ready", not_ready)
check("deleted", lambda: (claims(), []))
report()
