/** Since when a status says something: only a new status has a new time, whatever times it had before. @module */
import { describe, expect, test } from "vitest";
import { sandboxHook } from "../../hooks/sandbox/hook.ts";
import { syncSandbox } from "../../hooks/sandbox/sync.ts";
import { sandboxClaimHook } from "../../hooks/sandboxclaim/hook.ts";
import { syncSandboxClaim } from "../../hooks/sandboxclaim/sync.ts";
import { sandboxWarmPoolHook } from "../../hooks/sandboxwarmpool/hook.ts";
import { syncSandboxWarmPool } from "../../hooks/sandboxwarmpool/sync.ts";
import { DEFAULT_SETTINGS } from "../../hooks/all.ts";
import type { Condition } from "../../packages/api/objects/conditions.ts";
import type { HookCalls, Outcome } from "../../packages/webhook/hook.ts";
import { aBoundClaim, aClaimed, aClaimRequest } from "../claimbuilders.ts";
import { aPoolRequest } from "../poolcalls.ts";
import { aMember, aPool } from "../pools.ts";
import { aReadyPod, aRequest, aSandbox, NOW } from "../sandboxes.ts";

const settings = DEFAULT_SETTINGS;
const AGO = "2026-11-21T11:00:00Z";
const since = (type: string, status: string, lastTransitionTime = AGO, reason = "Any") =>
  ({ type, status, reason, message: "", lastTransitionTime }) as Condition;
const refusalOf = (outcome: Outcome) => "refusal" in outcome ? outcome.refusal.message : "passes";
const untimely = (type: string) =>
  `status.conditions would say since when ${type} is so, which nothing that is observed bears out`;
const retimed = <Status extends { conditions?: Condition[] | undefined }>(
  status: Status,
  type: string,
  time: string,
) => ({
  ...status,
  conditions: status.conditions?.map((said) => said.type === type ? { ...said, lastTransitionTime: time } : said),
});

/** Each hook with an observed world in which nothing changes, and a way to say another time. */
const seen = aRequest(aSandbox({ status: { conditions: [since("Ready", "True"), since("Suspended", "False")] } }), [
  aReadyPod(),
]);
const claimed = aClaimed();
/** What a claim copies from its Sandbox, it says since when the Sandbox does; this one has no address. */
const unreachable = { ...claimed, status: { ...claimed.status, podIPs: [] } };
const bound = aBoundClaim({
  status: { conditions: [since("Ready", "False")], sandbox: { name: claimed.metadata.name } },
});
const pool = aPool({ status: { conditions: [since("Ready", "False"), since("Progressing", "True")] } });
const HOOKS: Record<string, (type: string, time: string) => Outcome> = {
  "a Sandbox": (type, time) =>
    sandboxHook(settings, (...call) => {
      const desired = syncSandbox(...call);
      return { ...desired, status: retimed(desired.status, type, time) };
    }).sync(seen, NOW),
  "a claim": (type, time) =>
    sandboxClaimHook(settings, (...call) => {
      const { status, ...decorated } = syncSandboxClaim(...call);
      return { ...decorated, status: retimed(status!, type, time) };
    }).sync(aClaimRequest(bound, [unreachable]), NOW),
  "a pool": (type, time) =>
    sandboxWarmPoolHook(settings, (...call) => {
      const desired = syncSandboxWarmPool(...call);
      return { ...desired, status: retimed(desired.status, type, time) };
    }).sync(aPoolRequest({ pool, sandboxes: [] }), NOW),
};

describe.for(Object.entries(HOOKS))("%s whose Ready has not changed", ([, say]) => {
  test("passes as it is", () => expect(refusalOf(say("none", ""))).toBe("passes"));
  test.for([
    ["since now", "2026-11-21T12:00:00Z"],
    ["since tomorrow", "2026-11-22T12:00:00Z"],
    ["since another time ago", "2026-11-21T10:00:00Z"],
    ["since no time", "now"],
    ["since the same instant in other words", "2026-11-21T12:00:00+01:00"],
  ])("does not say so %s", ([, time]) => expect(refusalOf(say("Ready", time!))).toBe(untimely("Ready")));
});

