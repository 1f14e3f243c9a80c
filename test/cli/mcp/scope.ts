/** What a session may do unless a test says otherwise. @module */
import type { Scope } from "../../../packages/cli/mcp/session.ts";

export const DEFAULT_SCOPE: Scope = {
  pools: [],
  findPools: () => Promise.resolve([]),
  allowImages: false,
  selector: {},
  lifetimeMs: 3_600_000,
  maxLifetimeMs: 86_400_000,
  maxSandboxes: 10,
  deleteOnExit: true,
  localRoot: undefined,
  user: undefined,
};
