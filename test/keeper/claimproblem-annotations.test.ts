import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aTemplate } from "../templates.ts";
import { asked, begin, end, keep, keeper, pass, server } from "./stage.ts";
import { aClaim, aClaimsSandbox, aPool, CLAIM, CLAIMS_SANDBOX, noted, POOL, TEMPLATE } from "./extensions.ts";
import { aSandbox } from "../sandboxes.ts";
import { refusal } from "../kube/fakeapi.ts";

const NAMESPACE = "/api/v1/namespaces/team-a";
const SANDBOX = "/apis/agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxes/job";
/** So that nobody asks for the template's. */
const NO_POLICY = { networkPolicyManagement: "Unmanaged" };
const WORD = { generation: 1, reason: "WarmPoolNotFound", message: 'SandboxWarmPool "pool" not found' };
/** Of noon, when the clock starts. */
const CREATED = { creationTimestamp: "2026-11-21T12:00:00Z" };
interface Over {
  metadata?: { annotations?: object | undefined; generation?: number };
  spec?: object;
  status?: object;
}
const putClaim = ({ metadata = {}, ...over }: Over = {}) =>
  server.put(CLAIM, { ...aClaim({ ...over, metadata: { ...CREATED, ...metadata, ...noted(metadata.annotations) } }) });
const putPool = (over: object = {}) => server.put(POOL, { ...aPool(over) });
const putTemplate = ({ spec = {}, metadata = {} } = {}) =>
  server.put(TEMPLATE, { ...aTemplate({ spec: { ...NO_POLICY, ...spec }, metadata }) });
const word = () => {
  const text = server.get(CLAIM)?.metadata.annotations?.["agents.x-k8s.io/unresolved"];
  return text === undefined ? undefined : JSON.parse(text);
};

beforeEach(() => {
  begin();
  server.put(NAMESPACE, { metadata: { name: "team-a" }, apiVersion: "v1", kind: "Namespace" });
});
afterEach(end);

describe("a claim that is well", () => {
  test("costs no request, from its creation to its binding", async () => {
    putTemplate();
    putPool();
    await keep(1);
    putClaim();
    await pass(5);
    server.put(CLAIMS_SANDBOX, { ...aClaimsSandbox() });
    putClaim({ status: { sandbox: { name: "s" } } });
    await pass(5);
    server.remove(POOL);
    await pass(5);
    expect(asked()).toEqual([]);
  });

  test("applied before its pool and its template costs none either", async () => {
    await keep(1);
    putClaim();
    await pass(1);
    putPool();
    await pass(1);
    putTemplate();
    await pass(5);
    server.put(CLAIMS_SANDBOX, { ...aClaimsSandbox() });
    putClaim({ status: { sandbox: { name: "s" } } });
    await pass(60);
    expect(asked()).toEqual([]);
  });
});

describe("a claim that nobody serves", () => {
  test("is told so after ten seconds, once, and told otherwise when it is served", async () => {
    putTemplate();
    putPool();
    await keep(0);
    putClaim();
    await pass(9.9);
    expect(asked()).toEqual([]);
    await pass(0.2);
    expect(word()).toMatchObject({ generation: 1, reason: "SandboxMissing" });
    const told = asked();
    await pass(600);
    expect(asked()).toEqual(told);
    putClaim({
      metadata: { annotations: server.get(CLAIM)?.metadata.annotations },
      status: { sandbox: { name: "s" } },
    });
    await pass(0.1);
    expect(word()).toBeUndefined();
  });

  test("is told the truth where its pool has gone, though the watch has not said so", async () => {
    putTemplate();
    putPool();
    putClaim();
    await keep(9);
    server.intercept = ({ method, path }) => method === "GET" && path === POOL ? refusal(404, "gone") : undefined;
    await pass(5);
    expect(word(), "not that the binder is down").toBeUndefined();
  });
});

