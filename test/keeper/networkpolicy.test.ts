import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aPolicy, aTemplate } from "../templates.ts";
import { asked, begin, end, keep, keeper, pass, requests, server } from "./stage.ts";
import { TEMPLATE } from "./extensions.ts";
import { refusal } from "../kube/fakeapi.ts";

const POLICY = "/apis/networking.k8s.io/v1/namespaces/team-a/networkpolicies/python-network-policy";
const NAMESPACE = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a", uid: "uid-team-a" } };
const LONG_AGO = "2026-11-20T12:00:00Z";
const put = ({ metadata, ...over }: { spec?: object; metadata?: object } = {}) =>
  server.put(TEMPLATE, { ...aTemplate({ metadata: { creationTimestamp: LONG_AGO, ...metadata }, ...over }) });
const putPolicy = (over: Parameters<typeof aPolicy>[0] = {}) => server.put(POLICY, { ...aPolicy(over) });
const owner = (over: object) => {
  const template = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxTemplate", name: "python" };
  return { ...template, uid: "uid-python", controller: true, ...over };
};
const annotations = () => server.get(TEMPLATE)?.metadata.annotations ?? {};
const problem = () => {
  const text = annotations()["agents.x-k8s.io/unresolved"];
  return text === undefined ? undefined : JSON.parse(text).problems[0];
};
const policyOwners = () => server.get(POLICY)?.metadata.ownerReferences?.map(({ kind, uid }) => `${kind} ${uid}`);
const OWNERS = ["SandboxTemplate uid-python", "Namespace uid-team-a"];
const TAKEN = {
  kind: "NetworkPolicy",
  name: "python-network-policy",
  state: "taken",
  message: 'refusing to update NetworkPolicy "python-network-policy" as it is not controlled by ' +
    'SandboxTemplate "python"',
};

beforeEach(() => {
  begin();
  server.put("/api/v1/namespaces/team-a", NAMESPACE);
});
afterEach(end);

describe("the NetworkPolicy of a template", () => {
  test("that is in force costs no request, whatever changes", async () => {
    put();
    putPolicy();
    await keep(300);
    put({ metadata: { labels: { a: "b" } } });
    await pass(300);
    expect([asked(), annotations()]).toEqual([[], {}]);
  });

  test.for([
    ["nobody's", { ownerReferences: [], annotations: {} }],
    ["another template's", { ownerReferences: [owner({ name: "another", uid: "uid-another" })] }],
  ])("that is %s is left alone and named, until it goes", async ([, metadata]) => {
    put();
    const before = putPolicy({ metadata: metadata as object });
    await keep(2);
    expect(problem()).toEqual(TAKEN);
    expect(server.get(POLICY)).toEqual(before);
    server.remove(POLICY);
    putPolicy({ metadata: { uid: "uid-new" } });
    await pass(2);
    expect(problem()).toBeUndefined();
    expect(keeper.actions).toEqual(["annotated", "annotation removed"]);
  });

  test.for<[string, object, string[]]>([
    ["another controller has made for the template", { ownerReferences: [owner({})], annotations: {} }, OWNERS],
    ["would go with its template", { ownerReferences: [owner({})] }, OWNERS],
    ["an earlier template of the name has left", { ownerReferences: [owner({ uid: "uid-before" })] }, OWNERS],
    [
      "is the namespace's alone",
      { ownerReferences: [{ apiVersion: "v1", kind: "Namespace", name: "team-a", uid: "uid-team-a" }] },
      OWNERS,
    ],
  ])("that %s becomes the template's, and Metacontroller's to see, once", async ([, metadata, owners]) => {
    put();
    putPolicy({ metadata });
    await keep(600);
    expect(policyOwners()).toEqual(owners);
    expect(server.get(POLICY)?.metadata.annotations).toMatchObject({
      "metacontroller.k8s.io/decorator-controller": "sandboxtemplate",
    });
    expect(asked().filter((request) => request.startsWith("PATCH networkpolicies"))).toHaveLength(1);
    expect([keeper.actions, annotations()]).toEqual([["adopted"], {}]);
  });

  test("that is not there yet is not missed while its template is young", async () => {
    put({ metadata: { creationTimestamp: "2026-11-21T12:00:00Z" } });
    await keep(5);
    expect([problem(), asked()[1]]).toEqual([undefined, "POST team-a/networkpolicies dry"]);
    putPolicy();
    await pass(60);
    expect(problem()).toBeUndefined();
  });

  test("that nobody makes is missed, and its template changes, so that its hook is asked again", async () => {
    put();
    await keep(2);
    expect(problem()).toMatchObject({ state: "missing", message: expect.stringContaining("would accept it") });
  });

  test.for<[string, number, string, string]>([
    ["a quota", 403, 'networkpolicies "p" is forbidden: exceeded quota: q', "refused"],
    ["admission", 422, "denied by policy: no fences here", "invalid"],
  ])("that %s refuses is named with the API server's words, until it is taken", async ([, status, words, state]) => {
    put();
    server.onDryRun = () => refusal(status, words);
    await keep(2);
    const message = `NetworkPolicy "python-network-policy" does not exist: ${words}`;
    expect(problem()).toEqual({ kind: "NetworkPolicy", name: "python-network-policy", state, message });
    putPolicy();
    await pass(2);
    expect(problem()).toBeUndefined();
  });

  test("whose new rules are refused is named: the old ones are not the template's", async () => {
    put({ metadata: { generation: 2 } });
    putPolicy();
    server.onDryRun = ({ method }) => refusal(422, `${method} denied`);
    await keep(2);
    expect(problem()?.message).toBe(
      'NetworkPolicy "python-network-policy" does not have the template\'s rules of generation 2: PUT denied',
    );
  });

  test("whose rules Metacontroller cannot keep is named for that, and nobody is asked", async () => {
    const except = Array.from({ length: 16_000 }, (_, i) => `11.${i >> 8}.${i & 255}.0/24`);
    put({ spec: { networkPolicy: { egress: [{ to: [{ ipBlock: { cidr: "0.0.0.0/0", except } }] }] } } });
    await keep(2);
    expect(problem()).toMatchObject({ state: "invalid", message: expect.stringContaining("its rules are too large") });
    expect(asked().some((request) => request.endsWith("dry"))).toBe(false);
  });

  test("concerns no process of ours once the template leaves it to others", async () => {
    put();
    await keep(2);
    const metadata = { generation: 2, annotations: annotations() };
    put({ spec: { networkPolicyManagement: "Unmanaged" }, metadata });
    await pass(1);
    expect(annotations()).toEqual({});
    const count = asked().length;
    await pass(600);
    expect(asked()).toHaveLength(count);
  });

  test("is not asked for once the template is being deleted", async () => {
    put({ metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } });
    await keep(60);
    expect(asked()).toEqual([]);
  });

  test("is looked at again where the API server gave no answer", async () => {
    put();
    putPolicy({ metadata: { ownerReferences: [], annotations: {} } });
    server.intercept = ({ path, query }) => path === POLICY && !query?.["limit"] ? refusal(500, "not now") : undefined;
    await keep(3);
    expect(problem()).toBeUndefined();
    server.intercept = () => undefined;
    await pass(10);
    expect(problem()).toEqual(TAKEN);
  });
});

