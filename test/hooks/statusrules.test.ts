/** The values that a status, and a decorator's labels and annotations, may have: each hook's guard refuses others. @module */
import { describe, expect, test } from "vitest";
import { sandboxHook } from "../../hooks/sandbox/hook.ts";
import { syncSandbox } from "../../hooks/sandbox/sync.ts";
import { sandboxClaimHook } from "../../hooks/sandboxclaim/hook.ts";
import { syncSandboxClaim } from "../../hooks/sandboxclaim/sync.ts";
import { sandboxTemplateHook } from "../../hooks/sandboxtemplate/hook.ts";
import { syncSandboxTemplate } from "../../hooks/sandboxtemplate/sync.ts";
import { sandboxWarmPoolHook } from "../../hooks/sandboxwarmpool/hook.ts";
import { syncSandboxWarmPool } from "../../hooks/sandboxwarmpool/sync.ts";
import { DEFAULT_SETTINGS } from "../../hooks/all.ts";
import type { Condition } from "../../packages/api/objects/conditions.ts";
import type { Outcome } from "../../packages/webhook/hook.ts";
import { aBoundClaim, aClaim, aClaimed, aClaimRequest } from "../claimbuilders.ts";
import { aPoolRequest } from "../poolcalls.ts";
import { aMember, aPool } from "../pools.ts";
import { aChild, aReadyPod, aRequest, aSandbox, NOW } from "../sandboxes.ts";
import { aTemplate, aTemplateRequest } from "../templates.ts";

const settings = DEFAULT_SETTINGS;
const condition = (type: string, status: string, reason: string) => ({
  ...{ type, status, reason, message: "", lastTransitionTime: "2026-11-21T11:00:00Z" },
});
const refusalOf = (outcome: Outcome) => "refusal" in outcome ? outcome.refusal.message : "passes";
const unproven = (field: string) => `status.${field} would be what nothing that is observed bears out`;
const untrue = (words: string) => `status.conditions would say "${words}", which nothing that is observed bears out`;

describe("a Sandbox", () => {
  const status = { conditions: [condition("Ready", "True", "DependenciesReady")], podIPs: ["10.1.0.7"] };
  const foreign = condition("Backup", "True", "Done");
  const sandbox = aSandbox({
    spec: { service: true },
    status: { ...status, conditions: [...status.conditions, foreign] },
  });
  const observed = aRequest(sandbox, [aReadyPod(), aChild("Service", { spec: { clusterIP: "None" } })]);
  const say = (fields: object) =>
    refusalOf(
      sandboxHook(settings, (request, now, config) => {
        const desired = syncSandbox(request, now, config);
        return { ...desired, status: { ...desired.status, ...fields } };
      }).sync(observed, NOW),
    );
  const suspended = { ...condition("Suspended", "False", "NotSuspended"), lastTransitionTime: "2026-11-21T12:00:00Z" };
  const conditions = [condition("Ready", "True", "DependenciesReady"), suspended];

  test.for<[string, object, string]>([
    ["what it is", {}, "passes"],
    ["no addresses", { podIPs: undefined }, unproven("podIPs")],
    ["another's address", { podIPs: ["10.9.9.9"] }, unproven("podIPs")],
    ["one address more", { podIPs: ["10.1.0.7", "10.9.9.9"] }, unproven("podIPs")],
    ["another node", { nodeName: "other" }, unproven("nodeName")],
    ["another Service", { service: "other" }, unproven("service")],
    ["another domain", { serviceFQDN: "demo.team-a.svc.example.com" }, unproven("serviceFQDN")],
    ["no name", { serviceFQDN: undefined }, unproven("serviceFQDN")],
    ["that it selects all", { selector: "" }, unproven("selector")],
    ["a field of its own", { more: true }, unproven("more")],
    ["that it is not Ready", { conditions: [condition("Ready", "False", "Any"), foreign] }, untrue("Ready False")],
    ["nothing of Ready", { conditions: [foreign] }, untrue("Ready Absent")],
    [
      "what no condition can say",
      { conditions: [condition("Ready", "Perhaps", "DependenciesReady"), foreign] },
      "status.conditions would say Ready in a form that the API server refuses",
    ],
    [
      "nothing of what others say",
      { conditions },
      "status.conditions would no longer say Backup, which is not this hook's",
    ],
    [
      "what only others say",
      { conditions: [...conditions, foreign, condition("Restored", "True", "Any")] },
      "status.conditions would say Restored, which this hook never does",
    ],
  ])("says %s", ([, fields, want]) => expect(say(fields)).toBe(want));

  test("says that it is Ready only where its Pod is", () => {
    const hook = sandboxHook(settings, (request, now, config) => {
      const desired = syncSandbox(request, now, config);
      const conditions = [condition("Ready", "True", "Any")] as Condition[];
      return { ...desired, status: { ...desired.status, conditions } };
    });
    for (const status of [{ phase: "Pending" }, { podIPs: [] }, { conditions: [{ type: "Ready", status: "False" }] }]) {
      expect(refusalOf(hook.sync(aRequest(aSandbox(), [aReadyPod({ status })]), NOW))).toBe(untrue("Ready True"));
    }
  });
});

