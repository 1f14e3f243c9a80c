/** What the router, the runtime and their clients rely on together: headers, annotations, labels and timeouts. @module */

/** Port of the runtime in a sandbox, for files, late binding and Connect. */
export const RUNTIME_PORT = 8080;
/** Port of the runtime in a sandbox for E2B's clients: commands, terminals and files. */
export const ENVD_PORT = 49_983;
/** Port of the runtime in a sandbox for E2B's clients: the code interpreter. */
export const INTERPRETER_PORT = 49_999;

/**
 * Header of requests that only observe: `false`. They do not resume a suspended sandbox. If the sandbox runs, they
 * count as use.
 */
export const WAKE_HEADER = "X-Sandbox-Wake";
/**
 * Header of the router's refusals, with a reason for programs. Only the router sets it, so that a client can tell a
 * refusal from a sandbox's answer.
 */
export const REASON_HEADER = "X-Sandbox-Reason";
/** Value of `REASON_HEADER` with a 404: there is no such sandbox, or it cannot be reached by name. */
export const SANDBOX_NOT_FOUND = "SandboxNotFound";
/** Value of `REASON_HEADER` with a 403: the user may not connect to the sandbox. The answer says what to do. */
export const ACCESS_DENIED = "AccessDenied";
/** Value of `REASON_HEADER` with a 502: no part of the request has reached the sandbox. */
export const NOT_SENT = "NotSent";
/**
 * Header of the router's requests to sandboxes: UID of the intended Pod. If the runtime knows the UID of its own Pod,
 * it refuses requests for another Pod. Such a request arrives if the other Pod had the same IP address before.
 */
export const POD_UID_HEADER = "X-Sandbox-Pod-UID";
/**
 * Header of requests to a runtime: name of the user that runs the command, or reads and writes the file. A runtime that
 * knows the header repeats it in the answer of `GET /v1/metadata`, or refuses it.
 */
export const USER_HEADER = "X-Sandbox-User";
/**
 * Header of the router's requests to the public ports of E2B's clients, if the client has shown no access token. A runtime
 * refuses such requests: its own API is not one of the programs that are public. A client that adds the header only loses access.
 */
export const ANONYMOUS_HEADER = "X-Sandbox-Anonymous";
/** Value of {@link REASON_HEADER} with a runtime's 421: the request is for another Pod, and the runtime did nothing. */
export const OTHER_POD = "OtherPod";

/** Prefix of all annotations that the router reads. It does not keep other annotations in memory. */
const ANNOTATION_PREFIX = "router.agents.x-k8s.io/";

/** Annotation on Sandboxes, set by users: `false` prevents requests from resuming the Sandbox. */
export const WAKE_ANNOTATION = `${ANNOTATION_PREFIX}wake`;
/** Annotation by routers: when one last resumed the Sandbox (RFC 3339). */
export const WOKEN_AT_ANNOTATION = `${ANNOTATION_PREFIX}woken-at`;
/**
 * Annotation by routers, as JSON: why and when a router last suspended the Sandbox, and the UID and generation that the
 * Sandbox had then. If a router resumes the Sandbox, it removes the annotation. Other ways to resume the Sandbox leave
 * it. The annotation is therefore about the present suspension only if UID and generation match
 * (packages/router/idle/suspend.ts).
 */
export const SUSPENDED_ANNOTATION = `${ANNOTATION_PREFIX}suspended`;
/**
 * Annotation by routers, as JSON: the `shutdownTime` that a router has set, and the fields that the router has
 * replaced. The time counts only for the Sandbox with this UID, and only until somebody changes the spec
 * (packages/api/expiry.ts).
 */
export const EXPIRED_ANNOTATION = `${ANNOTATION_PREFIX}idle-expired`;
/** Annotation by routers: when one first saw traffic to a Sandbox that has an idle policy (RFC 3339). */
export const FIRST_ACTIVE_ANNOTATION = `${ANNOTATION_PREFIX}first-active-at`;
/** Annotation by routers: when one last saw traffic (RFC 3339), a space, and which traffic. */
export const ACTIVE_ANNOTATION = `${ANNOTATION_PREFIX}active-at`;

/**
 * Annotation, set by users on a Sandbox or its Pod template: after how many idle seconds to suspend it; absent: never.
 */
export const IDLE_ANNOTATION = `${ANNOTATION_PREFIX}idle-seconds`;
/**
 * The name that Agent Sandbox proposes for the same annotation (in its design of auto-suspension). It counts only if
 * hookbox's own annotation is absent.
 */
export const IDLE_TIMEOUT_ANNOTATION = "agents.x-k8s.io/idle-timeout-seconds";
/** Other names of annotations that users set. The key is hookbox's name. */
export const OTHER_NAMES: Readonly<Record<string, string>> = { [IDLE_ANNOTATION]: IDLE_TIMEOUT_ANNOTATION };
/**
 * Annotation, set by users as above: for how many seconds without traffic the Sandbox stays up because it is busy
 * itself; absent: without limit.
 */
export const MAX_ACTIVE_ANNOTATION = `${ANNOTATION_PREFIX}max-active-seconds`;
/** Annotation, set by users as above: up to how many CPU cores in use count as idle. */
export const CPU_ANNOTATION = `${ANNOTATION_PREFIX}idle-cpu`;
/** Annotation, set by users as above: up to how many bytes per second, sent and received, count as idle. */
export const NETWORK_ANNOTATION = `${ANNOTATION_PREFIX}idle-network`;
/** Annotation, set by users as above: up to how many background jobs count as idle; absent: any number. */
export const JOBS_ANNOTATION = `${ANNOTATION_PREFIX}idle-jobs`;
/** Annotation, set by users as above: how many seconds after a suspension for being idle the Sandbox expires. */
export const DELETE_ANNOTATION = `${ANNOTATION_PREFIX}idle-delete-seconds`;

/** Label on Leases: name of the Sandbox that stays up as long as somebody holds the Lease. */
export const HOLD_LABEL = `${ANNOTATION_PREFIX}holds`;

/** How long a router holds a request for a Sandbox that is resuming or starting, if it is not configured otherwise. */
export const WAKE_TIMEOUT_MS = 120_000;
/** How long the router then waits for the headers of the answer, if it is not configured otherwise. */
export const RESPONSE_HEADER_TIMEOUT_MS = 180_000;

/** How often a runtime sends a sign of life on the stream of a watched folder. */
export const ALIVE_MS = 15_000;
