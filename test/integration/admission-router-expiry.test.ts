/** The router's admission policy on a real API server: which Sandboxes may expire; a router works under it. @module */
import { beforeAll, expect, test } from "vitest";
import {
  DELETE_ANNOTATION,
  EXPIRED_ANNOTATION,
  IDLE_ANNOTATION,
  SUSPENDED_ANNOTATION,
} from "../../packages/api/router/protocol.ts";
import { idleExpiryText } from "../../packages/api/expiry.ts";
import type { Api } from "../../packages/kube/api.ts";
import { expire, idleSince, recordActivity, restoreLifetime, suspend } from "../../packages/router/idle/suspend.ts";
import { readSandbox } from "../../packages/router/index/records.ts";
import { createSandboxIndex } from "../../packages/router/index/sandboxindex.ts";
import { createWaker } from "../../packages/router/wake/waker.ts";
import { attempt } from "./kubectl.ts";
import type { Loose, Namespace } from "./namespace.ts";
import { annotate, ASKS, expiry, HOUR, inHours, podAsks, put, SUSPEND, WAKE } from "./routerpolicy.ts";
import { type BareCluster, shared } from "./shared.ts";
import { aProcess } from "./underpolicy.ts";

let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

const EXPIRIES: [what: string, over: Parameters<typeof put>[2], hours: number, may: boolean][] = [
  ["suspended by a router for long enough", { hours: 2, by: "router" }, 0, true],
  ["asked for by the Pod template", { annotations: {}, spec: podAsks(), hours: 2, by: "router" }, 0, true],
  ["suspended by hand", { hours: 200 }, 0, false],
  ["suspended by a router, not for long enough", { hours: 0.1, by: "router" }, 0, false],
  ["in time, from when it was suspended", { hours: 0.1, by: "router" }, 0.2, true],
  ["no idle-delete-seconds", { annotations: { [IDLE_ANNOTATION]: "60" }, hours: 2, by: "router" }, 0, false],
  ["no idle-seconds", { annotations: { [DELETE_ANNOTATION]: "60" }, hours: 2, by: "router" }, 0, false],
  [
    "idle-delete-seconds that is no number",
    { annotations: { ...ASKS, [DELETE_ANNOTATION]: "soon" }, hours: 2, by: "router" },
    0,
    false,
  ],
];

/** Hours since the note says that a router suspended it, and what is different in the condition Suspended. */
const DISAGREEING: [name: string, hours: number, condition: Loose][] = [
  ["of-another-generation", 2, { observedGeneration: 1 }],
  ["not-suspended-yet", 2, { status: "False" }],
  ["younger-than-noted", 2, { lastTransitionTime: inHours(-0.1) }],
  ["older-than-noted", 0.1, { lastTransitionTime: inHours(-2) }],
];

test("the router lets expire what it has suspended for as long as is asked for, and nothing else", async () => {
  const { ns, as } = await aProcess(cluster, "router");
  const patch = (name: string, body: Loose) =>
    attempt(cluster, [...as, "patch", "sandbox", name, "--type=merge", "-p", JSON.stringify(body)]);
  for (const [index, [what, over, hours, may]] of EXPIRIES.entries()) {
    const name = `box-${index}`;
    await put(ns, name, over);
    const { code, stderr } = await patch(name, await expiry(ns, name, inHours(hours)));
    expect([what, code === 0, stderr]).toEqual([
      what,
      may,
      may ? "" : expect.stringContaining("The router may let a Sandbox expire"),
    ]);
  }
  // Resumed by somebody else, and suspended by hand: the note is of another generation.
  await put(ns, "again", { hours: 2, by: "router" });
  for (const body of [WAKE, SUSPEND]) await ns.patch("sandbox", "again", body);
  const { metadata, status } = await ns.get("sandbox", "again");
  const conditions = status.conditions.map((one: Loose) => ({ ...one, observedGeneration: metadata.generation }));
  await ns.patch("sandbox", "again", { status: { conditions } }, "--subresource=status");
  const refused = (says: string) => ({ code: 1, stderr: expect.stringContaining(`The router may ${says}`) });
  expect(await patch("again", await expiry(ns, "again", inHours(0)))).toMatchObject(refused("let a Sandbox expire"));
  // The note and the condition have to agree: a router writes the note itself, so that alone shows nothing.
  for (const [name, hours, change] of DISAGREEING) {
    await put(ns, name, { hours, by: "router" });
    const [condition] = (await ns.get("sandbox", name)).status.conditions;
    await ns.patch("sandbox", name, { status: { conditions: [{ ...condition, ...change }] } }, "--subresource=status");
    const answer = await patch(name, await expiry(ns, name, inHours(0)));
    expect(answer, name).toMatchObject(refused("let a Sandbox expire"));
  }
  // Nor is another end noted than the one that was there.
  await put(ns, "lies", { hours: 2, by: "router", spec: { shutdownTime: inHours(99) } });
  const body = await expiry(ns, "lies", inHours(0));
  const [note] = Object.values(body.metadata.annotations) as string[];
  const lie = {
    ...body,
    ...annotate({ [EXPIRED_ANNOTATION]: note!.replace(/,"before":.*/, ',"before":{"shutdownPolicy":"Delete"}}') }),
  };
  expect(await patch("lies", lie)).toMatchObject(refused("let a Sandbox expire"));
  expect(await patch("lies", body)).toMatchObject({ code: 0 });
  const back = { metadata: { annotations: { [EXPIRED_ANNOTATION]: null } } };
  const another = { ...back, spec: { shutdownTime: inHours(1), shutdownPolicy: "Retain" } };
  expect(await patch("lies", another)).toMatchObject(refused("let a Sandbox expire"));
  const { shutdownTime } = JSON.parse(note!).before;
  expect(await patch("lies", { ...back, spec: { shutdownTime, shutdownPolicy: "Retain" } })).toMatchObject({ code: 0 });
});

