/** What `--help` prints. @module */

export const HELP = `Usage: router/main.ts --authz-mode MODE [options]

Forwards requests to sandboxes. A request names its sandbox by X-Sandbox-ID, X-Sandbox-Namespace (default "default") and
X-Sandbox-Port (default 8888).

Cluster:
  --kubeconfig F                    which cluster (default: the one this Pod runs in)
  --context C                       context of the kubeconfig (default: its current one)
  --cache-namespace N               only Sandboxes of this namespace (default: of all)

Ports:
  --http-bind-address H:P           where clients come (default :8080)
  --port P                          the same, by port alone
  --health-probe-bind-address H:P   /healthz and /readyz (default :8081; with --kubeconfig none)
                                    an address without host is 0.0.0.0, with --kubeconfig 127.0.0.1

Who may:
  --authz-mode MODE                 allow-all: everybody, without authentication
  --allow-loopback-pod-ip           Pods may have loopback addresses: for tests on one machine

Patience:
  --proxy-timeout D                 longest silence of a body, both ways (default 180s); event streams may be silent
  --response-header-timeout D       longest wait for the head of an answer (default 180s)
  --dial-timeout D                  longest wait for a connection (default 5s)
  --upstream-max-retries N          further tries where no connection came about (default 3)
  --upstream-retry-initial-delay D  before the first of them, then twice as long (default 200ms)
  --upstream-retry-max-delay D      at most (default 800ms)
  --max-request-body-bytes N        longest body of a request (default 0: any)
  --shutdown-timeout D              how long running requests may go on after SIGTERM (default 30s)

Waking:
  --no-wake                         requests wake nothing (Sandboxes can say so for themselves, see docs/router.md)
  --wake-timeout D                  longest wait for a sandbox that wakes up or starts (default 120s)
  --wakes-per-minute N              Sandboxes of one namespace that requests wake (default 600; 0: any number)
  --max-held-requests N             requests that wait for sandboxes at a time (default 10000)

  --log-level L                     debug, info, warn or error (default info)
`;
