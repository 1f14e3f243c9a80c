"""A client that creates, lists, finds again, deletes one and then all."""

from k8s_agent_sandbox import SandboxClient
from tell import namespace, tell, tell_error, tell_sandbox

client = SandboxClient()
first = client.create_sandbox("p", namespace=namespace, labels={"example.com/user": "ann"})
second = client.create_sandbox("p", namespace=namespace)
tell(
    first=first.claim_name,
    second=second.claim_name,
    active=[claim for _, claim in client.list_active_sandboxes()],
    all=client.list_all_sandboxes(namespace),
    anns=client.list_all_sandboxes(namespace, label_selector="example.com/user=ann"),
    pool=client.get_sandbox_claim_warmpool_name(first.claim_name, namespace),
)

# Another client knows nothing of the first one's handles: it asks the cluster.
tell_sandbox(SandboxClient().get_sandbox(first.claim_name, namespace))

client.delete_sandbox(first.claim_name, namespace)
client.delete_sandbox("never-was", namespace)
tell(active=first.is_active)

third = client.create_sandbox("p", namespace=namespace)
third.terminate()
third.terminate()
client.delete_all()
tell(left=client.list_active_sandboxes())
try:
    client.get_sandbox(first.claim_name, namespace, resolve_timeout=5)
except Exception as error:
    tell_error(error)
