/** Late binding: a claim with variables gets a member, which has them before the claim is Ready. @module */
import { Buffer } from "node:buffer";
import { afterEach, expect, test } from "vitest";
import { type Deliver, type Delivery, DeliveryRefused } from "../../packages/binder/state.ts";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { aPool, COUNTED } from "../pools.ts";
import { aTemplate } from "../templates.ts";
import { aWorld } from "./world.ts";

const LATE = aTemplate({
  metadata: { annotations: { "agents.x-k8s.io/late-binding": "Allowed" } },
  spec: { envVarsInjectionPolicy: "Allowed" },
});
const WITH_ENV = { spec: { env: [{ name: "API_KEY", value: "s3cr3t" }] } };

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

/** A world whose deliveries are recorded, and fail as long as `fault` returns an error. */
async function begin(
  members: number[],
  fault: (name: string) => Error | undefined = () => undefined,
  template: typeof LATE | null = LATE,
  api?: ApiFault,
) {
  const delivered: [string, Record<string, string>, string, ...Partial<Delivery>[]][] = [];
  const deliver: Deliver = ({ name }, { env, files, start }, how) => {
    const error = fault(name);
    if (error) return Promise.reject(error);
    const isMore = files.length > 0 || start !== undefined;
    delivered.push([name, env, how, ...isMore ? [{ files, start }] : []]);
    return Promise.resolve();
  };
  world = await aWorld({ template, deliver });
  await world.members(members);
  await world.binder(api);
  return delivered;
}

test("a claim with variables gets a member at once, and is bound when the member has them", async () => {
  const delivered = await begin([1, 2]);
  const versions = world.versionsOf("c");
  await world.claim("c", WITH_ENV);
  await world.clock.advance(0);
  expect([world.shares(), world.shown()]).toEqual([{ c: ["warm-1"] }, { c: "warm-1" }]);
  expect(delivered).toEqual([["warm-1", { API_KEY: "s3cr3t" }, "first"]]);
  expect(versions.filter((text) => text?.startsWith("True"))).toHaveLength(1);
  const [sandbox] = world.sandboxes().filter(({ metadata }) => metadata.name === "warm-1");
  expect(sandbox?.metadata.annotations).toMatchObject({ "agents.x-k8s.io/late-binding": "Required" });
  expect(JSON.stringify(sandbox)).not.toContain("s3cr3t");
});

test("a member is replaced after the delivery, as the start of its Pod would delay that", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  world = await aWorld({
    template: LATE,
    pool: aPool({ spec: { replicas: 1 }, status: { ...COUNTED, replicas: 1, readyReplicas: 1 } }),
    deliver: () => promise,
  });
  await world.members([1]);
  await world.binder();
  const posts = () => world.asked.filter((line) => line.startsWith("POST sandboxes")).length;
  await world.claim("c", WITH_ENV);
  await world.clock.advance(500);
  expect([world.shares(), posts()]).toEqual([{ c: ["warm-1"] }, 0]);
  resolve();
  await world.clock.advance(500);
  expect([world.shown(), posts()]).toEqual([{ c: "warm-1" }, 1]);
});

test("a claim without variables does not wait for its delivery, which later starts of the Pod wait for", async () => {
  let isDown = true;
  const delivered = await begin([1], () => isDown ? new DeliveryRefused("no") : undefined);
  await world.claim("c");
  await world.clock.advance(60_000);
  expect([world.shown(), world.ready()["c"], delivered]).toEqual([
    { c: "warm-1" },
    expect.stringMatching(/^True /),
    [],
  ]);
  isDown = false;
  await world.clock.advance(60_000);
  expect([world.shares(), delivered]).toEqual([{ c: ["warm-1"] }, [["warm-1", {}, "again"]]]);
});

