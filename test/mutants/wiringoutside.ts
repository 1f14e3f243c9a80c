/** Mutants of how router, runtime and MCP server are put together: what clients reach that they should not. @module */
import type { Mutant } from "./mutant.ts";

const ROUTER_TEST = ["test/wiring/router-access.test.ts"];
const OPTIONS_TEST = ["test/router/options/options.test.ts"];
const RUNTIME_TEST = ["test/wiring/runtime-access.test.ts"];
const MCP_TEST = ["test/wiring/mcp.test.ts"];

export const WIRING_OUTSIDE: readonly Mutant[] = [
  {
    name: "scoped tokens are asked of nobody",
    file: "packages/router/assemble.ts",
    from: 'authz.mode === "allow-all"',
    to: 'authz.mode !== "tokenreview"',
    tests: ROUTER_TEST,
  },
  {
    name: "who shows no token is let in unasked",
    file: "packages/router/assemble.ts",
    from: "{ ...authz, api, log }",
    to: "{ ...authz, authzTokenreviewRequireToken: false, api, log }",
    tests: ROUTER_TEST,
  },
  {
    name: "cookies with tokens go in the clear",
    file: "packages/router/access/accessoptions.ts",
    from: "...{ authzCookieSamesite, authzCookieInsecure,",
    to: "...{ authzCookieSamesite, authzCookieInsecure: true,",
    tests: OPTIONS_TEST,
  },
  {
    name: "the runtime's token guards nothing but late binding",
    file: "packages/runtime/assemble.ts",
    from: 'tokenScope === "all" ? token : undefined;',
    to: "undefined;",
    tests: RUNTIME_TEST,
  },
  {
    name: "commands of port 8888 need no token",
    file: "packages/runtime/assemble.ts",
    from: "execTimeout, maxOutput, token: tokenForAll }",
    to: "execTimeout, maxOutput, token: undefined }",
    tests: RUNTIME_TEST,
  },
  {
    name: "gRPC needs no token",
    file: "packages/runtime/assemble.ts",
    from: "metrics, maxOutput, token: tokenForAll, stop, users }",
    to: "metrics, maxOutput, token: undefined, stop }",
    tests: RUNTIME_TEST,
  },
  {
    name: "terminals need no token",
    file: "packages/runtime/assemble.ts",
    from: "processes, token: tokenForAll, allowedHosts",
    to: "processes, token: undefined, allowedHosts",
    tests: RUNTIME_TEST,
  },
  {
    name: "a token file that was asked for may be gone",
    file: "packages/runtime/assemble.ts",
    from: "(options.tokenFile, options.tokenRequired)",
    to: "(options.tokenFile, false)",
    tests: RUNTIME_TEST,
  },
  {
    name: "the MCP server looks at no Host and no Origin",
    file: "packages/cli/mcp/http.ts",
    from: "refusal: createSourceCheck(address, sources)",
    to: "refusal: () => undefined && createSourceCheck(address, sources)(undefined, undefined)",
    tests: MCP_TEST,
  },
  {
    name: "everybody is let in from other machines",
    file: "packages/cli/commands/mcp.ts",
    from: "if (isLoopback) return anonymousAccess;",
    to: "if (isLoopback || allowAnonymous) return anonymousAccess;",
    tests: ["test/cli/mcp/command.test.ts"],
  },
  {
    name: "sandboxes live longer than --max-lifetime",
    file: "packages/cli/commands/mcp.ts",
    from: 'Math.min(durationMs("--lifetime", options.lifetime ?? MCP_DEFAULTS.lifetime), maxLifetimeMs)',
    to: 'durationMs("--lifetime", options.lifetime ?? MCP_DEFAULTS.lifetime)',
    tests: MCP_TEST,
  },
  {
    name: "a dry run of uninstall deletes",
    file: "packages/cli/install/apply.ts",
    from: '...dryRun ? { dryRun: ["All"] } : {}',
    to: "",
    tests: ["test/cli/install.test.ts"],
  },
  {
    name: "the router's span is between nobody",
    file: "packages/router/observe/observer.ts",
    from: 'withheld: ["traceparent"] }',
    to: "withheld: NONE }",
    tests: ["test/router/observe/tracecontext.test.ts"],
  },
  {
    name: "commands get traces that nobody records",
    file: "packages/runtime/rpc/lookup.ts",
    from: "if (!readTraceparent(traceparent)?.isSampled) return {};",
    to: "if (!readTraceparent(traceparent)) return {};",
    tests: ["test/runtime/rpc/processes.test.ts"],
  },
];