describe("a claim", () => {
  const sandbox = aClaimed();
  const { name } = sandbox.metadata;
  const { podIPs } = sandbox.status ?? {};
  const bound = aClaim({ status: { sandbox: { name } } });
  const say = (fields: object, claim = bound) =>
    refusalOf(
      sandboxClaimHook(settings, (request, now, config) => {
        const { attachments } = syncSandboxClaim(request, now, config);
        const status = { conditions: sandbox.status?.conditions, sandbox: { name, ...(podIPs ? { podIPs } : {}) } };
        return { attachments, status, ...fields } as never;
      }).sync(aClaimRequest(claim, [sandbox]), NOW),
    );
  const status = (fields: object) => ({ status: { conditions: sandbox.status?.conditions, ...fields } });
  const annotation = (key: string) => `metadata.annotations of the parent would change where they must not (${key})`;

  test.for<[string, object, string]>([
    ["what it has", {}, "passes"],
    ["another's Sandbox", status({ sandbox: { name: "other", podIPs } }), unproven("sandbox")],
    ["another's address", status({ sandbox: { name, podIPs: ["10.9.9.9"] } }), unproven("sandbox")],
    ["no Sandbox", status({}), unproven("sandbox")],
    [
      "that its Sandbox is missing",
      { status: { conditions: [condition("Ready", "False", "SandboxMissing")], sandbox: { name, podIPs } } },
      untrue("Ready False"),
    ],
    [
      "that its pool is missing",
      { status: { conditions: [condition("Ready", "False", "WarmPoolNotFound")], sandbox: { name, podIPs } } },
      untrue("Ready False"),
    ],
    ["its name in an annotation", { annotations: { "agents.x-k8s.io/sandbox-name": name } }, "passes"],
    [
      "another's name there",
      { annotations: { "agents.x-k8s.io/sandbox-name": "other" } },
      annotation("agents.x-k8s.io/sandbox-name"),
    ],
    ["that it was Ready before", { annotations: { "agents.x-k8s.io/claim-first-ready-at": "unknown" } }, "passes"],
    [
      "that its losses are allowed",
      { annotations: { "agents.x-k8s.io/losses-allowed-until": "2099-01-01T00:00:00Z" } },
      annotation("agents.x-k8s.io/losses-allowed-until"),
    ],
  ])("says %s", ([, fields, want]) => expect(say(fields)).toBe(want));

  const expired = { lifecycle: { shutdownTime: "2026-11-21T11:00:00Z" } };
  const unbound = {
    "names none": aClaim({ spec: expired }),
    "names one that it does not control": aClaim({ spec: expired, status: { sandbox: { name: "gone" } } }),
  };
  const onlyNote = (key: string, value: string) => ({
    status: undefined,
    annotations: { [`agents.x-k8s.io/${key}`]: value },
  });
  const answers = {
    "what it has": {},
    "that it has expired": { status: { conditions: [condition("Ready", "False", "ClaimExpired")] } },
    "that its Sandbox is missing": { status: { conditions: [condition("Ready", "False", "SandboxMissing")] } },
    "its name in an annotation": onlyNote("sandbox-name", name),
    "when it was seen": onlyNote("controller-first-observed-at", "2026-11-21T11:00:00.000Z"),
    "that it was Ready before": onlyNote("claim-first-ready-at", "unknown"),
  };
  test.for(
    Object.entries(unbound).flatMap(([which, claim]) =>
      Object.entries(answers).map(([what, fields]) => ({ which, claim, what, fields }))
    ),
  )("that $which does not say $what: only the binder writes about it", ({ claim, fields }) => {
    expect(say({ status: undefined }, claim)).toBe("passes");
    expect(say(fields, claim)).not.toBe("passes");
  });
});

test("a claim keeps the time at which it first was Ready", () => {
  const key = "agents.x-k8s.io/claim-first-ready-at";
  const sandbox = aClaimed();
  const { name } = sandbox.metadata;
  const metadata = { annotations: { [key]: "2026-11-21T11:00:00.000Z" } };
  const claim = aClaim({ metadata, status: { sandbox: { name } } });
  const hook = sandboxClaimHook(settings, (request, now, config) => {
    return { ...syncSandboxClaim(request, now, config), annotations: { [key]: "unknown" } };
  });
  expect(refusalOf(hook.sync(aClaimRequest(claim, [sandbox]), NOW))).toMatch(/would change where they must not/);
});