test.for<[string, object, object]>([
  ["the template does not allow it", {}, WITH_ENV],
  ["a variable is for another container", LATE.metadata.annotations as object, {
    spec: { env: [{ name: "A", value: "1", containerName: "other" }] },
  }],
])("if %s, the claim gets a Sandbox of its own, with the variables in its Pod", async ([, annotations, over]) => {
  const containers = [{ name: "main", image: "python" }, { name: "other", image: "python" }];
  const template = aTemplate({
    metadata: { annotations },
    spec: { envVarsInjectionPolicy: "Allowed", podTemplate: { spec: { containers } } },
  });
  await begin([1], undefined, template);
  await world.claim("c", over);
  await world.clock.advance(3000);
  expect(world.shares()).toEqual({ c: ["c"] });
  expect(JSON.stringify(world.sandboxes().find(({ metadata }) => metadata.name === "c")?.spec)).toContain('"value"');
});

test("until the member has them the claim is not Ready, and after three failures it says why, without a value", async () => {
  let isDown = true;
  const delivered = await begin([1], () => isDown ? new Error("the router does not answer") : undefined);
  await world.claim("c", WITH_ENV);
  await world.clock.advance(500);
  expect([world.ready(), world.shown()]).toEqual([{ c: undefined }, { c: undefined }]);
  await world.clock.advance(10_000);
  const words = "Error seen: give the sandbox what its claim sets: the router does not answer";
  expect([world.ready(), world.shown()]).toEqual([{ c: `False ReconcilerError ${words}` }, { c: undefined }]);
  expect(world.shares()).toEqual({ c: ["warm-1"] });
  isDown = false;
  await world.clock.advance(40_000);
  expect([world.shown(), delivered.length]).toEqual([{ c: "warm-1" }, 1]);
  expect(world.ready()["c"]).toMatch(/^True /);
  expect(JSON.stringify([world.faults(), world.claims().map(({ status }) => status)])).not.toContain("s3cr3t");
});

test("a member that refuses them is deleted, and the claim gets the next one", async () => {
  const delivered = await begin([1, 2], (name) => name === "warm-1" ? new DeliveryRefused("no") : undefined);
  await world.claim("c", WITH_ENV);
  await world.clock.advance(20_000);
  expect([world.shares(), world.shown()]).toEqual([{ c: ["warm-2"] }, { c: "warm-2" }]);
  expect(delivered).toEqual([["warm-2", { API_KEY: "s3cr3t" }, "first"]]);
  expect(world.sandboxes().map(({ metadata }) => metadata.name)).not.toContain("warm-1");
});

test("if all refuse them, the claim deletes two members, and then says why", async () => {
  await begin([1, 2, 3, 4], () => new DeliveryRefused("no token is mounted"));
  await world.claim("c", WITH_ENV);
  await world.clock.advance(120_000);
  expect(world.ready()["c"]).toContain("no token is mounted");
  const left = world.sandboxes().map(({ metadata }) => metadata.name).filter((name) => /^warm-[1-4]$/.test(name));
  expect(left).toEqual(["warm-3", "warm-4"]);
});

test("each later start of the Pod gets them again, and so does one that a new binder finds", async () => {
  const delivered = await begin([1]);
  await world.claim("c", WITH_ENV);
  await world.clock.advance(0);
  const show = async (status: "True" | "False", at: string) => {
    const [sandbox] = world.sandboxes().filter(({ metadata }) => metadata.name === "warm-1");
    const ready = { type: "Ready", status, reason: "X", message: "", lastTransitionTime: at };
    await world.store.put({ ...sandbox, status: { ...sandbox?.status, conditions: [ready] } } as never);
    await world.clock.advance(0);
  };
  await show("False", "2026-01-01T00:01:00Z");
  expect(delivered).toHaveLength(1);
  await show("True", "2026-01-01T00:02:00Z");
  expect(delivered).toEqual([["warm-1", { API_KEY: "s3cr3t" }, "first"], ["warm-1", { API_KEY: "s3cr3t" }, "again"]]);
  await world.clock.advance(60_000);
  expect(delivered).toHaveLength(2);
});

const annotated = (annotations: Record<string, string>) => ({
  metadata: {
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([key, text]) => [`agents.x-k8s.io/${key}`, text]),
    ),
  },
});
const named = (text: string) => annotated({ "secret-env": text });

