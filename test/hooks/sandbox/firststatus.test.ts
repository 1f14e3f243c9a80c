/** When the first status of a Sandbox waits, and when it does not. @module */
import { expect, test } from "vitest";
import { syncSandbox } from "../../../hooks/sandbox/sync.ts";
import { aReadyPod, aRequest, aSandbox, NOW } from "../../sandboxes.ts";

const PRESET = { observedGeneration: 1 };
const YOUNG = { creationTimestamp: "2026-11-21T11:59:59Z" };
const WITHOUT_ADDRESS = { phase: "Pending", podIPs: [], conditions: [] };
const podOf = (creationTimestamp: string | undefined) =>
  aReadyPod({ metadata: { creationTimestamp }, status: WITHOUT_ADDRESS });
const COMING = podOf("2026-11-21T11:59:59Z");
const FAILING = {
  phase: "Pending",
  podIPs: [],
  conditions: [],
  containerStatuses: [{ name: "main", state: { waiting: { reason: "ImagePullBackOff", message: "no such image" } } }],
};

interface Case {
  name: string;
  reason: string;
  metadata?: object;
  spec?: object;
  status?: object | undefined;
  pods?: ReturnType<typeof aReadyPod>[];
  quiet: boolean;
}

const cases: Case[] = [
  { name: "no Pod yet", reason: "this very answer makes it", quiet: true },
  {
    name: "no Pod yet, and seen late",
    reason: "many were asked for at once",
    metadata: { creationTimestamp: "2026-11-21T11:56:00Z" },
    quiet: true,
  },
  {
    name: "no Pod, and woken by the keeper",
    reason: "the answer before has made none that lasted",
    metadata: { annotations: { "agents.x-k8s.io/woken-at": "2026-11-21T12:00:00.000Z" } },
    quiet: false,
  },
  {
    name: "a young Pod, which came late",
    reason: "many were asked for at once",
    metadata: { creationTimestamp: "2026-11-21T11:56:00Z" },
    pods: [COMING],
    quiet: true,
  },
  { name: "a Pod without an address", reason: "nobody can use it", pods: [COMING], quiet: true },
  { name: "a Pod that is Ready", reason: "this is what all wait for", pods: [aReadyPod()], quiet: false },
  {
    name: "a Pod with an address",
    reason: "a claim may be given it while it starts",
    pods: [aReadyPod({ status: { conditions: [] } })],
    quiet: false,
  },
  {
    name: "an image that does not come",
    reason: "it does not go away",
    pods: [aReadyPod({ status: FAILING })],
    quiet: false,
  },
  {
    name: "a Pod that has failed",
    reason: "it is final",
    pods: [aReadyPod({ status: { phase: "Failed" } })],
    quiet: false,
  },
  {
    name: "suspended from birth",
    reason: "that is all it will say",
    spec: { operatingMode: "Suspended" },
    quiet: false,
  },
  {
    name: "no status at all",
    reason: "another CRD presets none, so the write comes anyway",
    status: undefined,
    quiet: false,
  },
  {
    name: "neither status nor generation",
    reason: "nothing says that it was preset",
    metadata: { generation: undefined },
    status: undefined,
    quiet: false,
  },
  {
    name: "a status that was written",
    reason: "what it says has to stay true",
    status: { ...PRESET, selector: "a=b" },
    quiet: false,
  },
  {
    name: "a changed spec",
    reason: "the preset is of the first generation",
    metadata: { generation: 2 },
    quiet: false,
  },
  {
    name: "a Pod that is two seconds old",
    reason: "a user who waits wants to know why",
    pods: [podOf("2026-11-21T11:59:58Z")],
    quiet: false,
  },
  { name: "a Pod of unknown age", reason: "it may be old", pods: [podOf(undefined)], quiet: false },
  {
    name: "five minutes old",
    reason: "whatever the cause, it is reported",
    metadata: { creationTimestamp: "2026-11-21T11:55:00Z" },
    pods: [COMING],
    quiet: false,
  },
  {
    name: "created in the future",
    reason: "a clock that is behind would keep it silent for ever",
    metadata: { creationTimestamp: "2026-11-21T12:00:01Z" },
    quiet: false,
  },
  {
    name: "no time of creation",
    reason: "its age is not known",
    metadata: { creationTimestamp: undefined },
    quiet: false,
  },
];

test.for(cases)(
  "the first status of a Sandbox: $name ($reason)",
  ({ metadata, spec, pods = [], quiet, ...given }) => {
    const status = "status" in given ? given.status : PRESET;
    const sandbox = aSandbox({
      metadata: { ...YOUNG, ...metadata },
      ...(spec ? { spec } : {}),
      ...(status ? { status } : {}),
    });
    const answer = syncSandbox(aRequest(sandbox, pods), NOW, { clusterDomain: "cluster.local" });
    expect(Object.keys(answer.status).length === 0).toBe(quiet);
    if (quiet) expect(answer.resyncAfterSeconds).toBeUndefined();
  },
);

test("a quiet Sandbox has its Pod made nevertheless", () => {
  const sandbox = aSandbox({ metadata: YOUNG, status: PRESET });
  const { children } = syncSandbox(aRequest(sandbox), NOW, { clusterDomain: "cluster.local" });
  expect(children.map(({ kind }) => kind)).toEqual(["Pod"]);
});
