/**
 * Response headers that a browser stores for a whole origin, or longer than for a page: no sandbox may set them.
 * @module
 */

/**
 * Names in lower case. Browsers apply these headers to later requests of the origin, even if another sandbox answers.
 * Pages of several sandboxes, the dashboard and the router's own redirects can share an origin, and addresses may
 * contain tokens.
 *
 * Headers that only concern the page they come with (Content-Security-Policy, Permissions-Policy, Document-Policy)
 * pass. Decision 0042 has the list with its reasons.
 */
export const STORED_BY_BROWSERS: readonly string[] = [
  // They send addresses of later requests, queries included, to a collector.
  "nel",
  "report-to",
  "reporting-endpoints",
  "expect-ct",
  "public-key-pins",
  "public-key-pins-report-only",
  // They let a script or a host answer for paths that are not its own.
  "service-worker-allowed",
  "alt-svc",
  // They delete or change what others of the origin, or of the whole domain, rely on.
  "clear-site-data",
  "strict-transport-security",
  "origin-agent-cluster",
  "origin-trial",
  // They are sent with, or change, later requests to the origin.
  "accept-ch",
  "accept-ch-lifetime",
  "critical-ch",
  "use-as-dictionary",
  "set-login",
  "secure-session-registration",
  "sec-session-registration",
  "secure-session-challenge",
  "sec-session-challenge",
  "attribution-reporting-register-source",
  "attribution-reporting-register-trigger",
  "attribution-reporting-register-os-source",
  "attribution-reporting-register-os-trigger",
  "shared-storage-write",
  "observe-browsing-topics",
  "ad-auction-signals",
  "ad-auction-additional-bid",
  "activate-storage-access",
];