test.for([
  ["the second of the call", "2026-11-21T12:00:00Z", "passes"],
  ["that with a fraction", "2026-11-21T12:00:00.000Z", "passes"],
  ["a second ago", "2026-11-21T11:59:59Z", untimely("Suspended")],
  ["a second ahead", "2026-11-21T12:00:01Z", untimely("Suspended")],
  ["no time", "soon", untimely("Suspended")],
])("what is new is so since %s: %s", ([, time, want]) => {
  const hook = sandboxHook(settings, (...call) => {
    const desired = syncSandbox(...call);
    return { ...desired, status: retimed(desired.status, "Suspended", time!) };
  });
  expect(refusalOf(hook.sync(aRequest(aSandbox(), [aReadyPod()]), NOW))).toBe(want);
});

/** Times that objects on a cluster may have. */
const TIMES = {
  "long ago": "2020-01-01T00:00:00Z",
  "now": "2026-11-21T12:00:00Z",
  "the future, since a clock was ahead or was put back": "2036-01-01T00:00:00Z",
  "a fraction and an offset": "2026-11-21T13:00:00.123456+02:00",
  "what the API server takes and Date does not": "2026-11-21T12:00:60Z",
  "no time at all": "",
};

/** Answers twice, the second time to the status that the first one has written: nothing is refused, nothing changes again. */
function answerTwice(hook: HookCalls, requestOf: (status?: object) => unknown): void {
  const statusOf = (outcome: Outcome) => {
    expect(refusalOf(outcome)).toBe("passes");
    return (outcome as { answer: { status: object } }).answer.status;
  };
  const status = statusOf(hook.sync(requestOf(), NOW));
  const again = statusOf(hook.sync(requestOf(status), new Date(NOW.getTime() + 90_000)));
  expect(again).toEqual(status);
}

describe.for(Object.entries(TIMES))("good hooks are not refused where conditions are so since %s", ([, time]) => {
  const said = (...words: [type: string, status: string][]) => ({
    conditions: words.map(([type, status]) => since(type, status, time)),
  });
  test.for<[string, object]>([
    ["the same", said(["Ready", "True"], ["Suspended", "False"])],
    ["the contrary", said(["Ready", "False"], ["Suspended", "True"], ["Finished", "True"])],
    ["both, in two conditions", said(["Ready", "False"], ["Ready", "True"], ["Ready", "Unknown"])],
    ["both, the other way round", said(["Ready", "True"], ["Ready", "False"], ["Suspended", "Unknown"])],
    ["what only others say", said(["Backup", "True"], ["Guarded", "True"])],
  ])("and a Sandbox said %s", ([, old]) => {
    const sandboxes = {
      running: [{}, [aReadyPod()]],
      starting: [{}, [aReadyPod({ status: { phase: "Pending", conditions: [], podIPs: [] } })]],
      suspended: [{ operatingMode: "Suspended" }, []],
      expired: [{ shutdownTime: AGO }, []],
    } as const;
    for (const [spec, pods] of Object.values(sandboxes)) {
      answerTwice(
        sandboxHook(settings),
        (status = old) => aRequest(aSandbox({ spec, status }), [...pods]),
      );
    }
    const metadata = { deletionTimestamp: AGO };
    answerTwice(sandboxHook(settings), (status = old) => aRequest(aSandbox({ metadata, status }), [aReadyPod()]));
  });

  test.for(["True", "False", "Unknown"])(
    "and a claim and its Sandbox said different things, the claim Ready %s",
    (says) => {
      const { name } = claimed.metadata;
      for (const theirs of ["True", "False", "Unknown"]) {
        const status = {
          ...claimed.status,
          conditions: [since("Ready", theirs, time), since("Finished", "True", time)],
        };
        const sandbox = { ...claimed, status };
        const old = { conditions: [since("Ready", says, AGO), since("Finished", "True", AGO)], sandbox: { name } };
        answerTwice(
          sandboxClaimHook(settings),
          (status = old) => aClaimRequest(aBoundClaim({ status: { podIPs: undefined, ...status } }), [sandbox]),
        );
      }
    },
  );

  test("and a pool said the same or the contrary", () => {
    for (const [first, second] of [["True", "False"], ["False", "True"], ["Unknown", "Unknown"]] as const) {
      const old = said(["Ready", first], ["Progressing", second], ["NetworkPolicy", second]);
      answerTwice(
        sandboxWarmPoolHook(settings),
        (status = old) =>
          aPoolRequest({
            pool: aPool({ status: { sequence: 7, arrivedSequence: 7, observedSequence: 7, ...status } }),
            sandboxes: [aMember(1), aMember(2), aMember(3)],
          }),
      );
    }
  });
});
