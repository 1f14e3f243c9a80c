/** What `--help` prints. @module */
import { OTLP_HELP } from "../../process/tracingoption.ts";

export const HELP = `Usage: hookbox router [options]

Forwards requests to sandboxes, and wakes those that are suspended. A request names its sandbox by X-Sandbox-ID,
X-Sandbox-Namespace (default "default") and X-Sandbox-Port (default 8888).

Cluster:
  --kubeconfig F                    which cluster (default: the one this Pod runs in)
  --context C                       context of the kubeconfig (default: its current one)
  --cache-namespace N               only Sandboxes of this namespace (default: of all)

Ports:
  --http-bind-address H:P           where clients come (default :8080)
  --port P                          the same, by port alone
  --no-h2c                          do not serve HTTP/2 in the clear, which gRPC needs, on the same port (never on Deno)
  --https-bind-address H:P          the same with TLS, HTTP/2 included (default: none); needs
  --tls-cert-file F, --tls-key-file F
                                    PEM files, read anew every minute
  --health-probe-bind-address H:P   /healthz and /readyz (default :8081; with --kubeconfig none)
  --metrics-bind-address H:P        /metrics (default :9090; with --kubeconfig none); may be the same address
                                    an address without host is 0.0.0.0, with --kubeconfig 127.0.0.1

Routing:
  --path-routing-prefix P           also by path: P/<namespace>/<sandbox ID>/<port>/<rest>
  --no-path-routing-rewrite-responses
                                    leave Location and Set-Cookie of sandboxes named by path as they are
  --domain D                        also by host: <port>-<sandbox ID>-<namespace>.D
  --upstream-host H                 the Host that sandboxes see: pod (default, address and port of the Pod), localhost
                                    (localhost and the port), or client (what the client asked for)

Authorization:
  --authz-mode MODE                 tokenreview (default): the API server knows the token, and its user may "connect" to
                                    this Sandbox; scoped-token: the token is signed for this Sandbox; allow-all: everybody
  --authz-tokenreview-ttl D         how long an answer is good for (default 30s)
  --authz-tokenreview-cache-size N  answers that are remembered (default 2048)
  --authz-tokenreview-audiences A,B for whom tokens must be made (default: the API server)
  --no-authz-tokenreview-require-token
                                    let in who shows no token
  --authz-recheck-interval D        how often to check again whether the client of an open request or stream may
                                    connect; if not, it ends (default 30s; 0: it ends only when its token expires)
  --authz-scoped-token-secret-file F
                                    secrets of 32 bytes or more, one in each line; the first signs
  --authz-scoped-token-public-keys-file F
                                    Ed25519 public keys for tokens of version 2: a JSON Web Key Set, or a folder with a
                                    file <key ID>.pem for each; read again every 30 s
  --authz-cookie-query-param Q      browsers may carry the token as ?Q=…
  --authz-cookie-name C             and go on with it in the cookie C
  --authz-cookie-samesite S         Lax (default), Strict or None
  --authz-cookie-insecure           cookies without Secure, for plain HTTP
  --authz-cookie-allowed-origins O  origins whose pages may use the cookie beside the sandbox's own
  --allowed-hosts H,I               names beside localhost that requests without a token may come to over loopback
  --client-requests-per-second N    of one client, and twice as many at once (default 0: any number)
  --client-max-concurrent N         requests and open streams of one client (default 0: any number)
  --trusted-proxies A,B             addresses or subnets of proxies in front, whose X-Forwarded-For tells clients apart
  --allow-loopback-pod-ip           Pods may have loopback addresses: for tests on one machine

Runtimes:
  --runtime-port N                  where they say what goes on inside, and have terminals (default 8080)
  --no-terminal-page                no page with a terminal at /.hookbox/terminal/ of that port: the path is the sandbox's

Dashboard:
  --no-dashboard                    no page with all sandboxes at /.hookbox/; there is none with --path-routing-prefix either,
                                    as sandboxes' pages would be of its origin

Timeouts and limits:
  --proxy-timeout D                 longest silence of a body, both ways (default 180s); event streams may be silent
  --response-header-timeout D       longest wait for the head of an answer (default 180s)
  --dial-timeout D                  longest wait for a connection (default 5s)
  --stale-after D                   fail /readyz after this silence of the API server, as Pods may have moved (default 3m;
                                    0: never); must be longer than a restart of the API server
  --upstream-max-retries N          further tries where no connection came about (default 3)
  --upstream-retry-initial-delay D  before the first of them, then twice as long (default 200ms)
  --upstream-retry-max-delay D      at most (default 800ms)
  --max-open-requests N             requests and open streams at a time (default 10000; 0: any number); those of one
                                    namespace are no more than there is room left for others
  --max-request-body-bytes N        longest body of a request (default 0: any)
  --shutdown-delay D                how long connections are still taken after SIGTERM (default 5s; with --kubeconfig 0)
  --shutdown-timeout D              how long running requests may go on after SIGTERM (default 30s)

Waking:
  --no-wake                         requests wake nothing (Sandboxes can say so for themselves, see docs/router.md)
  --wake-timeout D                  longest wait for a sandbox that wakes up or starts (default 120s)
  --wakes-per-minute N              Sandboxes of one namespace that requests wake (default 600; 0: any number)
  --max-held-requests N             requests that wait for sandboxes at a time (default 10000); those of one namespace
                                    are no more than there is room left for others

Idle suspension, for Sandboxes that ask for it by annotation (docs/router.md):
  --no-idle                         suspend nothing
  --idle-check-interval D           between two looks (default 5s)
  --identity I                      name of this router among others (default: its host name)

Logging:
  --no-access-log                   no line for each request on standard output
  --no-trace-context                requests without a traceparent get none
  --otlp-endpoint URL               ${OTLP_HELP};
                                    for requests whose clients trace (default: none)
  --log-level L                     debug, info, warn or error (default info)
`;
