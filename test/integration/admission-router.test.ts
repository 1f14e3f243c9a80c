/** The router's admission policy on a real API server: which changes of Sandboxes it allows, and which it refuses. @module */
import { beforeAll, expect, test } from "vitest";
import {
  ACTIVE_ANNOTATION,
  DELETE_ANNOTATION,
  EXPIRED_ANNOTATION,
  FIRST_ACTIVE_ANNOTATION,
  IDLE_ANNOTATION,
  IDLE_TIMEOUT_ANNOTATION,
  SUSPENDED_ANNOTATION,
  WAKE_ANNOTATION,
} from "../../packages/api/router/protocol.ts";
import { DRAINING_LABEL, UNRESOLVED_ANNOTATION, WARM_POOL_LABEL } from "../../packages/api/objects/keys.ts";
import { attempt, run } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";
import { annotate, ASKS, inHours, podAsks, put, SUSPEND, WAKE } from "./routerpolicy.ts";
import { type BareCluster, shared } from "./shared.ts";
import { aProcess, aSandbox } from "./underpolicy.ts";

let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

/** Each on a Sandbox of its own, as `put` makes it. */
const CASES: [what: string, over: Parameters<typeof put>[2], patch: Loose, says?: string][] = [
  ["suspends what asks for it", {}, SUSPEND],
  ["suspends what asks for it by its Pod template", { annotations: {}, spec: podAsks() }, SUSPEND],
  ["suspends what asks for it by the contract's name", { annotations: { [IDLE_TIMEOUT_ANNOTATION]: "60" } }, SUSPEND],
  [
    "suspends what asks for it by the contract's name, and by its Pod template",
    { annotations: {}, spec: podAsks({ [IDLE_TIMEOUT_ANNOTATION]: "60" }) },
    SUSPEND,
  ],
  [
    "suspends what takes that back by our name",
    { annotations: { [IDLE_ANNOTATION]: "0", [IDLE_TIMEOUT_ANNOTATION]: "60" } },
    SUSPEND,
    "suspend Sandboxes that ask",
  ],
  ["suspends what does not ask for it", { annotations: {} }, SUSPEND, "suspend Sandboxes that ask"],
  [
    "suspends what takes that back on itself",
    { annotations: { [IDLE_ANNOTATION]: "no" }, spec: podAsks() },
    SUSPEND,
    "suspend Sandboxes that ask",
  ],
  ["suspends after no time", { annotations: { [IDLE_ANNOTATION]: "0" } }, SUSPEND, "suspend Sandboxes that ask"],
  ["suspends a pool's member", { labels: { [WARM_POOL_LABEL]: "x" } }, SUSPEND, "suspend Sandboxes that ask"],
  ["wakes", { annotations: {}, hours: 1 }, WAKE],
  [
    "wakes what forbids it",
    { annotations: { [WAKE_ANNOTATION]: "false" }, hours: 1 },
    WAKE,
    "wake Sandboxes that do not forbid",
  ],
  ["notes traffic", { annotations: {} }, annotate({ [ACTIVE_ANNOTATION]: "x", [FIRST_ACTIVE_ANNOTATION]: "x" })],
  [
    "has a running Sandbox end",
    {},
    { spec: { shutdownTime: inHours(-1), shutdownPolicy: "Delete" } },
    "let a Sandbox expire that it",
  ],
  [
    "sets that it is deleted at its end",
    { spec: { shutdownTime: inHours(9) } },
    { spec: { shutdownPolicy: "Delete" } },
    "let a Sandbox expire that it",
  ],
  [
    "puts its end off",
    { spec: { shutdownTime: inHours(9) } },
    { spec: { shutdownTime: null } },
    "let a Sandbox expire that it",
  ],
  [
    "asks for suspensions itself",
    { annotations: {} },
    annotate({ [IDLE_ANNOTATION]: "1" }),
    "change reserved annotations that are its own",
  ],
  [
    "asks for deletions itself",
    {},
    annotate({ [DELETE_ANNOTATION]: "1" }),
    "change reserved annotations that are its own",
  ],
  [
    "notes a suspension of somebody else",
    { hours: 1 },
    annotate({ [SUSPENDED_ANNOTATION]: "x" }),
    "note that it has suspended",
  ],
  [
    "notes another suspension than its own",
    {},
    { ...SUSPEND, ...annotate({ [SUSPENDED_ANNOTATION]: "x" }) },
    "note that it has suspended",
  ],
  ["notes an expiry", {}, annotate({ [EXPIRED_ANNOTATION]: "x" }), "note that it has let a Sandbox expire"],
  [
    "takes its notes away",
    { annotations: { ...ASKS, [ACTIVE_ANNOTATION]: "x", [SUSPENDED_ANNOTATION]: "x" } },
    annotate({ [ACTIVE_ANNOTATION]: null, [SUSPENDED_ANNOTATION]: null }),
  ],
  ["asks for a Service", {}, { spec: { service: true } }, "nothing else of the spec"],
  [
    "changes the image",
    {},
    { spec: { podTemplate: { spec: { containers: [{ name: "main", image: "evil" }] } } } },
    "nothing else of the spec",
  ],
  [
    "changes the Pod's annotations",
    {},
    { spec: { podTemplate: { metadata: { annotations: ASKS } } } },
    "nothing else of the spec",
  ],
  [
    "annotates otherwise",
    {},
    annotate({ [UNRESOLVED_ANNOTATION]: "x" }),
    "change reserved annotations that are its own",
  ],
  [
    "changes another's annotation",
    { annotations: { [UNRESOLVED_ANNOTATION]: "x" } },
    annotate({ [UNRESOLVED_ANNOTATION]: "y" }),
    "change reserved annotations that are its own",
  ],
  [
    "takes another's annotation",
    { annotations: { [UNRESOLVED_ANNOTATION]: "x" } },
    annotate({ [UNRESOLVED_ANNOTATION]: null }),
    "change reserved annotations that are its own",
  ],
  ["labels", {}, { metadata: { labels: { [DRAINING_LABEL]: "b" } } }, "not change reserved labels"],
  ["sets a finalizer", {}, { metadata: { finalizers: ["example.com/stay"] } }, "not change reserved labels"],
];