test("a router suspends, lets expire, takes that back and wakes under its policy", async () => {
  const { ns, as } = await aProcess(cluster, "router");
  const api = kubectlApi(ns, as);
  const index = createSandboxIndex();
  const parts = { api, index, identity: "router-1" };
  const read = async () => readSandbox(await ns.get("sandbox", "box"))!;
  const end = inHours(500);
  await put(ns, "box", { spec: { shutdownTime: end } });
  await recordActivity(parts, await read(), new Date());
  const now = new Date(Date.now() - HOUR);
  expect(await suspend(parts, await read(), { reason: "Idle", note: 'no traffic: "at"', now })).toBe(true);
  const { metadata } = await ns.get("sandbox", "box");
  const condition = {
    type: "Suspended",
    status: "True",
    reason: "PodTerminated",
    message: "",
    observedGeneration: metadata.generation,
  };
  await ns.patch(
    "sandbox",
    "box",
    { status: { conditions: [{ ...condition, lastTransitionTime: inHours(-0.5) }] } },
    "--subresource=status",
  );
  expect(idleSince(await read())).toBeDefined();
  expect(await expire(parts, await read(), new Date())).toBe(true);
  expect((await ns.get("sandbox", "box")).spec.shutdownPolicy).toBe("Delete");
  // Its user resumes it: the next look of a router gives it its end back.
  await ns.patch("sandbox", "box", WAKE);
  expect(await restoreLifetime(parts, await read())).toBe(true);
  expect((await ns.get("sandbox", "box")).spec).toMatchObject({ shutdownTime: end, shutdownPolicy: "Retain" });

  // A copy of a Sandbox that a router let expire is treated alike: its annotation names the UID of the original.
  const shutdownTime = inHours(-1);
  const note = idleExpiryText(
    { metadata: { uid: "of-another", generation: 1 }, spec: { shutdownTime: end, shutdownPolicy: "Retain" } },
    shutdownTime,
  );
  await put(ns, "copy", {
    annotations: { ...ASKS, [EXPIRED_ANNOTATION]: note },
    spec: { operatingMode: "Suspended", shutdownTime, shutdownPolicy: "Delete" },
  });
  expect(await restoreLifetime(parts, readSandbox(await ns.get("sandbox", "copy"))!)).toBe(true);
  const copy = await ns.get("sandbox", "copy");
  expect(copy.spec).toMatchObject({ shutdownTime: end, shutdownPolicy: "Retain" });
  expect(copy.metadata.annotations).not.toHaveProperty([EXPIRED_ANNOTATION]);

  expect(await suspend(parts, await read(), { reason: "Idle", note: "", now })).toBe(true);
  index.sandboxes.observe(await read());
  const wake = createWaker({ api, index, log: () => {}, signal: new AbortController().signal, onWoken: () => {} });
  expect(await wake(ns.name, "box", () => undefined)).toBeUndefined();
  const { spec, metadata: { annotations } } = await ns.get("sandbox", "box");
  expect([spec.operatingMode, annotations[SUSPENDED_ANNOTATION]]).toEqual(["Running", undefined]);
});

/** An API that patches Sandboxes as somebody: what else is asked for, fails. */
function kubectlApi(ns: Namespace, as: string[]): Api {
  return {
    async send({ method, path, body }) {
      const name = path.split("/").at(-1) ?? "";
      if (method !== "PATCH") throw new Error(`not asked for: ${method} ${path}`);
      const { code, stderr } = await attempt(cluster, [
        ...as,
        "patch",
        "sandbox",
        name,
        "--type=merge",
        "-p",
        JSON.stringify(body),
      ]);
      if (code !== 0) throw new Error(stderr);
      return { status: 200, body: await ns.get("sandbox", name) };
    },
    watch: () => Promise.reject(new Error("not asked for")),
  };
}
