/** The keeper, all namespaces in its sight: one that goes away. Next to other keepers' tests it would act on their objects. @module */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { condition, publishOf, untilTold } from "../integration/keeper-claims.ts";
import {
  admin,
  begin,
  down,
  end,
  listed,
  logs,
  makeSandbox,
  namespace,
  proxy,
  read,
  READY,
  send,
  startKeeper,
  up,
} from "../integration/keeper-world.ts";
import { until } from "../integration/kubectl.ts";

const MULTIPLE = "multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod";
const posts = () =>
  proxy.requests.filter((line) => line.startsWith("POST") && line.endsWith(`/${namespace}/events`)).length;

beforeAll(up);
afterAll(down);
beforeEach(() => begin("all namespaces"));
afterEach(end);

test("a Sandbox with two Pods has a Warning; a namespace that goes away takes none, and holds up nothing", async () => {
  startKeeper("--no-leader-election", "--disable-sandbox-events");
  await listed();
  await makeSandbox(["False", "MultiplePods", MULTIPLE]);
  expect(await untilTold(1)).toEqual([`Warning MultiplePods Sandbox/s: ${MULTIPLE}`]);
  await makeSandbox(READY, {}, "t");
  await send("PATCH", "sandboxes", "t", { metadata: { finalizers: ["example.com/hold"] } });
  await send("DELETE", "namespaces", namespace);
  await until(() => read("sandboxes", "t"), (sandbox) => sandbox.metadata.deletionTimestamp !== undefined);
  await publishOf("sandboxes", "t", { conditions: [condition("Ready", "False", "MultiplePods", MULTIPLE)] });
  await until(() => Promise.resolve(posts()), (count) => count >= 2);
  const elsewhere = "/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes/s";
  await makeExpired(elsewhere);
  await until(() => admin.send({ method: "GET", path: elsewhere }), ({ status }) => status === 404);
  expect(posts()).toBe(2);
  expect(logs()).not.toContain('"level":"error"');
  await send("PATCH", "sandboxes", "t", { metadata: { finalizers: null } });
});

/** Makes a Sandbox that the keeper is to delete, at a path of another namespace. */
async function makeExpired(path: string): Promise<void> {
  const spec = {
    podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }] } },
    shutdownPolicy: "Delete",
    shutdownTime: "2026-01-01T00:00:00Z",
  };
  const body = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata: { name: "s" }, spec };
  await admin.send({ method: "POST", path: path.slice(0, path.lastIndexOf("/")), body });
  const status = { conditions: [condition("Ready", "False", "SandboxExpired")] };
  await admin.send({ method: "PATCH", path: `${path}/status`, body: { status } });
}
