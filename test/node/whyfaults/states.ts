/** States that somebody wanted: suspended, expired, going; and a Sandbox that is not there, or well. @module */
import { sleeper } from "../../integration/namespace.ts";
import type { Fault } from "./fault.ts";

export const STATES: Fault[] = [
  {
    name: "a Sandbox that is suspended",
    subject: "sandbox/asleep",
    code: "Suspended",
    culprit: "Sandbox/asleep",
    make: (ns) => ns.apply(sleeper("asleep", { operatingMode: "Suspended" })),
  },
  {
    name: "a Sandbox that has expired",
    subject: "sandbox/over",
    code: "Expired",
    culprit: "Sandbox/over",
    make: (ns) => ns.apply(sleeper("over", { shutdownTime: "2026-01-01T00:00:00Z" })),
  },
  {
    name: "a Sandbox that a finalizer holds",
    subject: "sandbox/held",
    code: "BeingDeleted",
    culprit: "Sandbox/held",
    make: async (ns, atEnd) => {
      const sandbox = sleeper("held");
      await ns.apply({ ...sandbox, metadata: { ...sandbox.metadata, finalizers: ["example.com/hold"] } });
      atEnd(async () => {
        await ns.attempt("patch", "sandbox", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}');
      });
      await ns.kubectl("delete", "sandbox", "held", "--wait=false");
    },
  },
  {
    name: "nothing of the name",
    subject: "nothing",
    code: "NotFound",
    culprit: "SandboxClaim/nothing",
    make: () => Promise.resolve(),
  },
  {
    name: "a Sandbox that is Ready",
    subject: "sandbox/well",
    code: "Ready",
    culprit: "Sandbox/well",
    make: async (ns) => {
      await ns.apply(sleeper("well"));
      await ns.untilReason("well", "DependenciesReady");
    },
  },
];
