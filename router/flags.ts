/** The flags of the router: those of the contract under its names, and our own. Source: Agent Sandbox API, 7.1 and 1.0 2.3. @module */
import type { parseArgs } from "node:util";

export const FLAGS = {
  kubeconfig: { type: "string" },
  context: { type: "string" },
  "cache-namespace": { type: "string", default: "" },
  port: { type: "string" },
  "http-bind-address": { type: "string", default: ":8080" },
  "health-probe-bind-address": { type: "string" },
  "path-routing-prefix": { type: "string", default: "" },
  domain: { type: "string", default: "" },
  "authz-mode": { type: "string" },
  "authz-tokenreview-ttl": { type: "string", default: "30s" },
  "authz-tokenreview-cache-size": { type: "string", default: "2048" },
  "authz-tokenreview-require-token": { type: "boolean", default: true },
  "authz-tokenreview-audiences": { type: "string", default: "" },
  "authz-scoped-token-secret-file": { type: "string" },
  "authz-cookie-name": { type: "string", default: "" },
  "authz-cookie-query-param": { type: "string", default: "" },
  "authz-cookie-samesite": { type: "string", default: "Lax" },
  "authz-cookie-insecure": { type: "boolean", default: false },
  "authz-cookie-allowed-origins": { type: "string", default: "" },
  "client-requests-per-second": { type: "string", default: "0" },
  "client-max-concurrent": { type: "string", default: "0" },
  "allow-loopback-pod-ip": { type: "boolean", default: false },
  "proxy-timeout": { type: "string", default: "180s" },
  "response-header-timeout": { type: "string", default: "180s" },
  "dial-timeout": { type: "string", default: "5s" },
  "shutdown-timeout": { type: "string", default: "30s" },
  "upstream-max-retries": { type: "string", default: "3" },
  "upstream-retry-initial-delay": { type: "string", default: "200ms" },
  "upstream-retry-max-delay": { type: "string", default: "800ms" },
  "max-request-body-bytes": { type: "string", default: "0" },
  wake: { type: "boolean", default: true },
  "wake-timeout": { type: "string", default: "120s" },
  "max-held-requests": { type: "string", default: "10000" },
  "wakes-per-minute": { type: "string", default: "600" },
  "log-level": { type: "string", default: "info" },
  help: { type: "boolean", default: false },
} as const;

/** What is given for each. */
export type Values = ReturnType<typeof parseArgs<{ options: typeof FLAGS }>>["values"];
