"""Runs OpenEnv environments in sandboxes of a Kubernetes cluster."""

import time
from collections.abc import Mapping
from typing import Any

import requests
from k8s_agent_sandbox.models import (
    SandboxConnectionConfig,
    SandboxDirectConnectionConfig,
    SandboxdPodTunnelConnectionConfig,
)
from k8s_agent_sandbox.sandbox import Sandbox
from k8s_agent_sandbox.sandbox_client import SandboxClient
from openenv.core.containers.runtime import ContainerProvider


class KubernetesProvider(ContainerProvider):
    """Starts the server of an environment in a sandbox, and deletes the sandbox at the end.

    Args:
        pool: Name of the SandboxWarmPool, or a name for each image. The image of the
            template is the environment's; its container runs the server.
        namespace: Namespace of the pool.
        router_url: Address of hookbox's router, with the path of `--path-routing-prefix`, such as
            `https://sandboxes.example/s`. None: `kubectl port-forward` to the Pod of the sandbox.
        headers: Headers for the router, such as `Authorization`. Give them to the client, too:
            `EnvClient(…, headers=…)`.
        lifetime_s: The cluster deletes the sandbox after this many seconds.
        ready_timeout_s: Seconds to wait for a sandbox.
    """

    def __init__(
        self,
        pool: str | Mapping[str, str],
        namespace: str = "default",
        *,
        router_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        lifetime_s: int = 3600,
        ready_timeout_s: int = 180,
    ) -> None:
        self._pool = pool
        self._namespace = namespace
        self._router_url = router_url
        self._headers = dict(headers or {})
        self._lifetime_s = lifetime_s
        self._ready_timeout_s = ready_timeout_s
        self._sandbox: Sandbox | None = None

    def start_container(
        self,
        image: str | None = None,
        port: int | None = None,
        env_vars: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> str:
        """Creates a sandbox, and returns the URL of the server in it.

        Args:
            image: Chooses the pool, if there is one for each image.
            port: Port of the server, 8000 by default.
            env_vars: Variables of the container. A sandbox with variables is created for
                this call, and does not come from the Pods of the pool that are ready.

        Raises:
            ValueError: There is no pool for the image, or an argument is unknown.
            RuntimeError: A sandbox runs already, or it cannot be created or reached.
        """
        if kwargs:
            raise ValueError(f"KubernetesProvider has no argument {', '.join(kwargs)}")
        if self._sandbox is not None:
            raise RuntimeError("The provider has a sandbox. Call stop_container() first")
        port = port or 8000
        client = SandboxClient[Sandbox](self._connection(port))
        sandbox = client.create_sandbox(
            self._pool_of(image),
            namespace=self._namespace,
            sandbox_ready_timeout=self._ready_timeout_s,
            shutdown_after_seconds=self._lifetime_s,
            env=env_vars,
        )
        self._sandbox = sandbox
        if self._router_url is not None:
            path = f"{self._namespace}/{sandbox.sandbox_id}/{port}"
            return f"{self._router_url.rstrip('/')}/{path}"
        try:
            return str(sandbox.connector.connect())
        except Exception:
            self.stop_container()
            raise

    def stop_container(self) -> None:
        """Deletes the sandbox. Without a sandbox, does nothing."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            sandbox.terminate()

    def wait_for_ready(self, base_url: str, timeout_s: float = 30.0) -> None:
        """Waits until `/health` of the server answers 200.

        Raises:
            TimeoutError: It does not within `timeout_s` seconds.
        """
        deadline = time.monotonic() + timeout_s
        last = "no answer"
        while (left := deadline - time.monotonic()) > 0:
            try:
                answer = requests.get(f"{base_url}/health", headers=self._headers, timeout=left)
                if answer.ok:
                    return
                last = f"status {answer.status_code}: {answer.text[:200]}"
            except requests.RequestException as error:
                last = str(error)
            time.sleep(0.2)
        raise TimeoutError(f"The server at {base_url} is not ready after {timeout_s:g} s: {last}")

    def close(self) -> None:
        """Does the same as `stop_container`."""
        self.stop_container()

    def _pool_of(self, image: str | None) -> str:
        if isinstance(self._pool, str):
            return self._pool
        if image is None or image not in self._pool:
            raise ValueError(
                f"There is no pool for the image {image!r}, only for: {', '.join(self._pool)}"
            )
        return self._pool[image]

    def _connection(self, port: int) -> SandboxConnectionConfig:
        if self._router_url is not None:
            return SandboxDirectConnectionConfig(api_url=self._router_url)
        # The client forwards two ports to the Pod. An environment has one.
        return SandboxdPodTunnelConnectionConfig(rest_port=port, grpc_port=port)
