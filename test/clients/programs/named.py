"""Creates a claim by name, waits, and creates it again with adopt_existing: the second time there is nothing to make."""

from k8s_agent_sandbox import SandboxClient
from tell import namespace, tell_error, tell_sandbox, wait

client = SandboxClient()
tell_sandbox(client.create_sandbox("p", namespace=namespace, claim_name="named"))
wait()
again = SandboxClient()
tell_sandbox(again.create_sandbox("p", namespace=namespace, claim_name="named", adopt_existing=True))
for change in ({}, {"warmpool": "other", "adopt_existing": True}):
    try:
        again.create_sandbox(**{"warmpool": "p", "namespace": namespace, "claim_name": "named", **change})
    except Exception as error:
        tell_error(error)
wait()
again.delete_sandbox("named", namespace)
