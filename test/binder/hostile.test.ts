/** What users who may write Sandboxes or claims write to stop others: it spoils what is theirs, and nothing else. @module */
import { afterEach, expect, test } from "vitest";
import type { Api } from "../../packages/kube/api.ts";
import { createBinding } from "../../packages/binder/binder.ts";
import { aClaim, aMember, aPool, COUNTED } from "../pools.ts";
import { aTemplate } from "../templates.ts";
import { aWorld } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

const LAST_APPLIED = "metacontroller.k8s.io/last-applied-configuration";

test("a member whose last-applied configuration is nested without end is given to nobody, and stops nobody", async () => {
  world = await aWorld();
  await world.members([1, 2]);
  const [member] = world.sandboxes();
  const deep = "[".repeat(6000) + "]".repeat(6000);
  const spec = { podTemplate: { spec: { containers: [{ name: "deep" }] } } };
  const applied = JSON.stringify({ ...JSON.parse(member?.metadata.annotations?.[LAST_APPLIED] ?? ""), spec });
  const annotations = { ...member?.metadata.annotations, [LAST_APPLIED]: applied.replace('"deep"', deep) };
  await world.store.put({ ...member, metadata: { ...member?.metadata, annotations } } as never);
  await world.binder();
  for (const name of ["c", "d"]) await world.claim(name);
  await world.clock.advance(5000);
  expect([world.shares(), world.faults()]).toEqual([{ c: ["warm-2"], d: ["d"] }, []]);
});

test("where claims of a pool cannot be judged, those of other pools are served", async () => {
  world = await aWorld({ pool: null });
  const asked: string[] = [];
  const send: Api["send"] = ({ method, path, body }) => {
    asked.push(`${method} ${path.split("/").at(-1)}`);
    const claim = method === "GET" && path.endsWith("/good") ? aClaim("good") : undefined;
    return Promise.resolve({ status: 201, body: { items: [], metadata: {}, ...body as object, ...claim } });
  };
  const { clock } = world;
  const { handlers, listed, serve } = createBinding({ send } as Api, {
    log: () => {},
    allowedLabelDomains: [],
    templateNetworkPolicy: "optional",
    clock,
  });
  const broken = { ...aTemplate({ metadata: { name: "broken", uid: "uid-broken" } }) };
  handlers.sandboxtemplates.observe(broken);
  Object.defineProperty(broken, "spec", { get: () => expect.unreachable() });
  handlers.sandboxtemplates.observe(aTemplate());
  const other = { metadata: { name: "other", uid: "uid-other" }, spec: { sandboxTemplateRef: { name: "broken" } } };
  handlers.sandboxwarmpools.observe(aPool(other));
  handlers.sandboxwarmpools.observe(aPool());
  handlers.sandboxclaims.observe(aClaim("bad", { spec: { warmPoolRef: { name: "other" } } }));
  handlers.sandboxclaims.observe(aClaim("good"));
  listed();
  const term = new AbortController();
  const serving = serve(term.signal);
  await clock.advance(3000);
  expect(asked).toContain("POST sandboxes");
  term.abort();
  await serving;
});

