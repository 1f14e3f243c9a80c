/** What a Pod that has a node suffers from, in the kubelet's words. @module */
import { expect, test } from "vitest";
import { imageCode } from "../../../packages/api/diagnosis/rules/node.ts";
import type { Facts } from "../../../packages/api/diagnosis/facts.ts";
import { why } from "../../../packages/api/diagnosis/why.ts";
import { ago, anEvent, aPod, type Case, expectCause, NOW, podFacts, waiting } from "./facts.ts";

const of = (status: object, spec: object = {}, more: Partial<Facts> = {}) => podFacts(aPod(status, spec), more);
const stuck = (reason: string, message?: string, more: object = {}, facts: Partial<Facts> = {}) =>
  of({ containerStatuses: [waiting(reason, message, more)] }, {}, facts);
const ended = (exitCode: number, reason: string, message?: string) => ({
  restartCount: 4,
  lastState: { terminated: { exitCode, reason, ...(message ? { message } : {}), finishedAt: ago(10) } },
});
const creating = (message: string) => of({}, {}, { events: [anEvent("FailedMount", message)] });
const running = {
  name: "main",
  ready: false,
  started: true,
  restartCount: 0,
  state: { running: { startedAt: ago(20) } },
};
const small = { metadata: { name: "n" }, status: { allocatable: { cpu: "2", memory: "4Gi" } } };
const cases: Case[] = [
  {
    name: "a container that has ended for good, while its Pod does not say yet that it has failed",
    facts: of(
      { containerStatuses: [{ name: "main", state: { terminated: { exitCode: 3, reason: "Error" } } }] },
      { restartPolicy: "Never" },
    ),
    want: ["PodFailed", "Pod/demo", true],
    says: "exit code 3",
  },
  {
    name: "an image name that is none",
    facts: stuck("InvalidImageName", "couldn't parse image name"),
    want: ["InvalidImageName", "Pod/demo", true],
    says: '"busybox"',
  },
  {
    name: "an image that is not there",
    facts: stuck(
      "ImagePullBackOff",
      'Back-off pulling image "x": ErrImagePull: rpc error: code = NotFound desc = a/x:1: not found',
    ),
    want: ["ImageNotFound", "Pod/demo", true],
    says: "The registry does not have the image",
  },
  {
    name: "an image that is not for us",
    facts: stuck("ErrImagePull", "pull access denied, repository does not exist or may require authorization"),
    want: ["ImageUnauthorized", "Pod/demo", true],
    says: "denied access",
  },
  {
    name: "a registry that is down",
    facts: stuck("ErrImagePull", 'failed to do request: Head "https://r/v2/x": dial tcp: lookup r: no such host'),
    want: ["ImagePullFailed", "Pod/demo", false],
    says: "no such host",
  },
  {
    name: "a registry that is down, as an Event remembers while the kubelet backs off",
    facts: stuck("ImagePullBackOff", 'Back-off pulling image "x"', {}, {
      events: [anEvent("Failed", 'Failed to pull image "x": x: not found')],
    }),
    want: ["ImageNotFound", "Pod/demo", true],
    says: "does not have",
  },
  {
    name: "a Secret for a variable",
    facts: stuck("CreateContainerConfigError", 'secret "keys" not found'),
    want: ["SecretNotFound", "Secret/keys", true],
    says: 'Secret "keys"',
  },
  {
    name: "a key of a Secret",
    facts: stuck("CreateContainerConfigError", "couldn't find key token in Secret team-a/keys"),
    want: ["KeyNotFound", "Secret/keys", true],
    says: '"token"',
  },
  {
    name: "a kubelet that has much to do",
    facts: stuck("CreateContainerConfigError", "failed to sync configmap cache: timed out waiting for the condition"),
    want: ["Starting", "Sandbox/demo", false],
    says: "starting",
  },
  {
    name: "a ConfigMap for a volume",
    facts: creating('MountVolume.SetUp failed for volume "cfg" : configmap "cfg" not found'),
    want: ["ConfigMapNotFound", "ConfigMap/cfg", true],
    says: 'ConfigMap "cfg"',
  },
  {
    name: "a mount that fails for another reason",
    facts: creating('MountVolume.SetUp failed for volume "nfs" : mount failed: exit status 32'),
    want: ["VolumeMountFailed", "Pod/demo", false],
    says: "exit status 32",
  },
  {
    name: "root where none may be",
    facts: stuck("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"),
    want: ["RunAsNonRoot", "Pod/demo", true],
    says: "runAsNonRoot",
  },
  {
    name: "a crash",
    facts: stuck("CrashLoopBackOff", "back-off 40s restarting failed container", ended(3, "Error", "no config\n")),
    want: ["CrashLoop", "Pod/demo", true],
    says: "exit code 3",
  },
  {
    name: "a first crash",
    facts: stuck("CrashLoopBackOff", "back-off", { ...ended(3, "Error"), restartCount: 1 }),
    want: ["CrashLoop", "Pod/demo", false],
    says: "1 restart so far",
  },
  {
    name: "a signal where there is a liveness probe, and no Event",
    facts: of({ containerStatuses: [waiting("CrashLoopBackOff", "back-off", ended(137, "Error"))] }, {
      containers: [{ name: "main", livenessProbe: {} }],
    }),
    want: ["ProbeFailing", "Pod/demo", false],
    says: "its livenessProbe fails",
  },
  {
    name: "a signal where there is none",
    facts: stuck("CrashLoopBackOff", "back-off", ended(137, "Error")),
    want: ["CrashLoop", "Pod/demo", true],
    says: "exit code 137",
  },
  {
    name: "a kubelet that is busy",
    facts: creating('MountVolume.SetUp failed for volume "v" : failed to sync configmap cache: timed out'),
    want: ["Starting", "Sandbox/demo", false],
    says: "starting",
  },
  {
    name: "an Event of an earlier Pod of the name",
    facts: of({}, {}, { events: [{ ...anEvent("FailedMount", 'secret "s" not found'), uid: "uid-earlier" }] }),
    want: ["Starting", "Sandbox/demo", false],
    says: "starting",
  },
  {
    name: "too much memory",
    facts: stuck("CrashLoopBackOff", "back-off", ended(137, "OOMKilled")),
    want: ["OutOfMemory", "Pod/demo", true],
    says: "more memory than its limit",
  },
  {
    name: "a command that does not exist",
    facts: stuck(
      "CrashLoopBackOff",
      "back-off",
      ended(128, "StartError", 'exec: "nope": executable file not found in $PATH'),
    ),
    want: ["ContainerStartFailed", "Pod/demo", true],
    says: "executable file not found",
  },
  {
    name: "a liveness probe",
    facts: stuck("CrashLoopBackOff", "back-off", ended(137, "Error"), {
      events: [
        anEvent("Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500"),
        anEvent("Killing", "Container main failed liveness probe, will be restarted"),
      ],
    }),
    want: ["ProbeFailing", "Pod/demo", false],
    says: "livenessProbe",
  },
  {
    name: "a readiness probe",
    facts: of({ phase: "Running", containerStatuses: [running] }, {}, {
      events: [anEvent("Unhealthy", "Readiness probe failed: dial tcp 10.0.0.1:80: connection refused")],
    }),
    want: ["ProbeFailing", "Pod/demo", false],
    says: "connection refused",
  },
  {
    name: "a readiness gate",
    facts: of({
      phase: "Running",
      conditions: [{ type: "PodScheduled", status: "True" }, { type: "ContainersReady", status: "True" }],
      containerStatuses: [{ ...running, ready: true }],
    }, { readinessGates: [{ conditionType: "a.io/lb" }] }),
    want: ["ReadinessGateWaiting", "Pod/demo", false],
    says: "a.io/lb",
  },
  {
    name: "a node that is gone",
    facts: of({}, {}, { nodes: [small] }),
    want: ["NodeNotReady", "Node/node-1", false],
    says: "does not exist any more",
  },
  {
    name: "no network",
    facts: of({}, {}, { events: [anEvent("FailedCreatePodSandBox", "plugin type=bridge failed")] }),
    want: ["PodSandboxFailed", "Pod/demo", false],
    says: "bridge",
  },
  {
    name: "a name that is too long for the folder of the logs",
    facts: of({}, {}, {
      events: [
        anEvent(
          "FailedCreatePodSandBox",
          'Failed to create pod sandbox: failed to create log directory for pod "demo_team-a(uid-pod)": mkdir ' +
            "/var/log/pods/team-a_demo_uid-pod: file name too long",
        ),
      ],
    }),
    want: ["PodNameTooLong", "Pod/demo", true],
    says: "<namespace>_<name>_<UID>, which has 19 characters and may have 255",
  },
  { name: "nothing yet", facts: of({}), want: ["Starting", "Sandbox/demo", false], says: "Pending" },
];

test.for(cases)("$name: $want.0", expectCause);

test("the ConfigMap of the egress proxy is created as its page says", () => {
  const facts = creating('MountVolume.SetUp failed for volume "x" : configmap "hookbox-egress-ca" not found');
  expect(why(facts, NOW)).toMatchObject({
    code: "ConfigMapNotFound",
    remedy: expect.stringMatching("egress-proxy.md"),
  });
});

test.for(
  [
    ["ImageNotFound", 'failed to pull image "127.0.0.1:40117/team/tool:1": not found'],
    ["ImageNotFound", "unexpected status 404"],
    ["ImageUnauthorized", "unexpected status: 401 from registry"],
    ["ImagePullFailed", 'failed to pull image "127.0.0.1:40417/team/tool:1": connection refused'],
  ] as const,
)("words of a pull are %s: %s", ([code, words]) => {
  expect(imageCode(words)).toBe(code);
});