/** Answers for the Secrets `keys` and `binary`, and for an admission policy of this age; undefined: there is none. */
function answering(policySeconds: number | undefined, secretStatus = 200, action = "Deny"): ApiFault {
  return ({ path }) => {
    if (path.includes("admissionregistration")) {
      if (policySeconds === undefined) return { status: 404, body: {} };
      const creationTimestamp = new Date(world.clock.now() - 1000 * policySeconds).toISOString();
      const spec = path.includes("policybindings") ? { validationActions: [action] } : {};
      return { status: 200, body: { metadata: { name: "hookbox-claim-secrets", creationTimestamp }, spec } };
    }
    if (!path.includes("/secrets/")) return undefined;
    if (secretStatus !== 200) return { status: secretStatus, body: { message: "secrets is forbidden" } };
    const data = path.endsWith("/keys")
      ? { api: Buffer.from("s3cr3t").toString("base64"), other: Buffer.from("0th3r").toString("base64") }
      : { api: Buffer.of(255, 254).toString("base64"), big: Buffer.alloc(1 << 20).toString("base64") };
    return { status: 200, body: { data } };
  };
}

test("a claim gets values of Secrets late, in a member or in a Sandbox of its own, and no object has them", async () => {
  const delivered = await begin([1], undefined, LATE, answering(3600));
  await world.claim("warm", named("API_KEY=keys/api,OTHER=keys/other"));
  await world.clock.advance(0);
  expect(delivered).toEqual([["warm-1", { API_KEY: "s3cr3t", OTHER: "0th3r" }, "first"]]);
  expect(world.asked.filter((line) => line === "GET keys")).toHaveLength(1);
  await world.claim("cold", { ...named("KEY=keys/other"), ...WITH_ENV });
  await world.clock.advance(3000);
  const [cold] = world.sandboxes().filter(({ metadata }) => metadata.name === "cold");
  const at = new Date(world.clock.now()).toISOString();
  const ready = { type: "Ready", status: "True", reason: "DependenciesReady", message: "", lastTransitionTime: at };
  await world.store.put({ ...cold, status: { conditions: [ready], podIPs: ["10.0.0.9"] } } as never);
  await world.clock.advance(0);
  expect(delivered.slice(1)).toEqual([["cold", { KEY: "0th3r" }, "again"]]);
  expect(world.ready()["cold"]).toMatch(/^True /);
  expect(JSON.stringify([...world.sandboxes(), ...world.claims(), world.faults()])).not.toContain("0th3r");
});

const WITH_FILES = annotated({
  "secret-env": "API_KEY=keys/api",
  "secret-files": "~/.netrc=binary/api,/etc/x=keys/other",
  "start-command": "go-on",
});
const FILES = {
  files: [{ path: "~/.netrc", content: Buffer.of(255, 254).toString("base64") }, {
    path: "/etc/x",
    content: Buffer.from("0th3r").toString("base64"),
  }],
  start: "go-on",
};

test("a member gets files and a start command together with the variables, and each start of its Pod gets them", async () => {
  const delivered = await begin([1], undefined, LATE, answering(3600));
  await world.claim("c", WITH_FILES);
  await world.clock.advance(0);
  expect(delivered).toEqual([["warm-1", { API_KEY: "s3cr3t" }, "first", FILES]]);
  expect(world.shown()).toEqual({ c: "warm-1" });
  await startPod("warm-1");
  expect(delivered.slice(1)).toEqual([["warm-1", { API_KEY: "s3cr3t" }, "again", FILES]]);
  expect(JSON.stringify([...world.sandboxes(), world.faults()])).not.toMatch(/0th3r|go-on/);
});

/** The Pod of a Sandbox is Ready from now on. */
async function startPod(name: string) {
  const [sandbox] = world.sandboxes().filter(({ metadata }) => metadata.name === name);
  const at = new Date(world.clock.now() + 1000).toISOString();
  const ready = { type: "Ready", status: "True", reason: "DependenciesReady", message: "", lastTransitionTime: at };
  await world.store.put({ ...sandbox, status: { podIPs: ["10.0.0.9"], conditions: [ready] } } as never);
  await world.clock.advance(0);
}

