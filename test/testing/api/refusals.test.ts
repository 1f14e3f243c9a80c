/** What the API in memory refuses, and in which words: those of an API server. @module */
import { expect, test } from "vitest";
import type { ApiRequest } from "../../../packages/kube/api.ts";
import { aSandbox, bodyOf, create, sandboxes, serve } from "./requests.ts";

type Refused = [name: string, request: ApiRequest, code: number, reason: string, message: RegExp];

const post = (body: object, path = sandboxes()): ApiRequest => ({ method: "POST", path, body });
const patch = (body: object, name = "box"): ApiRequest => ({ method: "PATCH", path: sandboxes(name), body });
const remove = (preconditions: object): ApiRequest => ({
  method: "DELETE",
  path: sandboxes("box"),
  body: { preconditions },
});
const get = (path: string, query = {}): ApiRequest => ({ method: "GET", path, query });
const volumes = { spec: { volumeClaimTemplates: [{ metadata: { name: "v" }, spec: {} }] } };
const elsewhere = sandboxes().replace("/ns/", "/other/");

// deno-fmt-ignore -- a table
const INVALID: Refused[] = [
  ["a name that is none", post(aSandbox("Box_1")), 422, "Invalid",
    /^Sandbox.agents.x-k8s.io "Box_1" is invalid: metadata.name: Invalid value: "Box_1"/],
  ["no name", post(aSandbox("")), 422, "Invalid", /name or generateName is required/],
  ["a missing field", post({ metadata: { name: "b" }, spec: {} }), 422, "Invalid",
    /^Sandbox.agents.x-k8s.io "b" is invalid: spec.podTemplate: Required value$/],
  ["a value that is not one of a few", patch({ spec: { operatingMode: "Off" } }), 422, "Invalid",
    /spec.operatingMode: Unsupported value: "Off": supported values: "Running", "Suspended"/],
  ["volumes that change", patch(volumes), 422, "Invalid", /volumeClaimTemplates is immutable/],
  ["another namespace than the path's", post(aSandbox("b", { namespace: "other" })), 400, "BadRequest",
    /does not match the namespace sent on the request/],
  ["another kind", post({ ...aSandbox("b"), kind: "Pod" }), 400, "BadRequest", /expected kind "Sandbox"/],
  ["another name in a patch", patch({ metadata: { name: "b" } }), 400, "BadRequest", /the name on the URL/],
  ["a field that nobody selects by", get(sandboxes(), { fieldSelector: "spec.x=1" }), 400, "BadRequest",
    /^field label not supported: spec.x$/],
];
// deno-fmt-ignore -- a table
const MISSING: Refused[] = [
  ["an object that is not there", get(sandboxes("none")), 404, "NotFound",
    /^sandboxes.agents.x-k8s.io "none" not found$/],
  ["a patch of what is not there", patch({}, "none"), 404, "NotFound", /not found/],
  ["a namespace that is not there", post(aSandbox("box"), elsewhere), 404, "NotFound",
    /^namespaces "other" not found$/],
];
// deno-fmt-ignore -- a table
const CONFLICTS: Refused[] = [
  ["a name that is taken", post(aSandbox("box")), 409, "AlreadyExists",
    /^sandboxes.agents.x-k8s.io "box" already exists$/],
  ["another version than the patch is for", patch({ metadata: { resourceVersion: "1" } }), 409, "Conflict",
    /the object has been modified; please apply your changes to the latest version/],
  ["another uid than the patch is for", patch({ metadata: { uid: "other" } }), 409, "Conflict",
    /UID in precondition: other/],
  ["another uid than the deletion is for", remove({ uid: "other" }), 409, "Conflict", /UID in precondition: other/],
  ["another version than the deletion is for", remove({ resourceVersion: "1" }), 409, "Conflict",
    /ResourceVersion in precondition: 1/],
];

test.for([...INVALID, ...MISSING, ...CONFLICTS])("%s is refused", async ([_, request, code, reason, message]) => {
  const { api, server } = await serve();
  await create(api, "box");
  const before = server.store.version();
  const answer = await api.send(request);
  expect(answer).toMatchObject({ status: code, body: { kind: "Status", status: "Failure", code, reason } });
  expect(bodyOf(answer).message).toMatch(message);
  expect(bodyOf(answer).details).toMatchObject({ kind: "sandboxes", group: "agents.x-k8s.io" });
  const { items } = bodyOf(await api.send(get(sandboxes())));
  expect(items, "nothing has changed").toHaveLength(1);
  expect(items[0].metadata.resourceVersion).toBe(before);
});

test("a refusal names the fields that are wrong", async () => {
  const { api } = await serve();
  const answer = await api.send(post({ metadata: { name: "b" }, spec: { operatingMode: "Off" } }));
  expect(bodyOf(answer).details.causes).toEqual([
    { reason: "FieldValueRequired", field: "spec.podTemplate", message: "Required value" },
    { reason: "FieldValueNotSupported", field: "spec.operatingMode", message: expect.stringContaining('"Off"') },
  ]);
});
