/** What API servers ask for, and the answers: all objects of a review, or why none. */
import { expect, test } from "vitest";
import { createConversionApp } from "../../../hooks/conversion/app.ts";
import { answerReview, reviewSchema } from "../../../hooks/conversion/review.ts";

const REVIEW = { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview" };
const POD = { spec: { containers: [{ name: "main", image: "busybox" }] } };
const sandbox = (name: string, over: object = {}) => ({
  apiVersion: "agents.x-k8s.io/v1alpha1",
  kind: "Sandbox",
  metadata: { name, namespace: "team-a", uid: `uid-${name}`, resourceVersion: "7" },
  spec: { podTemplate: POD, replicas: 0, service: false },
  ...over,
});
const review = (desiredAPIVersion: string, ...objects: object[]) => ({
  ...REVIEW,
  request: { uid: "ask-1", desiredAPIVersion, objects },
});
const answer = (desired: string, ...objects: object[]) =>
  answerReview(reviewSchema.parse(review(desired, ...objects))).response;

test("all objects come back in their order, under the request's uid", () => {
  const { uid, result, convertedObjects } = answer("agents.x-k8s.io/v1beta1", sandbox("a"), sandbox("b"));
  expect([uid, result]).toEqual(["ask-1", { status: "Success" }]);
  expect(convertedObjects.map(({ apiVersion, metadata, spec }) => [apiVersion, metadata, spec])).toEqual(
    ["a", "b"].map((name) => [
      "agents.x-k8s.io/v1beta1",
      { name, namespace: "team-a", uid: `uid-${name}`, resourceVersion: "7" },
      { podTemplate: POD, service: false, operatingMode: "Suspended" },
    ]),
  );
});

test("no object of a tenant keeps those of all others from being converted", () => {
  const beta = answer("agents.x-k8s.io/v1beta1", sandbox("a"), sandbox("b")).convertedObjects;
  const annotations = { "api.agents.x-k8s.io/v1alpha1-sandbox-state": "no" };
  const evil = { ...beta[1], metadata: { name: "b", namespace: "evil", annotations } };
  const { result, convertedObjects } = answer("agents.x-k8s.io/v1alpha1", ...beta.slice(0, 1), evil);
  expect([result, convertedObjects[0]]).toEqual([{ status: "Success" }, sandbox("a")]);
});

test("the way back is the same", () => {
  const beta = answer("agents.x-k8s.io/v1beta1", sandbox("a")).convertedObjects;
  expect(answer("agents.x-k8s.io/v1alpha1", ...beta).convertedObjects).toEqual([sandbox("a")]);
});

test.for([
  {
    name: "a kind that is not ours",
    object: sandbox("b", { kind: "Pod" }),
    message: "Cannot convert Pod of agents.x-k8s.io/v1alpha1 to v1beta1: it is not known",
  },
  {
    name: "another group",
    object: sandbox("b", { apiVersion: "evil.example/v1alpha1" }),
    message: "Cannot convert Sandbox of evil.example/v1alpha1 to agents.x-k8s.io/v1beta1: the groups differ",
  },
  {
    name: "a version that is not known",
    object: sandbox("b", { apiVersion: "agents.x-k8s.io/v2" }),
    message: "Cannot convert Sandbox of agents.x-k8s.io/v2 to v1beta1: it is not known",
  },
])("one that cannot be converted fails all, and says why: $name", ({ object, message }) => {
  const { result, convertedObjects } = answer("agents.x-k8s.io/v1beta1", sandbox("a"), object);
  expect(result).toEqual({ status: "Failure", message });
  expect(convertedObjects).toEqual([]);
});

const app = createConversionApp({ log: () => {}, ready: () => true });
const ask = (method: string, body?: string) =>
  app.request("/convert", { method, ...(body === undefined ? {} : { body }) });

test("a review is answered with 200, whatever becomes of it", async () => {
  for (const kind of ["Sandbox", "Pod"]) {
    const answered = await ask("POST", JSON.stringify(review("agents.x-k8s.io/v1beta1", sandbox("a", { kind }))));
    expect(answered.status).toBe(200);
    expect(await answered.json()).toMatchObject({ ...REVIEW, response: { uid: "ask-1" } });
  }
});

test.for([
  { name: "no JSON", method: "POST", body: "secret", status: 400 },
  { name: "no review", method: "POST", body: JSON.stringify({ ...REVIEW, request: "secret" }), status: 400 },
  {
    name: "an object without metadata",
    method: "POST",
    body: JSON.stringify(review("a/v1", { secret: "secret" })),
    status: 400,
  },
  { name: "another method", method: "GET", body: undefined, status: 405 },
])("what is no review is refused without its values: $name", async ({ method, body, status }) => {
  const answered = await ask(method, body);
  expect(answered.status).toBe(status);
  expect(await answered.text()).not.toContain("secret");
});

test("a short review with too much in it is refused before it is parsed", async () => {
  const tolerations = Array(700_000).fill({});
  const evil = sandbox("a", { spec: { podTemplate: { spec: { containers: [], tolerations } } } });
  const answered = await ask("POST", JSON.stringify(review("agents.x-k8s.io/v1beta1", evil)));
  expect([answered.status, await answered.json()]).toEqual([
    413,
    { error: expect.stringMatching(/^body is too large: \d+ bytes with \d+ items of JSON$/) },
  ]);
});
