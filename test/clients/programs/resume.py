"""Holds a sandbox while it is suspended and resumed: tells its address and status, and what a command says at the end."""

from k8s_agent_sandbox import SandboxClient, SandboxRequestError
from k8s_agent_sandbox.models import SandboxInClusterConnectionConfig
from tell import namespace, options, tell, tell_error, tell_sandbox, wait

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
    # The first goes to the address that the client remembers; having lost that connection it asks for the new one.
    for _ in range(2):
        try:
            tell(**sandbox.commands.run(options["command"]).model_dump())
        except SandboxRequestError as error:
            tell_error(error)
