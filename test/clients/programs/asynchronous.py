"""The asynchronous client: several sandboxes at once, each of its own, and their end."""

import asyncio

from k8s_agent_sandbox import AsyncSandboxClient
from k8s_agent_sandbox.models import SandboxInClusterConnectionConfig
from tell import namespace, tell, tell_error, wait


async def facts(sandbox):
    return dict(
        claim=sandbox.claim_name,
        sandbox=sandbox.sandbox_id,
        pod=await sandbox.get_pod_name(),
        ip=await sandbox.get_pod_ip(),
        status=list(await sandbox.status()),
    )


async def main():
    async with AsyncSandboxClient(SandboxInClusterConnectionConfig()) as client:
        first, second, cold = await asyncio.gather(
            client.create_sandbox("p", namespace=namespace),
            client.create_sandbox("p", namespace=namespace),
            client.create_sandbox("p", namespace=namespace, env={"WHO": "me"}),
        )
        tell(sandboxes=[await facts(sandbox) for sandbox in (first, second, cold)])
        tell(all=sorted(await client.list_all_sandboxes(namespace)))
        await client.delete_sandbox(first.claim_name, namespace)
        try:
            await client.create_sandbox("no-such-pool", namespace=namespace)
        except Exception as error:
            tell_error(error)
        wait()


asyncio.run(main())