test("the router suspends what asks for it, wakes, and does nothing else to Sandboxes", async () => {
  const { ns, as } = await aProcess(cluster, "router");
  for (const [index, [what, over, patch, says]] of CASES.entries()) {
    const name = `box-${index}`;
    await put(ns, name, over);
    const { code, stderr } = await attempt(cluster, [
      ...as,
      "patch",
      "sandbox",
      name,
      "--type=merge",
      "-p",
      JSON.stringify(patch),
    ]);
    const want = says === undefined ? "" : expect.stringMatching(new RegExp(`denied request: The router .*${says}`));
    expect([what, code === 0, stderr]).toEqual([what, says === undefined, want]);
  }
  for (const verb of [["delete", "sandbox", "box-0"], ["create", "-f", "-"]]) {
    const { stderr } = await attempt(cluster, [...as, ...verb], JSON.stringify(aSandbox("new")));
    expect(stderr).toContain("denied request");
  }
});

test("in system namespaces the router changes nothing", async () => {
  const { as } = await aProcess(cluster, "router");
  const inSystem = as.with(1, "kube-system");
  const box = JSON.stringify({
    ...aSandbox("system"),
    metadata: { name: "system", namespace: "kube-system", annotations: ASKS },
  });
  await run(cluster, ["apply", "-f", "-"], box);
  const { stderr } = await attempt(cluster, [
    ...inSystem,
    "patch",
    "sandbox",
    "system",
    "--type=merge",
    "-p",
    JSON.stringify(SUSPEND),
  ]);
  await run(cluster, ["delete", "-f", "-"], box);
  expect(stderr).toContain("The router may not change Sandboxes of system namespaces");
});
