/** ContainersFailing: which waits are in vain, whose words are used, and that they stay. @module */
import { expect, test } from "vitest";
import { containersFailingVerdict } from "../../../hooks/sandbox/podconditions.ts";
import { syncSandbox } from "../../../hooks/sandbox/sync.ts";
import { viewOf } from "../../../hooks/sandbox/view.ts";
import { findCondition } from "../../../packages/api/objects/conditions.ts";
import { aReadyPod, aRequest, aSandbox, NOW } from "../../sandboxes.ts";

const waiting = (name: string, reason?: string, message?: string) => ({
  name,
  state: { waiting: { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) } },
});
const running = (name: string) => ({ name, state: { running: { startedAt: "2026-11-21T11:00:00Z" } } });
const ended = (name: string) => ({ name, state: { terminated: { exitCode: 1, reason: "Error" } } });

/** A Sandbox whose Pod has these container statuses; `before` is what it said last. */
function request(containerStatuses: object[], initContainerStatuses?: object[], before?: object) {
  const status = { phase: "Pending", conditions: [], containerStatuses, initContainerStatuses };
  return aRequest(aSandbox(before ? { status: { conditions: [before] } } : {}), [aReadyPod({ status })]);
}

const verdict = (...args: Parameters<typeof request>) => containersFailingVerdict(viewOf(request(...args)));
const said = (reason: string, message: string) => ({
  type: "ContainersFailing",
  status: "True",
  reason,
  message,
  lastTransitionTime: "2026-11-21T11:00:00Z",
});

test.for([
  ["ErrImagePull", "ImagePullFailed"],
  ["ImagePullBackOff", "ImagePullFailed"],
  ["InvalidImageName", "ImagePullFailed"],
  ["ErrImageNeverPull", "ImagePullFailed"],
  ["ImageInspectError", "ImagePullFailed"],
  ["RegistryUnavailable", "ImagePullFailed"],
  ["CreateContainerConfigError", "ContainerCreationFailed"],
  ["CreateContainerError", "ContainerCreationFailed"],
  ["RunContainerError", "ContainerCreationFailed"],
  ["CrashLoopBackOff", "ContainerCrashing"],
  ["ContainerCreating", undefined],
  ["PodInitializing", undefined],
  ["imagepullbackoff", undefined],
  ["", undefined],
])("a container that waits for %s: %s", ([kubelet, want]) => {
  expect(verdict([waiting("main", kubelet, "in its words")])).toEqual(
    want && { type: "ContainersFailing", status: "True", reason: want, message: 'Container "main": in its words' },
  );
});

test.for([
  { name: "all run", statuses: [running("main")], want: undefined },
  { name: "one has ended, and is about to start again", statuses: [ended("main")], want: undefined },
  { name: "one waits, nobody says for what", statuses: [waiting("main")], want: undefined },
  {
    name: "the kubelet has much to do, and tries again by itself",
    statuses: [
      waiting(
        "main",
        "CreateContainerConfigError",
        "failed to sync configmap cache: timed out waiting for the condition",
      ),
    ],
    want: undefined,
  },
  { name: "no statuses", statuses: [], want: undefined },
  {
    name: "the second of two fails",
    statuses: [running("main"), waiting("side", "CrashLoopBackOff", "back-off 5m0s")],
    want: 'ContainerCrashing: Container "side": back-off 5m0s',
  },
  {
    name: "two fail: the first speaks",
    statuses: [waiting("main", "CreateContainerError", "no such file"), waiting("side", "ErrImagePull", "not found")],
    want: 'ContainerCreationFailed: Container "main": no such file',
  },
  {
    name: "an init container fails: it is the one that is waited for",
    inits: [waiting("setup", "ErrImagePull", "not found")],
    statuses: [waiting("main", "CreateContainerError", "no such file")],
    want: 'ImagePullFailed: Container "setup": not found',
  },
  {
    name: "without words the kubelet's reason serves",
    statuses: [waiting("main", "ErrImageNeverPull")],
    want: 'ImagePullFailed: Container "main": ErrImageNeverPull',
  },
  {
    name: "empty words are none",
    statuses: [waiting("main", "ErrImageNeverPull", "")],
    want: 'ImagePullFailed: Container "main": ErrImageNeverPull',
  },
])("$name", ({ statuses, inits, want }) => {
  const given = verdict(statuses, inits);
  expect(given && `${given.reason}: ${given.message}`).toBe(want);
});

test("no Pod, no such condition", () => {
  expect(containersFailingVerdict(viewOf(aRequest(aSandbox())))).toBeUndefined();
});

test("the words stay while the reason does: the kubelet words the same failure in turns", () => {
  const before = said("ImagePullFailed", 'Container "main": failed to pull image "nope"');
  const given = verdict([waiting("main", "ImagePullBackOff", 'Back-off pulling image "nope"')], [], before);
  expect(given?.message).toBe(before.message);
});

test("another reason has words of its own", () => {
  const before = said("ImagePullFailed", "old words");
  expect(verdict([waiting("main", "CrashLoopBackOff", "new words")], [], before)).toMatchObject({
    reason: "ContainerCrashing",
    message: 'Container "main": new words',
  });
});

test("in the status it has a time that stays, and it goes when the failure does", () => {
  const statusOf = (observed: ReturnType<typeof request>) =>
    syncSandbox(observed, NOW, { clusterDomain: "cluster.local" }).status;
  const first = statusOf(request([waiting("main", "ErrImagePull", "not found")]));
  const condition = findCondition(first.conditions, "ContainersFailing");
  expect(condition).toEqual({
    type: "ContainersFailing",
    status: "True",
    reason: "ImagePullFailed",
    message: 'Container "main": not found',
    observedGeneration: 1,
    lastTransitionTime: "2026-11-21T12:00:00Z",
  });
  const later = { ...condition, lastTransitionTime: "2026-11-21T11:00:00Z" };
  const again = statusOf(request([waiting("main", "ImagePullBackOff", "back-off")], [], later));
  expect(findCondition(again.conditions, "ContainersFailing")).toEqual(later);
  expect(findCondition(statusOf(request([running("main")], [], later)).conditions, "ContainersFailing"))
    .toBeUndefined();
});
