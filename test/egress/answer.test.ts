/** Answers to the proxy's questions: addresses, headers with secrets, and every failure. @module */
import { expect, test } from "vitest";
import { answer, type Question, type RefusalCause, type World } from "../../packages/egress/answer.ts";
import { policyFrom } from "../../packages/api/egress/policy.ts";
import { authorChecker, secretReader } from "../../packages/egress/run.ts";
import { createFakeApi } from "../kube/fakeapi.ts";
import { putSecret, SECRETS } from "./stage.ts";

const ID = { name: "box", uid: "sandbox-1" };
const PUBLIC = "93.184.216.34";

function aWorld(change: Partial<World> = {}, headers = "api.example Authorization=Bearer example/key"): World {
  const policy = policyFrom({ owner: "T", allow: "pypi.org, *.internal, 10.1.0.0/16, db.example:5432", headers });
  return {
    sandboxes: { at: () => Promise.resolve(ID), policyOf: () => Promise.resolve(policy) },
    problem: () => undefined,
    resolve: () => Promise.resolve([PUBLIC]),
    secret: () => Promise.resolve("s3cr3t\n"),
    requireAuthor: () => Promise.reject(new Error("nobody has checked the author")),
    ...change,
  };
}

const ask = (host: string, more: Partial<Question> = {}, world = aWorld()) =>
  answer(world, { client: "10.0.0.7", host, port: 443, encrypted: false, ...more });
const refusal = (status: number, cause: RefusalCause, reason: string | RegExp) => ({
  ...{ allowed: false, status, cause },
  reason: expect.stringMatching(reason),
});
/** Of a sandbox that was found. */
const itsRefusal = (...refused: Parameters<typeof refusal>) => ({ ...refusal(...refused), sandbox: ID });

test("an allowed host is passed on unread, at the address that was checked", async () => {
  expect(await ask("PyPI.org")).toEqual({
    allowed: true,
    sandbox: ID,
    host: "pypi.org",
    address: PUBLIC,
    port: 443,
    inspect: false,
    raw: false,
    headers: [],
  });
  expect(await ask("db.example", { port: 5432 })).toMatchObject({ raw: true });
});

test("a secret is given only to a request that came over TLS", async () => {
  expect(await ask("api.example")).toMatchObject({ inspect: true, headers: [] });
  expect(await ask("api.example", { encrypted: true })).toMatchObject({
    headers: [["Authorization", "Bearer s3cr3t"]],
  });
  const both = policyFrom({ owner: "T", allow: "api.example", headers: "api.example x-key=example/key" });
  const world = aWorld({ sandboxes: { at: () => Promise.resolve(ID), policyOf: () => Promise.resolve(both) } });
  expect(await ask("api.example", { port: 80 }, world)).toEqual(
    itsRefusal(403, "not_allowed", "only reached over HTTPS"),
  );
  expect(await ask("api.example", { encrypted: true }, world)).toMatchObject({ headers: [["x-key", "s3cr3t"]] });
});

test("a host that is not allowed is not resolved, so its name reaches no DNS server", async () => {
  const asked: string[] = [];
  const resolve = (host: string) => {
    asked.push(host);
    return Promise.resolve([PUBLIC]);
  };
  expect(await ask("secret-data.evil.example", {}, aWorld({ resolve }))).toEqual(
    itsRefusal(403, "not_allowed", "not allowed"),
  );
  expect(asked).toEqual([]);
});

test("a name that resolves to private addresses is refused, unless the list has their network", async () => {
  const at = (...addresses: string[]) => aWorld({ resolve: () => Promise.resolve(addresses) });
  expect(await ask("pypi.org", {}, at("169.254.169.254"))).toEqual(
    itsRefusal(403, "private_address", "169.254.169.254 is not a public address"),
  );
  expect(await ask("pypi.org", {}, at("127.0.0.1", PUBLIC))).toMatchObject({ address: PUBLIC });
  expect(await ask("a.internal", {}, at("10.1.0.9"))).toMatchObject({ address: "10.1.0.9" });
  expect(await ask("a.internal", {}, at("10.2.0.9"))).toEqual(
    itsRefusal(403, "private_address", "10.2.0.9 is not a public address"),
  );
  expect(await ask("pypi.org", {}, at())).toEqual(itsRefusal(502, "dns", "pypi.org has no address"));
});

test("what an earlier answer has given is not asked for again", async () => {
  const at = () => Promise.reject(new Error("asked"));
  const { policyOf } = aWorld().sandboxes;
  expect(await ask("pypi.org", { sandbox: ID }, aWorld({ sandboxes: { at, policyOf } }))).toMatchObject({
    allowed: true,
  });
});

