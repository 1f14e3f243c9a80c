/** A binder that does not lead, or not any more, and how much one that leads asks at once. @module */
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, expect, test } from "vitest";
import { createBinding } from "../../packages/binder/binder.ts";
import { eventually } from "../eventually.ts";
import { aClaim, aMember, STATUS } from "../pools.ts";
import { aWorld, once } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>> | undefined;
afterEach(() => world?.stop());

const ofClaim = (name: string, uid: string | undefined) => [{
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  ...{ kind: "SandboxClaim", name, uid: uid ?? "", controller: true },
}];

test("a binder that stands by keeps no more of a bound claim than one that leads", async () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const api = { send: () => Promise.reject(new Error("none")) } as never;
  const { handlers, listed } = createBinding(api, {
    allowedLabelDomains: [],
    templateNetworkPolicy: "optional",
    log: () => {},
  });
  const refs: WeakRef<object>[] = [];
  const show = () => {
    const metadata = { annotations: { "agents.x-k8s.io/controller-first-observed-at": "x" } };
    const status = { conditions: STATUS.ready.conditions, sandbox: { name: "warm-1" } };
    const raw = structuredClone(aClaim("c", { metadata, status }));
    refs.push(new WeakRef(raw));
    handlers.sandboxclaims.observe(raw);
  };
  show();
  handlers.sandboxes.observe(structuredClone(aMember(1, { metadata: { ownerReferences: ofClaim("c", "uid-c") } })));
  listed();
  await new Promise((fulfil) => setTimeout(fulfil, 10));
  gc();
  expect(refs[0]?.deref()).toBeUndefined();
});

test("a binder that does not lead any more reports nothing", async () => {
  world = await aWorld();
  const held = Promise.withResolvers<void>();
  const isLook = once(({ method, path }: { method: string; path: string }) =>
    method === "GET" && path.endsWith("/sandboxclaims/c")
  );
  const binder = await world.binder(undefined, async (request, send) => {
    if (isLook(request)) await held.promise;
    return await send();
  });
  await world.claim("c", { spec: { env: [{ name: "A", value: "x".repeat(40_000) }] } });
  await world.clock.advance(100);
  const stopped = binder.stop();
  held.resolve();
  await stopped;
  world.asked.length = 0;
  await world.clock.advance(60_000);
  expect([world.asked, world.ready()]).toEqual([[], { c: undefined }]);
});

test.for(["unnoted", "lost"])("of many claims that change at once, a few are reported at a time: %s", async (what) => {
  const it = await aWorld();
  world = it;
  let [now, most] = [0, 0];
  for (let i = 0; i < 300; i++) {
    const name = `c${i}`;
    const claim = await it.claim(name, { status: { conditions: STATUS.ready.conditions, sandbox: { name } } });
    if (what === "lost") continue;
    await it.store.put({
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { name, namespace: "team-a", ownerReferences: ofClaim(name, claim.metadata.uid) },
      spec: { podTemplate: { spec: { containers: [] } } },
      status: STATUS.ready,
    } as never);
  }
  await it.binder(undefined, async (_, send) => {
    most = Math.max(most, ++now);
    await setImmediate();
    try {
      return await send();
    } finally {
      now--;
    }
  });
  await eventually(() => now).toBe(0);
  await it.clock.advance(1000);
  expect(most).toBeGreaterThan(1);
  // At the same time, the binder serves the claims that have lost their Sandbox.
  expect(most).toBeLessThanOrEqual(80);
});