describe("a claim without a pool", () => {
  test("is told so after a while and one more look, and told otherwise at once", async () => {
    putClaim();
    await keep(1.4);
    expect(asked()).toEqual([]);
    await pass(0.2);
    const looks = ["GET sandboxwarmpools/pool", "GET team-a/sandboxes", "GET namespaces/team-a"];
    expect(asked()).toEqual([...looks, "PATCH sandboxclaims/job"]);
    expect(word()).toEqual(WORD);
    await pass(600);
    expect(asked()).toHaveLength(4);
    putTemplate();
    putPool();
    await pass(0.1);
    expect(word()).toBeUndefined();
    expect(asked().slice(4)).toEqual(["PATCH sandboxclaims/job"]);
    expect(keeper.actions).toEqual(["annotated", "annotation removed"]);
  });

  test("is told anew after a change of its spec, and never what no longer holds", async () => {
    putClaim();
    await keep(2);
    putClaim({ metadata: { generation: 2, annotations: server.get(CLAIM)?.metadata.annotations } });
    await pass(0.1);
    expect(word()).toBeUndefined();
    await pass(2);
    expect(word()).toEqual({ ...WORD, generation: 2 });
  });

  test("that was bound all the same is told nothing any more", async () => {
    putClaim();
    await keep(2);
    const { annotations } = server.get(CLAIM)?.metadata ?? {};
    putClaim({ metadata: { annotations }, status: { sandbox: { name: "s" } } });
    await pass(0.1);
    expect(word()).toBeUndefined();
  });

  test("that exists by now, though the watch has not said so, is told nothing", async () => {
    putClaim();
    await keep(1);
    server.intercept = ({ method, path }) =>
      method === "GET" && path === POOL ? { status: 200, body: aPool() } : undefined;
    putTemplate();
    await pass(60);
    expect(word()).toBeUndefined();
    expect(asked().filter((line) => line.startsWith("PATCH"))).toEqual([]);
    expect(asked().length, "looks again, less and less often").toBeLessThan(20);
  });

  test("that has been given a Sandbox, though its status does not show it yet, is told nothing", async () => {
    const labels = { "agents.x-k8s.io/claim-uid": aClaim().metadata.uid };
    server.put(SANDBOX, { ...aSandbox({ metadata: { name: "job", namespace: "team-a", labels } }) });
    putClaim();
    await keep(60);
    expect(word()).toBeUndefined();
  });

  test("in a namespace that is about to go is told nothing", async () => {
    const metadata = { name: "team-a", deletionTimestamp: "2026-11-21T12:00:00Z" };
    server.put(NAMESPACE, { metadata, apiVersion: "v1", kind: "Namespace" });
    putClaim();
    await keep(60);
    expect(word()).toBeUndefined();
  });

  test("is told again where the claim has changed meanwhile", async () => {
    putClaim();
    await keep(1);
    let isFirst = true;
    server.intercept = ({ method }) => {
      if (method === "PATCH" && isFirst) {
        server.put(CLAIM, { ...aClaim({ metadata: { ...CREATED, labels: { a: "b" } } }) });
      }
      if (method === "PATCH") isFirst = false;
      return undefined;
    };
    await pass(5);
    expect(word()).toEqual(WORD);
    expect(server.get(CLAIM)?.metadata.labels).toEqual({ a: "b" });
  });
});

describe("a claim without a template", () => {
  test("is told so, and told otherwise when it appears", async () => {
    putPool();
    putClaim();
    await keep(2);
    expect(word()).toEqual({
      generation: 1,
      reason: "TemplateNotFound",
      message: 'SandboxTemplate "python" not found',
    });
    putTemplate();
    await pass(0.1);
    expect(word()).toBeUndefined();
  });

  test("is told otherwise when its pool turns to another template", async () => {
    putTemplate();
    putPool({ spec: { sandboxTemplateRef: { name: "none" } } });
    putClaim();
    await keep(2);
    expect(word()).toMatchObject({ message: 'SandboxTemplate "none" not found' });
    putPool({ metadata: { generation: 2 } });
    await pass(0.1);
    expect(word()).toBeUndefined();
  });

  test("is told so when the template goes", async () => {
    putTemplate();
    putPool();
    putClaim();
    await keep(5);
    server.remove(TEMPLATE);
    await pass(2);
    expect(word()).toMatchObject({ reason: "TemplateNotFound" });
  });
});

test("a claim that asks for what its template forbids is told so until the template changes", async () => {
  putTemplate();
  putPool();
  putClaim({ spec: { warmPoolRef: { name: "pool" }, env: [{ name: "A", value: "1" }] } });
  await keep(2);
  expect(word()).toMatchObject({ reason: "EnvVarsInjectionRejected" });
  putTemplate({ spec: { envVarsInjectionPolicy: "Allowed" }, metadata: { generation: 2 } });
  await pass(0.1);
  expect(word()).toBeUndefined();
});

test("nothing is told on lists that are not complete", async () => {
  putClaim();
  server.intercept = ({ path }) => path.endsWith("v1beta1/sandboxtemplates") ? refusal(500, "not now") : undefined;
  await keep(60);
  expect(word()).toBeUndefined();
  expect(asked()).toEqual([]);
});

test("a new keeper tells what the old one did not, and takes back what no longer holds", async () => {
  putClaim();
  await keep(2);
  keeper.kill();
  putPool();
  putTemplate();
  await keep(0.1);
  expect(word()).toBeUndefined();
});
