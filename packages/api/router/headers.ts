/** hookbox's own headers between the router and its clients, in addition to those of Agent Sandbox. @module */

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
/** Value of `REASON_HEADER` with a 502: no part of the request has reached the sandbox. */
export const NOT_SENT = "NotSent";
/**
 * Header of the router's requests to sandboxes: UID of the intended Pod. If the runtime knows the UID of its own Pod,
 * it refuses requests for another Pod. Such a request arrives if the other Pod had the same IP address before.
 */
export const POD_UID_HEADER = "X-Sandbox-Pod-UID";
/** Value of {@link REASON_HEADER} with a runtime's 421: the request is for another Pod, and the runtime did nothing. */
export const OTHER_POD = "OtherPod";