test("a start command alone needs a Ready member, or goes to a Sandbox of the claim's own, and no policy", async () => {
  const delivered = await begin([1], undefined, LATE);
  await world.claim("warm", annotated({ "start-command": "go-on" }));
  await world.claim("cold", annotated({ "start-command": "go-on" }));
  await world.clock.advance(3000);
  await startPod("cold");
  expect(delivered).toEqual([
    ["warm-1", {}, "first", { files: [], start: "go-on" }],
    ["cold", {}, "again", { files: [], start: "go-on" }],
  ]);
});

test.for<[string, { metadata?: object; spec?: object }]>([
  ["a start command", annotated({ "start-command": "go-on" })],
  ["a variable", WITH_ENV],
])("after a claim is bound it can add %s only as its template allows it", async ([, over]) => {
  const allowed = aTemplate({ metadata: LATE.metadata, spec: { envVarsInjectionPolicy: "Disallowed" } });
  const delivered = await begin([1], undefined, allowed);
  await world.claim("c");
  await world.clock.advance(0);
  expect(delivered).toEqual([["warm-1", {}, "again"]]);
  const [{ metadata, spec, ...rest } = { metadata: {}, spec: {} }] = world.claims();
  await world.store.put(
    { ...rest, metadata: { ...metadata, ...over.metadata }, spec: { ...spec, ...over.spec } } as never,
  );
  await startPod("warm-1");
  expect(delivered).toHaveLength(1);
  expect(JSON.stringify(world.faults())).toContain("not allowed by the template policy");
});

test.for<[string, string, ApiFault, string]>([
  ["its author was not checked", "A=keys/api", answering(undefined), "policy hookbox-claim-secrets is missing"],
  ["the check only warns", "A=keys/api", answering(3600, 200, "Warn"), "lacks Deny"],
  ["it is older than the check", "A=keys/api", answering(5), "create it again"],
  ["the key does not exist", "A=keys/none", answering(3600), "Secret keys has no key none"],
  ["the Secret does not exist", "A=keys/api", answering(3600, 404), "Secret keys does not exist"],
  ["the binder may not read it", "A=keys/api", answering(3600, 403), "the binder cannot read Secret keys"],
  ["the value is not text", "A=binary/api", answering(3600), "key api of Secret binary is not text"],
  ["the values are too large", "A=binary/big,B=keys/api", answering(3600), "have 1048582 bytes together"],
])("a claim gets no value if %s, and says so", async ([, text, api, words]) => {
  const delivered = await begin([1], undefined, LATE, api);
  await world.claim("c", named(text));
  await world.clock.advance(20_000);
  expect(world.ready()["c"]).toContain(words);
  expect([delivered, world.shown()]).toEqual([[], { c: undefined }]);
  // The member is not the cause.
  expect(world.shares()).toEqual({ c: ["warm-1"] });
});

const UNCHECKED = annotated({ "secret-files": "a=keys/api" });
test("a claim gets no file of a Secret if its author was not checked", async () => {
  const delivered = await begin([1], undefined, LATE, answering(undefined));
  await world.claim("c", UNCHECKED);
  await world.clock.advance(20_000);
  expect([delivered, world.ready()["c"]]).toEqual([[], expect.stringContaining("hookbox-claim-secrets is missing")]);
});

