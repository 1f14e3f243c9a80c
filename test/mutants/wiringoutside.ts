/** Mutants of how router, runtime and MCP server are put together: what clients reach that they should not. @module */
import type { Mutant } from "./mutant.ts";

const ROUTER_TEST = ["test/wiring/router-access.test.ts"];
const ROUTER_LIMITS_TEST = ["test/wiring/router-limits.test.ts"];
const OPTIONS_TEST = ["test/router/options/options.test.ts"];
const RUNTIME_TEST = ["test/wiring/runtime-access.test.ts"];
const RUNTIME_LIMITS_TEST = ["test/wiring/runtime-limits.test.ts"];
const MCP_TEST = ["test/wiring/mcp.test.ts"];

export const WIRING_OUTSIDE: readonly Mutant[] = [
  {
    name: "scoped tokens are asked of nobody",
    file: "router/assemble.ts",
    from: 'authz.mode === "allow-all"',
    to: 'authz.mode !== "tokenreview"',
    tests: ROUTER_TEST,
  },
  {
    name: "who shows no token is let in unasked",
    file: "router/assemble.ts",
    from: "{ ...authz, api, log }",
    to: "{ ...authz, requiresToken: false, api, log }",
    tests: ROUTER_TEST,
  },
  {
    name: "--authz-tokenreview-audiences sets nothing",
    file: "router/assemble.ts",
    from: "{ ...authz, api, log }",
    to: "{ ...authz, audiences: [], api, log }",
    tests: ROUTER_TEST,
  },
  {
    name: "the router asks nobody unless it is told to",
    file: "router/options/accessoptions.ts",
    from: 'values["authz-mode"] ?? "tokenreview"',
    to: 'values["authz-mode"] ?? "allow-all"',
    tests: [...ROUTER_TEST, ...OPTIONS_TEST],
  },
  {
    name: "cookies with tokens go in the clear",
    file: "router/options/accessoptions.ts",
    from: 'isSecure: !values["authz-cookie-insecure"]',
    to: "isSecure: false",
    tests: OPTIONS_TEST,
  },
  {
    name: "the limits of clients reach no request",
    file: "router/assemble.ts",
    from: "limits: createLimits(options.limits),",
    to: "limits: undefined,",
    tests: ROUTER_LIMITS_TEST,
  },
  {
    name: "--trusted-proxies sets nothing",
    file: "router/assemble.ts",
    from: "createAddressOf(options.trustedProxies)",
    to: "createAddressOf([])",
    tests: ROUTER_LIMITS_TEST,
  },
  {
    name: "--no-wake sets nothing",
    file: "router/assemble.ts",
    from: "mayWake: options.mayWake",
    to: "mayWake: true",
    tests: ROUTER_LIMITS_TEST,
  },
  {
    name: "--wakes-per-minute sets nothing",
    file: "router/assemble.ts",
    from: "createBudget(options.wakesPerMinute / 60, options.wakesPerMinute)",
    to: "createBudget(0, 0)",
    tests: ROUTER_LIMITS_TEST,
  },
  {
    name: "a Pod that says it is on loopback is reached there",
    file: "router/assemble.ts",
    from: "{ log, signal, namespace, allowLoopback, onListed }",
    to: "{ log, signal, namespace, allowLoopback: true, onListed }",
    tests: ROUTER_TEST,
  },
  {
    name: "a client may name an address of loopback",
    file: "router/assemble.ts",
    from: "routing: { allowLoopback, pathPrefix",
    to: "routing: { allowLoopback: true, pathPrefix",
    tests: ROUTER_TEST,
  },
  {
    name: "a router of one namespace looks at those of others",
    file: "router/assemble.ts",
    from: "within(namespace, createLook({ api, index }, log))",
    to: "createLook({ api, index }, log)",
    tests: ["test/router/proxy/forward.test.ts"],
  },
  {
    name: "members of pools are among the readings of a host name",
    file: "router/assemble.ts",
    from: "?.sandbox.isUnclaimed === false;",
    to: "?.sandbox !== undefined;",
    tests: ["test/router/access/readings.test.ts"],
  },
  {
    name: "pages whose names were made to lead here are let in",
    file: "router/handle.ts",
    from: "reboundRefusal(parts, request, route, pass) ?? limit",
    to: "limit",
    tests: ROUTER_TEST,
  },
  {
    name: "the runtime's token guards nothing but late binding",
    file: "runtime/assemble.ts",
    from: 'tokenScope === "all" ? token : undefined;',
    to: "undefined;",
    tests: RUNTIME_TEST,
  },
  {
    name: "commands of port 8888 need no token",
    file: "runtime/assemble.ts",
    from: "timeoutMs, outputBytes, token: tokenForAll }",
    to: "timeoutMs, outputBytes, token: undefined }",
    tests: RUNTIME_TEST,
  },
  {
    name: "gRPC needs no token",
    file: "runtime/assemble.ts",
    from: "metrics, outputBytes, token: tokenForAll, stop }",
    to: "metrics, outputBytes, token: undefined, stop }",
    tests: RUNTIME_TEST,
  },
  {
    name: "terminals need no token",
    file: "runtime/assemble.ts",
    from: "processes, token: tokenForAll, allowedHosts",
    to: "processes, token: undefined, allowedHosts",
    tests: RUNTIME_TEST,
  },
  {
    name: "a token file that was asked for may be gone",
    file: "runtime/assemble.ts",
    from: "(options.tokenFile, options.tokenRequired)",
    to: "(options.tokenFile, false)",
    tests: RUNTIME_TEST,
  },
  {
    name: "--max-upload sets nothing",
    file: "runtime/assemble.ts",
    from: "{ root, maxUploadBytes, allowedHosts,",
    to: "{ root, maxUploadBytes: Infinity, allowedHosts,",
    tests: RUNTIME_LIMITS_TEST,
  },
  {
    name: "terminals begin while the runtime stops",
    file: "runtime/assemble.ts",
    from: "token: tokenForAll, allowedHosts, stop });",
    to: "token: tokenForAll, allowedHosts });",
    tests: RUNTIME_LIMITS_TEST,
  },
  {
    name: "the MCP server looks at no Host and no Origin",
    file: "mcp/http.ts",
    from: "refusal: createSourceCheck(address, sources)",
    to: "refusal: () => undefined && createSourceCheck(address, sources)(undefined, undefined)",
    tests: MCP_TEST,
  },
  {
    name: "everybody is let in from other machines",
    file: "cli/mcp.ts",
    from: "if (isLoopback) return anybody;",
    to: "if (isLoopback || allowAnonymous) return anybody;",
    tests: ["test/mcp/command.test.ts"],
  },
  {
    name: "--max-sessions sets nothing",
    file: "cli/mcp.ts",
    from: 'most: wholeNumber("--max-sessions", options.maxSessions ?? "64", 1)',
    to: "most: 64",
    tests: MCP_TEST,
  },
  {
    name: "sandboxes live longer than --max-lifetime",
    file: "cli/mcp.ts",
    from: 'Math.min(durationMs("--lifetime", options.lifetime ?? "1h"), maxLifetimeMs)',
    to: 'durationMs("--lifetime", options.lifetime ?? "1h")',
    tests: MCP_TEST,
  },
];
