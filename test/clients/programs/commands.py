"""Creates sandboxes one after another and runs a command in each at once: one POST, which the client sends once."""

from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxInClusterConnectionConfig
from tell import namespace, options, tell

client = SandboxClient(SandboxInClusterConnectionConfig())
results = []
for command in options["commands"]:
    sandbox = client.create_sandbox("p", namespace=namespace, env=options.get("env"))
    results.append(sandbox.commands.run(command).model_dump())
tell(results=results)
