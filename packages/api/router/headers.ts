/** Headers of our own between the router and its clients, beside the contract's. @module */

/** Header of requests: `false` if they only look at what goes on. They wake no sandbox; one that runs counts them as use. */
export const WAKE_HEADER = "X-Sandbox-Wake";
/** Header of the router's refusals that programs tell apart, also from what a sandbox answers: it comes from the router alone. */
export const REASON_HEADER = "X-Sandbox-Reason";
/** Its value with a 404: there is no such sandbox, or it is nobody's to reach by name. */
export const SANDBOX_NOT_FOUND = "SandboxNotFound";
/** Its value with a 502: nothing of the request has reached the sandbox. */
export const NOT_SENT = "NotSent";
/**
 * Header of the router's requests to sandboxes: UID of the intended Pod. A runtime that knows the UID of its own Pod refuses
 * requests for another Pod. Such a request arrives if the other Pod had the same IP address before.
 */
export const POD_UID_HEADER = "X-Sandbox-Pod-UID";
/** Value of {@link REASON_HEADER} with a runtime's 421: the request is for another Pod, and the runtime did nothing. */
export const OTHER_POD = "OtherPod";