test("claims that cannot be served are judged anew when pool or template change, not at each change of a member", async () => {
  world = await aWorld({ pool: null });
  const { clock } = world;
  let judged = 0;
  const send: Api["send"] = () => Promise.resolve({ status: 200, body: {} });
  const { handlers, listed, serve } = createBinding({ send } as Api, {
    log: () => {},
    allowedLabelDomains: [],
    templateNetworkPolicy: "optional",
    clock,
  });
  const template = aTemplate();
  const { spec } = template;
  // To judge a claim is to look at what the template allows.
  Object.defineProperty(template, "spec", { get: () => (judged++, spec) });
  handlers.sandboxtemplates.observe(template);
  handlers.sandboxwarmpools.observe(aPool({ status: COUNTED }));
  const refused = { additionalPodMetadata: { labels: { "no.domain/x": "y" } } };
  for (let index = 0; index < 50; index++) handlers.sandboxclaims.observe(aClaim(`c-${index}`, { spec: refused }));
  listed();
  const term = new AbortController();
  const serving = serve(term.signal);
  await clock.advance(1000);
  expect(judged).toBeGreaterThanOrEqual(50);
  judged = 0;
  const member = aMember(1);
  for (let version = 2; version < 12; version++) {
    handlers.sandboxes.observe({ ...member, metadata: { ...member.metadata, resourceVersion: `${version}` } });
  }
  handlers.sandboxwarmpools.observe(aPool({ status: { ...COUNTED, readyReplicas: 1 } }));
  expect(judged).toBeLessThan(20);
  handlers.sandboxwarmpools.observe(aPool({ metadata: { generation: 2 }, status: COUNTED }));
  expect(judged).toBeGreaterThanOrEqual(50);
  term.abort();
  await serving;
});

test("between claims that are turned away others are heard", async () => {
  world = await aWorld({ pool: null });
  const { clock } = world;
  const send: Api["send"] = () => Promise.resolve({ status: 200, body: {} });
  const { handlers, listed, serve } = createBinding({ send } as Api, {
    log: () => {},
    allowedLabelDomains: [],
    templateNetworkPolicy: "optional",
    clock,
  });
  let judged = 0;
  const template = aTemplate();
  const { spec } = template;
  handlers.sandboxtemplates.observe(template);
  handlers.sandboxwarmpools.observe(aPool({ status: COUNTED }));
  const refused = { additionalPodMetadata: { labels: { "no.domain/x": "y" } } };
  for (let index = 0; index < 1000; index++) handlers.sandboxclaims.observe(aClaim(`c-${index}`, { spec: refused }));
  Object.defineProperty(template, "spec", { get: () => (judged++, spec) });
  listed();
  const term = new AbortController();
  const serving = serve(term.signal);
  expect(judged).toBeLessThan(500);
  await clock.advance(100);
  expect(judged).toBeGreaterThanOrEqual(1000);
  term.abort();
  await serving;
});

test("a large template is looked at once for each member, however many claims wait and however often a member changes", async () => {
  world = await aWorld({ pool: null });
  const { clock } = world;
  let looks = 0;
  const send: Api["send"] = () => Promise.resolve({ status: 200, body: {} });
  const { handlers, listed, serve } = createBinding({ send } as Api, {
    log: () => {},
    allowedLabelDomains: [],
    templateNetworkPolicy: "optional",
    clock,
  });
  const template = aTemplate({ spec: { podTemplate: { spec: { containers: [{ name: "other", image: "large" }] } } } });
  const [container] = template.spec.podTemplate.spec.containers;
  // To hash or compare what Pods are made from is to look at all of it.
  Object.defineProperty(container, "image", { enumerable: true, get: () => (looks++, "large") });
  handlers.sandboxtemplates.observe(template);
  handlers.sandboxwarmpools.observe(aPool({ status: COUNTED, spec: { updateStrategy: { type: "Recreate" } } }));
  for (let number = 1; number < 4; number++) handlers.sandboxes.observe(aMember(number));
  const coming = aMember(4, { state: "coming" });
  const creationTimestamp = new Date(clock.now()).toISOString();
  for (let index = 0; index < 40; index++) {
    handlers.sandboxclaims.observe(aClaim(`c-${index}`, { metadata: { creationTimestamp } }));
  }
  listed();
  const term = new AbortController();
  const serving = serve(term.signal);
  for (let version = 2; version < 12; version++) {
    handlers.sandboxes.observe({ ...coming, metadata: { ...coming.metadata, resourceVersion: `${version}` } });
  }
  expect(looks, "the hash, and what each of three is compared with").toBeGreaterThan(0);
  expect(looks).toBeLessThan(12);
  term.abort();
  await serving;
});