const hasKey = { spec: { containers: [{ name: "main", volumeMounts: [{ name: "k", mountPath: "/k" }] }] } };
test.for<[string, Record<string, string>, object, string]>([
  ["a path in no form", { "secret-files": "a" }, LATE, '"a" is not PATH=secret/key'],
  ["a folder", { "secret-files": "a/=keys/api" }, LATE, '"a/" is a folder'],
  ["a parent", { "secret-files": "a/..=keys/api" }, LATE, '"a/.." is a folder'],
  ["the home folder", { "secret-files": "~=keys/api" }, LATE, '"~" is a folder'],
  ["a file twice", { "secret-files": "a=keys/api,a=keys/other" }, LATE, '"a" is a folder, or is there twice'],
  [
    "more files than values",
    {
      "secret-env": Array.from({ length: 5 }, (_, i) => `A${i}=keys/api`).join(),
      "secret-files": Array.from({ length: 4 }, (_, i) => `a${i}=keys/api`).join(),
    },
    LATE,
    "have 9 entries; at most 8 are allowed",
  ],
  ["an empty command", { "start-command": "" }, LATE, "start-command is empty"],
  [
    "a command without late binding",
    { "start-command": "go-on" },
    aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } }),
    "need a template that allows late binding",
  ],
  [
    "a command where variables are not allowed",
    { "start-command": "go-on" },
    aTemplate({ metadata: LATE.metadata }),
    "not allowed by the template policy",
  ],
  [
    "a file where variables are not allowed",
    { "secret-files": "a=keys/api" },
    aTemplate({ metadata: LATE.metadata }),
    "not allowed by the template policy",
  ],
  [
    "a command for the container with the key",
    { "start-command": "go-on" },
    aTemplate({
      metadata: LATE.metadata,
      spec: {
        envVarsInjectionPolicy: "Allowed",
        podTemplate: {
          spec: { ...hasKey.spec, volumes: [{ name: "k", secret: { secretName: "hookbox-runtime-key" } }] },
        },
      },
    }),
    "has the Secret hookbox-runtime-key",
  ],
])("a claim with %s is refused at once", async ([, annotations, template, words]) => {
  await begin([1], undefined, template as typeof LATE, answering(3600));
  await world.claim("c", annotated(annotations));
  await world.clock.advance(5000);
  expect(world.ready()["c"]).toMatch(/^False EnvVarsInjectionRejected /);
  expect(world.ready()["c"]).toContain(words);
});

test.for<[string, string, typeof LATE, string]>([
  ["no key", "A=keys", LATE, '"A=keys" is not NAME=secret/key'],
  ["a blank", "A=keys/api, B=keys/api", LATE, '" B=keys/api" is not NAME=secret/key'],
  ["a path", "A=../x/api", LATE, "is not NAME=secret/key"],
  ["too many", Array.from({ length: 9 }, (_, i) => `A${i}=keys/api`).join(), LATE, "at most 8 are allowed"],
  [
    "a template without late binding",
    "A=keys/api",
    aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } }),
    "late binding",
  ],
  [
    "a template without variables",
    "A=keys/api",
    aTemplate({ metadata: LATE.metadata }),
    "not allowed by the template policy",
  ],
])("with %s a claim is refused at once", async ([, text, template, words]) => {
  await begin([1], undefined, template, answering(3600));
  await world.claim("c", named(text));
  await world.clock.advance(5000);
  expect(world.ready()["c"]).toMatch(/^False EnvVarsInjectionRejected /);
  expect(world.ready()["c"]).toContain(words);
  expect(world.asked.filter((line) => line === "GET keys")).toEqual([]);
});

test("without the template a claim that names Secrets gets no member, which would lack their values", async () => {
  const delivered = await begin([1], undefined, null, answering(3600));
  await world.claim("c", named("API_KEY=keys/api"));
  await world.clock.advance(5000);
  expect([world.ready()["c"], world.shares(), delivered]).toEqual([
    expect.stringMatching(/^False TemplateNotFound /),
    { c: [] },
    [],
  ]);
});

test("a claim gets no Sandbox of its own before its Secrets can be read", async () => {
  let status = 404;
  await begin([], undefined, LATE, (request) => answering(3600, status)(request));
  await world.claim("c", named("API_KEY=keys/api"));
  await world.clock.advance(20_000);
  expect([world.ready()["c"], world.shares()]).toEqual([
    expect.stringContaining("Secret keys does not exist"),
    { c: [] },
  ]);
  status = 200;
  await world.clock.advance(40_000);
  expect(world.shares()).toEqual({ c: ["c"] });
});