test.for(["controller-first-observed-at", "claim-first-ready-at"])(
  "the guard lets the hook fill an emptied %s",
  (name) => {
    const claim = aBoundClaim({ metadata: { annotations: { [`agents.x-k8s.io/${name}`]: "" } } });
    const hook = sandboxClaimHook(settings, syncSandboxClaim);
    const { answer } = hook.sync(aClaimRequest(claim, [aClaimed()]), NOW) as { answer?: { annotations?: object } };
    expect(Object.values(answer?.annotations ?? {})).not.toContain("");
    expect(Object.keys(answer?.annotations ?? {})).toContain(`agents.x-k8s.io/${name}`);
  },
);

test("the guard lets a claim go on to report an expiry that a clock which is ahead has reported", () => {
  const spec = { lifecycle: { shutdownTime: new Date(NOW.getTime() + 3000).toISOString(), shutdownPolicy: "Retain" } };
  const sandbox = aClaimed();
  const { name } = sandbox.metadata;
  const expired = { ...condition("Ready", "False", "ClaimExpired"), observedGeneration: 3 };
  const claim = aBoundClaim({ spec, status: { conditions: [expired], sandbox: { name } } });
  const hook = sandboxClaimHook(settings, syncSandboxClaim);
  expect(refusalOf(hook.sync(aClaimRequest(claim, [sandbox]), NOW))).toBe("passes");
});

describe("a pool", () => {
  const observed = aPoolRequest({ pool: aPool({ status: { sequence: 7 } }), sandboxes: [aMember(1), aMember(2)] });
  const say = (fields: object) =>
    refusalOf(
      sandboxWarmPoolHook(settings, (request, now, config) => {
        const desired = syncSandboxWarmPool(request, now, config);
        return { ...desired, status: { ...desired.status, ...fields } };
      }).sync(observed, NOW),
    );

  test.for<[string, object, string]>([
    ["what it is", {}, "passes"],
    ["that it has more", { replicas: 3 }, unproven("replicas")],
    ["that it has none", { replicas: undefined }, unproven("replicas")],
    ["that more are Ready", { readyReplicas: 9 }, unproven("readyReplicas")],
    ["that other Pods are its own", { selector: "app=x" }, unproven("selector")],
    ["that its numbers begin anew", { sequence: 1 }, unproven("sequence")],
    ["that its numbers begin far ahead", { sequence: 2 ** 52 }, unproven("sequence")],
    ["that its numbers have no end", { sequence: Infinity }, unproven("sequence")],
    ["that more has arrived", { arrivedSequence: 9 }, unproven("arrivedSequence")],
    ["that less has arrived", { arrivedSequence: 1 }, unproven("arrivedSequence")],
    ["that it has seen more counted", { observedSequence: 9 }, unproven("observedSequence")],
    ["that it is full", { conditions: [condition("Ready", "True", "Full")] }, untrue("Ready True")],
    ["that it knows nothing", { conditions: [condition("Ready", "Unknown", "Any")] }, untrue("Ready Unknown")],
  ])("says %s", ([, fields, want]) => expect(say(fields)).toBe(want));

  test("need not go on to say that something was kept, or what others have said", () => {
    const said = [condition("Guarded", "True", "TooManyLosses"), condition("Backup", "True", "Done")];
    const pool = aPool({ status: { sequence: 7, conditions: said } });
    const hook = sandboxWarmPoolHook(settings);
    expect(refusalOf(hook.sync(aPoolRequest({ pool, sandboxes: [aMember(1)] }), NOW))).toBe("passes");
  });
});

test("a template has no status", () => {
  const status = { conditions: [condition("Ready", "True", "Any")] } as unknown as null;
  const hook = sandboxTemplateHook(settings, (request, config) => {
    return { ...syncSandboxTemplate(request, config), status };
  });
  expect(refusalOf(hook.sync(aTemplateRequest(aTemplate()), NOW))).toMatch(/^status.conditions would say Ready/);
});

test("a template is labelled with the hash of its own name", () => {
  const label = (value: string, key = "agents.x-k8s.io/sandbox-template-ref-hash") =>
    refusalOf(
      sandboxTemplateHook(
        settings,
        (request, config) => ({ ...syncSandboxTemplate(request, config), labels: { [key]: value } }),
      )
        .sync(aTemplateRequest(aTemplate()), NOW),
    );
  expect(label("00000000")).toMatch(/^metadata.labels of the parent would change where they must not/);
  expect(label("x", "app")).toMatch(/\(app\)$/);
});
