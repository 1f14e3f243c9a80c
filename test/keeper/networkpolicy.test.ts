import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aChild } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";
import { asked, begin, end, keep, keeper, pass, server } from "./stage.ts";
import { TEMPLATE } from "./extensions.ts";
import { refusal } from "../kube/fakeapi.ts";

const POLICY = "/apis/networking.k8s.io/v1/namespaces/team-a/networkpolicies/python-network-policy";
const LOOK = "GET networkpolicies/python-network-policy";
const OURS = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxTemplate",
  name: "python",
  controller: true,
};
const put = (over: { spec?: object; metadata?: object } = {}) => server.put(TEMPLATE, { ...aTemplate(over) });
const SEEN = { "metacontroller.k8s.io/decorator-controller": "sandboxtemplate" };
const putPolicy = (uid?: string, annotations = SEEN) => {
  const name = "python-network-policy";
  const metadata = { name, ...(uid ? { ownerReferences: [{ ...OURS, uid }], annotations } : {}) };
  return server.put(POLICY, { ...aChild("NetworkPolicy", { metadata }) });
};
const annotations = () => server.get(TEMPLATE)?.metadata.annotations ?? {};
const word = () => {
  const text = annotations()["agents.x-k8s.io/unresolved"];
  return text === undefined ? undefined : JSON.parse(text);
};
const WORD = {
  generation: 1,
  problems: [{
    kind: "NetworkPolicy",
    name: "python-network-policy",
    state: "taken",
    message: 'refusing to update NetworkPolicy "python-network-policy" as it is not controlled by ' +
      'SandboxTemplate "python"',
  }],
};

beforeEach(begin);
afterEach(end);

describe("the NetworkPolicy of a template", () => {
  test("that is its own is looked at once, and again after five minutes or a change", async () => {
    put();
    putPolicy("uid-python");
    await keep(300);
    expect(asked()).toEqual([LOOK]);
    put({ metadata: { generation: 2 } });
    await pass(2);
    expect(asked()).toEqual([LOOK, LOOK]);
    put({ metadata: { generation: 2, labels: { a: "b" } } });
    await pass(200);
    expect(asked()).toHaveLength(2);
    expect(annotations()).toEqual({});
    await pass(200);
    expect(asked()).toHaveLength(3);
  });

  test.for([
    ["nobody's", undefined],
    ["another template's", "uid-another"],
  ])("that is %s is left alone and named, until it goes", async ([, uid]) => {
    put();
    const before = putPolicy(uid);
    await keep(2);
    expect(word()).toEqual(WORD);
    expect(server.get(POLICY)).toEqual(before);
    expect(keeper.actions).toEqual(["annotated"]);
    await pass(120);
    server.remove(POLICY);
    await pass(31);
    expect(word()).toBeUndefined();
    expect(keeper.actions).toEqual(["annotated", "annotation removed"]);
  });

  test("that another controller has made for the template becomes Metacontroller's to see, once", async () => {
    put();
    putPolicy("uid-python", {} as typeof SEEN);
    await keep(600);
    expect(server.get(POLICY)?.metadata.annotations).toEqual(SEEN);
    expect(asked().filter((request) => request.startsWith("PATCH"))).toEqual([
      "PATCH networkpolicies/python-network-policy",
    ]);
    expect([keeper.actions, annotations()]).toEqual([["adopted"], {}]);
  });

  test("that is not there yet costs nothing but a look now and then", async () => {
    put();
    await keep(1000);
    expect(new Set(asked())).toEqual(new Set([LOOK]));
    expect(asked().length).toBeLessThan(12);
  });

  test("is nobody's concern once the template leaves it to others", async () => {
    put();
    putPolicy();
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
    putPolicy();
    server.intercept = ({ path }) => path === POLICY ? refusal(500, "not now") : undefined;
    await keep(3);
    expect(word()).toBeUndefined();
    server.intercept = () => undefined;
    await pass(10);
    expect(word()).toEqual(WORD);
  });
});
