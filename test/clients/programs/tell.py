"""What the programs share: their arguments, and one JSON object per line to the process that started them."""

import json
import sys

namespace = sys.argv[1]
options = json.loads(sys.argv[2])


def tell(**facts):
    print(json.dumps(facts), flush=True)


def tell_error(error):
    """The error's class, its bases by which a caller may catch it, and its words."""
    bases = [base.__name__ for base in type(error).__mro__[1:-3]]
    tell(error=type(error).__name__, bases=bases, message=str(error))


def tell_sandbox(sandbox):
    """What the client finds out about a sandbox that it holds."""
    tell(
        claim=sandbox.claim_name,
        sandbox=sandbox.sandbox_id,
        pod=sandbox.get_pod_name(),
        ip=sandbox.get_pod_ip(),
        hash=sandbox.get_sandbox_name_hash(),
        fqdn=sandbox.get_service_fqdn(),
        status=list(sandbox.status()),
    )


def wait():
    """Waits until the process that started the program lets it go on."""
    sys.stdin.readline()