describe("the NetworkPolicy of a template that is gone", () => {
  const HASH = { "agents.x-k8s.io/sandbox-template-ref-hash": "0fceff97" };
  const POD = "/api/v1/namespaces/team-a/pods/box";
  const BOX = "/apis/agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxes/box";
  const left = { ownerReferences: [{ apiVersion: "v1", kind: "Namespace", name: "team-a", uid: "uid-team-a" }] };

  test("stays while a Pod or a Sandbox has its hash, and goes then", async () => {
    putPolicy({ metadata: left });
    server.put(POD, { apiVersion: "v1", kind: "Pod", metadata: { name: "box", namespace: "team-a", labels: HASH } });
    // A suspended one: its Pod comes back.
    server.put(BOX, { kind: "Sandbox", metadata: { name: "box", namespace: "team-a", labels: HASH }, spec: {} });
    await keep(900);
    expect(server.get(POLICY)).toBeDefined();
    server.remove(POD);
    await pass(600);
    expect(server.get(POLICY)).toBeDefined();
    server.remove(BOX);
    await pass(600);
    expect([server.get(POLICY), keeper.actions]).toEqual([undefined, ["deleted"]]);
    const [deletion] = requests().filter(({ method }) => method === "DELETE");
    expect(deletion?.body).toMatchObject({ preconditions: { resourceVersion: expect.any(String) } });
  });

  test("stays while its template exists, and while that is being deleted", async () => {
    put({ metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } });
    putPolicy();
    await keep(900);
    expect([server.get(POLICY)?.metadata.name, asked()]).toEqual(["python-network-policy", []]);
    server.remove(TEMPLATE);
    await pass(15);
    expect(server.get(POLICY)).toBeUndefined();
  });

  test.for<[string, object, object]>([
    ["was made by somebody else", { annotations: {} }, {}],
    ["selects other Pods", {}, { podSelector: {} }],
  ])("stays if it %s", async ([, metadata, spec]) => {
    putPolicy({ metadata: { ...left, ...metadata }, spec });
    await keep(900);
    expect(server.get(POLICY)).toBeDefined();
  });

  test("stays where it is unknown whether it is needed", async () => {
    putPolicy({ metadata: left });
    server.intercept = ({ path, query }) =>
      path.endsWith("/pods") && query?.["labelSelector"] ? refusal(403, "no") : undefined;
    await keep(900);
    expect(server.get(POLICY)).toBeDefined();
  });
});
