"""Runs the environments of Harbor trials in sandboxes of a Kubernetes cluster."""

import asyncio
import shlex
import uuid
from pathlib import Path
from typing import Any, override

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.environments.options import EnvironmentOptions
from harbor.environments.tar_transfer import (
    extract_dir_from_bytes,
    pack_dir_to_bytes,
    remote_pack_command,
    remote_unpack_command,
    tar_pack_succeeded,
)
from k8s_agent_sandbox.models import (
    SandboxDirectConnectionConfig,
    SandboxdPodTunnelConnectionConfig,
)
from k8s_agent_sandbox.sandbox import Sandbox
from k8s_agent_sandbox.sandbox_client import SandboxClient

_DAY_SEC = 86_400

# gRPC refuses an answer of more than 4 MiB. Output that goes to a file can have any size.
_SCRIPT = """_hookbox=$(mktemp -d)
(
{}
) >"$_hookbox/1" 2>"$_hookbox/2"
_code=$?
tail -c 1000000 "$_hookbox/1"
tail -c 1000000 "$_hookbox/2" >&2
rm -r "$_hookbox"
exit $_code
"""


class AgentSandboxOptions(EnvironmentOptions):
    """What `--environment-kwarg` and `kwargs` of a job's `environment` set."""

    pool: str | dict[str, str]
    """Name of the SandboxWarmPool, or a name for each `docker_image` of the tasks."""
    namespace: str = "default"
    """Namespace of the pool."""
    api_url: str | None = None
    """Address of the router. None: `kubectl port-forward` to the Pod of the sandbox."""
    headers: dict[str, str] = {}
    """Headers for the router, such as `Authorization`."""
    lifetime_sec: int = _DAY_SEC
    """The cluster deletes the sandbox after this time."""
    ready_timeout_sec: int = 600
    """How long to wait for a sandbox."""


class AgentSandboxEnvironment(BaseEnvironment):
    """An environment that is a sandbox (`agents.x-k8s.io`) from a pool.

    The template of the pool decides the image, the resources, the network and the user. A task
    with a Dockerfile needs an image that was built before.
    """

    options_model = AgentSandboxOptions
    options: AgentSandboxOptions

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sandbox: Sandbox | None = None

    @staticmethod
    @override
    def type() -> str:
        return "agent-sandbox"

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities()

    @override
    def _validate_definition(self) -> None:
        self._pool()

    @override
    async def start(self, force_build: bool) -> None:
        """Creates the sandbox. There is nothing to build: `force_build` changes nothing.

        Raises:
            RuntimeError: The sandbox was not created, or a folder of the trial was not.
        """
        options = self.options
        connection = (
            SandboxdPodTunnelConnectionConfig()
            if options.api_url is None
            else SandboxDirectConnectionConfig(
                api_url=options.api_url, extra_headers=options.headers
            )
        )
        self._sandbox = await asyncio.to_thread(
            SandboxClient(connection).create_sandbox,
            self._pool(),
            namespace=options.namespace,
            sandbox_ready_timeout=options.ready_timeout_sec,
            shutdown_after_seconds=options.lifetime_sec,
        )
        try:
            if workdir := self.task_env_config.workdir:
                made = await self.exec(f"mkdir -p {shlex.quote(workdir)}", cwd="/")
                _check(made, f"make {workdir}")
            folders = self._mount_targets(writable_only=True)
            if logs := await self.ensure_dirs(folders):
                _check(logs, f"make {', '.join(folders)}")
            await self._upload_environment_dir_after_start()
        except BaseException:
            await self.stop(delete=True)
            raise

    @override
    async def stop(self, delete: bool) -> None:
        """Deletes the sandbox, or only disconnects from it if `delete` is false."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            end = sandbox.terminate if delete else sandbox.close_connection
            await asyncio.to_thread(end)

    @override
    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Runs a command with bash, as the user of the container.

        Returns:
            The last million bytes of each output. Exit code 124: the command took longer than `timeout_sec`.
        """
        if self._resolve_user(user) not in (None, "root", "0", 0):
            self.logger.debug("The user of the container runs the command")
        variables = (self._merge_env(env) or {}).items()
        lines = [f"export {name}={shlex.quote(value)}" for name, value in variables]
        if folder := cwd or self.task_env_config.workdir:
            lines.append(f"cd {shlex.quote(folder)} || exit")
        lines.append(f"eval {shlex.quote(command)}")
        script = _SCRIPT.format("\n".join(lines))
        # Linux limits an argument to 128 KiB.
        file = _temporary("sh") if len(script.encode()) > 100_000 else None
        if file is not None:
            await self._write(file, script.encode())
        result = await asyncio.to_thread(
            _open(self._running().commands).run,
            shlex.join(["bash", file] if file else ["bash", "-c", script]),
            command_timeout=timeout_sec or _DAY_SEC,
        )
        if file is not None:
            await self.exec(f"rm {file}", cwd="/")
        code = 124 if result.timed_out else result.exit_code
        return ExecResult(stdout=result.stdout, stderr=result.stderr, return_code=code)

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copies a file to the sandbox, and makes its folder."""
        content = await asyncio.to_thread(Path(source_path).read_bytes)
        await self._write(target_path, content)

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copies a folder to the sandbox, with modes and symlinks."""
        archive = _temporary("tar.gz")
        packed = await asyncio.to_thread(pack_dir_to_bytes, source_dir, compress=True)
        await self._write(archive, packed.getvalue())
        unpack = remote_unpack_command(archive, target_dir, no_same_owner=True)
        _check(await self.exec(f"{unpack} && rm {archive}", cwd="/"), f"unpack to {target_dir}")

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copies a file from the sandbox, and makes its folder."""
        content = await self._read(source_path)
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(Path(target_path).write_bytes, content)

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copies a folder from the sandbox, with modes and symlinks that stay inside."""
        archive = _temporary("tar.gz")
        packed = await self.exec(remote_pack_command(source_dir, archive), cwd="/")
        if not tar_pack_succeeded(packed.return_code, stderr=packed.stderr, logger=self.logger):
            _check(packed, f"pack {source_dir}")
        content = await self._read(archive)
        await asyncio.to_thread(extract_dir_from_bytes, content, target_dir)
        await self.exec(f"rm {archive}", cwd="/")

    def _pool(self) -> str:
        pool, image = self.options.pool, self.task_env_config.docker_image
        if isinstance(pool, str):
            return pool
        if image not in pool:
            raise ValueError(f"There is no pool for docker_image {image!r}: {list(pool)}")
        return pool[image]

    def _running(self) -> Sandbox:
        if self._sandbox is None:
            raise RuntimeError("There is no sandbox. Call start() first")
        return self._sandbox

    async def _write(self, path: str, content: bytes) -> None:
        folder = shlex.quote(str(Path(path).parent))
        _check(await self.exec(f"mkdir -p {folder}", cwd="/"), f"make {folder}")
        await asyncio.to_thread(
            _open(self._running().files).write, path, content, timeout=600, allow_unsafe_paths=True
        )

    async def _read(self, path: str) -> bytes:
        return await asyncio.to_thread(
            _open(self._running().files).read, path, timeout=600, allow_unsafe_paths=True
        )


def _open[T](part: T | None) -> T:
    if part is None:
        raise RuntimeError("The connection to the sandbox is closed")
    return part


def _temporary(ending: str) -> str:
    return f"/tmp/.hookbox-{uuid.uuid4().hex}.{ending}"


def _check(result: ExecResult, action: str) -> None:
    if result.return_code != 0:
        output = result.stderr or result.stdout
        raise RuntimeError(f"Cannot {action}: exit code {result.return_code}: {output}")