test.each<[string, Partial<World>, ReturnType<typeof refusal>]>([
  [
    "no sandbox",
    { sandboxes: { ...aWorld().sandboxes, at: () => Promise.resolve("nobody") } },
    refusal(403, "no_sandbox", "^nobody$"),
  ],
  [
    "no policy",
    { sandboxes: { ...aWorld().sandboxes, policyOf: () => Promise.resolve("none") } },
    itsRefusal(403, "no_rules", "^none$"),
  ],
  [
    "no API server",
    { sandboxes: { ...aWorld().sandboxes, at: () => Promise.reject(new Error("gone")) } },
    refusal(503, "api_server", "gone"),
  ],
  ["no enforcement", { problem: () => "open to all" }, refusal(503, "not_enforced", "^open to all$")],
  [
    "no API server for a sandbox that is known",
    { sandboxes: { ...aWorld().sandboxes, policyOf: () => Promise.reject(new Error("gone")) } },
    itsRefusal(503, "api_server", "gone"),
  ],
  ["no DNS", { resolve: () => Promise.reject(new Error("no DNS")) }, itsRefusal(503, "dns", "no DNS")],
  ["no Secret", { secret: () => Promise.reject(new Error("no Secret")) }, itsRefusal(503, "secret", "no Secret")],
  [
    "a secret with a line break",
    { secret: () => Promise.resolve("a\r\nx: b") },
    itsRefusal(503, "secret", "printable ASCII"),
  ],
  ["an empty secret", { secret: () => Promise.resolve("") }, itsRefusal(503, "secret", "printable ASCII")],
])("%s is no permission", async (_, change, expected) => {
  const given = await ask("api.example", { encrypted: true }, aWorld(change));
  expect(given).toEqual(expected);
  expect(JSON.stringify(given)).not.toMatch("s3cr3t");
});

const template = { owner: "T", allow: "api.example, other.example", headers: "other.example x-key=example/key" };
const ofClaim = (claimHeaders: string | undefined, headers: string) =>
  policyFrom({ ...template, claimHeaders }, { owner: "C", allow: undefined, headers });

test("a claim's header is given if its author was checked; other hosts do not need the check", async () => {
  const asked: (string | undefined)[] = [];
  const policyOf = () => {
    const policy = ofClaim("Allowed", "api.example Authorization=Bearer mine/key, other.example x-key=mine/key");
    return Promise.resolve(typeof policy === "string" ? policy : { ...policy, claimCreated: "2026-11-01T00:00:00Z" });
  };
  const sandboxes = { at: () => Promise.resolve(ID), policyOf };
  const requireAuthor = (created: string | undefined) => Promise.resolve(void asked.push(created));
  const checked = aWorld({ sandboxes, requireAuthor });
  expect(await ask("api.example", { encrypted: true }, checked)).toMatchObject({
    headers: [["Authorization", "Bearer s3cr3t"]],
  });
  expect(asked).toEqual(["2026-11-01T00:00:00Z"]);
  const unchecked = aWorld({ sandboxes });
  for (const encrypted of [false, true]) {
    expect(await ask("api.example", { encrypted }, unchecked)).toEqual(
      itsRefusal(503, "secret", "nobody has checked the author"),
    );
  }
  // The template's header wins, so nothing of the claim is used.
  expect(await ask("other.example", { encrypted: true }, unchecked)).toMatchObject({ headers: [["x-key", "s3cr3t"]] });
});

test("the check is that the admission policy and its binding are older than the claim", async () => {
  const api = createFakeApi();
  let now = 0;
  const requireAuthor = authorChecker(api, () => now);
  const objects = new Map<string, object>();
  const put = (plural: string, creationTimestamp: string, spec: object = {}) =>
    objects.set(`/apis/admissionregistration.k8s.io/v1/validatingadmission${plural}/hookbox-claim-headers`, {
      ...{ metadata: { creationTimestamp }, spec },
    });
  api.intercept = ({ path }) => {
    const body = objects.get(path);
    return body ? { status: 200, body } : { status: 404, body: {} };
  };
  const later = "2026-11-01T01:00:00Z";
  await expect(requireAuthor(later)).rejects.toThrow("hookbox-claim-headers is missing");
  put("policies", "2026-11-01T00:00:00Z");
  await expect(requireAuthor(later)).rejects.toThrow("hookbox-claim-headers is missing");
  put("policybindings", "2026-11-01T00:00:30Z", { validationActions: ["Audit"] });
  await expect(requireAuthor(later)).rejects.toThrow("lacks Deny");
  put("policybindings", "2026-11-01T00:00:30Z", { validationActions: ["Deny"] });
  await requireAuthor(later);
  for (const created of ["2026-11-01T00:00:20Z", "2026-11-01T00:00:40Z", undefined]) {
    await expect(requireAuthor(created)).rejects.toThrow("the claim is older than");
  }
  api.intercept = () => ({ status: 403, body: { message: "not yours" } });
  await requireAuthor(later);
  now += 5000;
  await expect(requireAuthor(later)).rejects.toThrow("not yours");
});

test("a Secret is read again after a while, and at once after a failure", async () => {
  const api = createFakeApi();
  let now = 0;
  const secret = secretReader(api, "team-a", () => now);
  await expect(secret("example", "key")).rejects.toThrow("Secret example does not exist");
  putSecret(api, "example", "key", "one");
  api.intercept = () => ({ status: 403, body: { message: "not yours" } });
  now += 5000;
  await expect(secret("example", "key")).rejects.toThrow("not yours");
  api.intercept = () => undefined;
  expect(await secret("example", "key")).toBe("one");
  await expect(secret("example", "other")).rejects.toThrow("Secret example has no key other");
  putSecret(api, "example", "key", "two");
  expect(await secret("example", "key")).toBe("one");
  now += 5000;
  expect(await secret("example", "key")).toBe("two");
  expect(new Set(api.requests.map(({ path }) => path))).toEqual(new Set([`${SECRETS}/example`]));
});
