/**
 * The keeper as a process, on a real API server: what pools and claims of another controller's left behind, Pods that a
 * merge would spoil, NetworkPolicies of somebody else's, and children of Sandboxes that are not bare. @module
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { LAST_APPLIED_ANNOTATION } from "../../packages/api/objects/apply.ts";
import { TEMPLATE_REF_HASH_LABEL } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import {
  admin,
  begin,
  container,
  down,
  end,
  listed,
  makeClaim,
  makePool,
  makeSandbox,
  makeTemplate,
  namespace,
  ownedBy,
  proxy,
  read,
  READY,
  startKeeper,
  untilWordOn,
  up,
} from "./keeper-world.ts";
import { until } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";

beforeAll(up);
afterAll(down);
beforeEach(() => begin());
afterEach(end);

const OF_POOL = { "agents.x-k8s.io/warm-pool-sandbox": nameHash("p") };
const DECORATOR = "metacontroller.k8s.io/decorator-controller";
const untilSandbox = (holds: (sandbox: Loose) => boolean, name = "s") => until(() => read("sandboxes", name), holds);

describe("what another controller has left", () => {
  test("a pool member that nobody controls is labelled for its pool, once there is one", async () => {
    startKeeper();
    await listed();
    await makeSandbox(READY, {}, "s", { labels: OF_POOL });
    const { metadata: { uid } } = await makePool();
    const { metadata } = await untilSandbox(({ metadata }) => metadata.labels["controller-uid"] !== undefined);
    expect(metadata.labels).toEqual({ ...OF_POOL, "controller-uid": uid });
  });

  test("a claim's Sandbox becomes its attachment", async () => {
    const claim = await makeClaim({ warmPoolRef: { name: "none" } });
    await makeSandbox(READY, {}, "s", ownedBy(claim));
    startKeeper();
    const { metadata } = await untilSandbox(({ metadata }) => metadata.annotations?.[DECORATOR] !== undefined);
    expect(metadata.annotations).toEqual({ [DECORATOR]: "sandboxclaim" });
  });

  test("a bare Sandbox belongs to no claim", async () => {
    await makePool();
    await makeSandbox(READY);
    startKeeper();
    await makeSandbox(READY, {}, "t", { labels: OF_POOL });
    await untilSandbox(({ metadata }) => metadata.labels["controller-uid"] !== undefined, "t");
    expect((await read("sandboxes", "s")).metadata).not.toHaveProperty("labels");
  });
});

test("a Pod that the merge would spoil is left out of last-applied, of a pool's Sandbox only", async () => {
  const pool = await makePool();
  const ports = [{ containerPort: 53, protocol: "TCP" }, { containerPort: 53, protocol: "UDP" }];
  const podTemplate = { metadata: { labels: { a: "b" } }, spec: { containers: [container({ ports })] } };
  const applied = { metadata: { name: "s", labels: { x: "y" } }, spec: { podTemplate } };
  const annotations = { [LAST_APPLIED_ANNOTATION]: JSON.stringify(applied) };
  await makeSandbox(READY, { podTemplate }, "bare", { annotations });
  startKeeper();
  await listed();
  await makeSandbox(READY, { podTemplate }, "s", { ...ownedBy(pool), annotations });
  const textOf = ({ metadata }: Loose) => metadata.annotations[LAST_APPLIED_ANNOTATION];
  const silent = await untilSandbox((sandbox) => textOf(sandbox) !== annotations[LAST_APPLIED_ANNOTATION]);
  expect(JSON.parse(textOf(silent))).toEqual({
    metadata: applied.metadata,
    spec: { podTemplate: { metadata: podTemplate.metadata } },
  });
  expect(silent.spec.podTemplate.spec.containers[0].ports).toEqual(ports);
  expect(textOf(await read("sandboxes", "bare"))).toBe(annotations[LAST_APPLIED_ANNOTATION]);
});

test("a NetworkPolicy of somebody else's is named, until it goes; one of the template's own is not", async () => {
  const policies = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`;
  const policy = (metadata: object) => ({
    metadata: { name: "t-network-policy", ...metadata },
    spec: { podSelector: { matchLabels: { [TEMPLATE_REF_HASH_LABEL]: nameHash("t") } } },
  });
  const send = async (method: "POST" | "DELETE", path: string, body?: object) => {
    expect((await admin.send({ method, path, body })).status).toBeLessThan(300);
  };
  const template = await makeTemplate({});
  await send("POST", policies, policy({}));
  startKeeper();
  const word = await untilWordOn("sandboxtemplates", "t", (found) => found !== undefined);
  const message = 'refusing to update NetworkPolicy "t-network-policy" as it is not controlled by SandboxTemplate "t"';
  const problems = [{ kind: "NetworkPolicy", name: "t-network-policy", state: "taken", message }];
  expect(word).toEqual({ generation: 1, problems });
  await send("DELETE", `${policies}/t-network-policy`);
  await send("POST", policies, policy(ownedBy(template)));
  expect(await untilWordOn("sandboxtemplates", "t", (found) => found === undefined)).toBeUndefined();
  const writes = () => proxy.requests.filter((line) => /(PATCH|PUT|DELETE) .*networkpolicies/.test(line));
  await until(() => Promise.resolve(writes().length), (count) => count > 0);
  const { body } = await admin.send({ method: "GET", path: `${policies}/t-network-policy` });
  expect((body as Loose).metadata.annotations).toEqual({ [DECORATOR]: "sandboxtemplate" });
  expect(writes()).toHaveLength(1);
});

describe("children of a Sandbox that is not bare", () => {
  const NO_POD: [string, string, string] = ["False", "DependenciesNotReady", "Pod does not exist"];

  test.for(["a pool", "a claim"])("of %s are looked at as any", async (whose) => {
    const owner = await (whose === "a pool" ? makePool() : makeClaim({ warmPoolRef: { name: "none" } }));
    const own = whose === "a pool" ? OF_POOL : { "agents.x-k8s.io/claim-uid": owner.metadata.uid };
    const podTemplate = { spec: { containers: [container({ image: "" })] } };
    const metadata = { ...ownedBy(owner), labels: own, annotations: { [DECORATOR]: "sandboxclaim" } };
    await makeSandbox(NO_POD, { podTemplate }, "s", metadata);
    startKeeper();
    const word = await untilWordOn("sandboxes", "s", (found) => found !== undefined);
    expect(word.problems).toMatchObject([{ kind: "Pod", name: "s", state: "invalid" }]);
  });
});
