"""Holds a sandbox while it is suspended and resumed: tells its address and status, and what a command says at the end."""

from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxInClusterConnectionConfig
from tell import namespace, options, tell, tell_sandbox, wait

client = SandboxClient(SandboxInClusterConnectionConfig())
sandbox = client.create_sandbox("p", namespace=namespace)
if options.get("command"):
    sandbox.commands.run(options["command"])
tell_sandbox(sandbox)
wait()
tell(ip=sandbox.get_pod_ip(), status=list(sandbox.status()))
wait()
tell_sandbox(sandbox)
if options.get("command"):
    # The handle would try the address that it remembers, for minutes, before it asked for the new one.
    sandbox.close_connection()
    again = client.get_sandbox(sandbox.claim_name, namespace)
    tell(**again.commands.run(options["command"]).model_dump())
