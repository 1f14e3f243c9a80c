/** The API keys of a project in the dashboard: who sees them, and that nothing else of their Secret gets out. @module */
import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { keyHash } from "../../../packages/api/e2b/identity.ts";
import { isAllowed } from "../../../packages/router/dashboard/dashboard.ts";
import { answerOf, chunksOf, start } from "./stage.ts";

const KEYS = "/api/v1/namespaces/team-a/secrets/hookbox-e2b-keys";
const HASH = keyHash("e2b_one");
const CREATED = "2026-01-01T00:00:00Z";
const headers = { authorization: "Bearer abc.def-1" };

const entry = (fields: object = {}) => ({ sha256: HASH, rights: ["create", "read"], createdAt: CREATED, ...fields });
const encoded = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64");

/** The Secret as an API server answers it, with everything that must not get out. */
function aSecret(data: Record<string, string> | undefined) {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: "hookbox-e2b-keys",
      namespace: "team-a",
      labels: { "example.com/note": "LEAK" },
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ data, leak: "LEAK" }) },
      managedFields: [{ manager: "LEAK", fieldsV1: { "f:data": {} } }],
      ownerReferences: [{ name: "LEAK" }],
    },
    immutable: false,
    type: "Opaque",
    stringData: { token: "LEAK" },
    ...data === undefined ? {} : { data },
  };
}

/** Asks for the keys if this is the API server's answer. */
async function shown(status: number, body: object) {
  const { ask, asked } = await start({ apiProxy: () => Promise.resolve(answerOf(status, body)) });
  return { ...await ask(`/.hookbox/api${KEYS}`, { headers }), asked };
}

test("shows names, rights and times of the keys, and nothing else of the Secret", async () => {
  const data = {
    worker: encoded(entry({ rights: ["read"], lastUsedAt: "2026-02-01T00:00:00Z", note: "LEAK", name: "other" })),
    ci: encoded(entry()),
  };
  const { status, text, headers: sent, asked } = await shown(200, aSecret(data));
  expect(status).toBe(200);
  expect(JSON.parse(text)).toEqual({
    keys: [
      { name: "ci", rights: ["create", "read"], createdAt: CREATED },
      { name: "worker", rights: ["read"], createdAt: CREATED, lastUsedAt: "2026-02-01T00:00:00Z" },
    ],
  });
  expect(sent).toMatchObject({ "content-type": "application/json", "cache-control": "no-store" });
  expect(asked.map(({ method, path, token }) => [method, path, token])).toEqual([["GET", KEYS, "abc.def-1"]]);
});

test.for([
  { name: "that is not JSON", value: "LEAK" },
  { name: "without rights", value: { ...entry(), rights: undefined, note: "LEAK" } },
  { name: "with another right", value: entry({ rights: ["LEAK"] }) },
  { name: "whose time is not one", value: entry({ createdAt: "LEAK" }) },
  { name: "whose last use is not a time", value: entry({ lastUsedAt: "LEAK" }) },
  { name: "whose hash is a key", value: entry({ sha256: "e2b_LEAK" }) },
  { name: "that is a list", value: ["LEAK"] },
  { name: "that is empty", value: "" },
])("shows only the name of an entry $name", async ({ value }) => {
  const { status, text } = await shown(200, aSecret({ good: encoded(entry()), wrong: encoded(value) }));
  expect(status).toBe(200);
  expect(JSON.parse(text).keys).toEqual([expect.objectContaining({ name: "good" }), { name: "wrong" }]);
  expect(text).not.toContain("LEAK");
  expect(text).not.toContain(HASH);
});

test.for([{ data: undefined }, { data: {} }])("shows no keys of a Secret with %o", async ({ data }) => {
  const { status, text } = await shown(200, aSecret(data));
  expect([status, text]).toEqual([200, '{"keys":[]}']);
});

test("the API server decides who sees the keys, and its words arrive unchanged", async () => {
  const message = 'secrets "hookbox-e2b-keys" is forbidden: User "ada" cannot get resource "secrets"';
  const forbidden = { kind: "Status", message, code: 403 };
  expect(await shown(403, forbidden)).toMatchObject({ status: 403, text: JSON.stringify(forbidden) });
  expect(await shown(404, { kind: "Status", code: 404 })).toMatchObject({ status: 404 });
});

test.for([
  { name: "a list of Secrets", status: 200, body: { kind: "SecretList", items: [aSecret({ a: "LEAK" })] } },
  { name: "a table", status: 200, body: { kind: "Table", rows: [{ object: aSecret({ a: "LEAK" }) }] } },
  { name: "another Secret", status: 200, body: { ...aSecret({ a: "LEAK" }), metadata: { name: "LEAK" } } },
  { name: "an event of a watch", status: 200, body: { type: "ADDED", object: aSecret({ a: "LEAK" }) } },
  { name: "a Secret with another status", status: 203, body: aSecret({ a: "LEAK" }) },
  { name: "a Secret behind a redirect", status: 302, body: aSecret({ a: "LEAK" }) },
  { name: "data that is no text", status: 200, body: { ...aSecret({}), data: { a: { b: "LEAK" } } } },
])("an answer with $name does not get out", async ({ status, body }) => {
  const answer = await shown(status, body);
  expect(answer.status).toBe(502);
  expect(answer.text).not.toContain("LEAK");
});

test("a Secret that is too large is not read to its end", async () => {
  let read = 0;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (; read < 1000; read++) yield* chunksOf("x".repeat(64 * 1024));
  }
  const answer = { status: 200, chunks: chunks(), text: () => Promise.reject(new Error("Cannot read all of it")) };
  const { ask } = await start({ apiProxy: () => Promise.resolve(answer) });
  expect((await ask(`/.hookbox/api${KEYS}`, { headers })).status).toBe(502);
  expect(read).toBeLessThan(10);
});

test("headers of the page do not change what the API server is asked", async () => {
  const { ask, asked } = await start({ apiProxy: () => Promise.resolve(answerOf(200, aSecret({}))) });
  const accepts = [
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
  ];
  for (const accept of accepts) {
    const more = { accept, "impersonate-user": "admin", "x-http-method-override": "PATCH" };
    expect(await ask(`/.hookbox/api${KEYS}`, { headers: { ...headers, ...more } })).toMatchObject({
      status: 200,
      text: '{"keys":[]}',
    });
  }
  const plain = { method: "GET", path: KEYS, token: "abc.def-1", body: undefined, signal: expect.any(AbortSignal) };
  expect(asked).toEqual(accepts.map(() => plain));
});

test.for([
  ["GET", `${KEYS}?watch=1`],
  ["GET", `${KEYS}?watch=true`],
  ["GET", `${KEYS}?`],
  ["GET", `${KEYS}?fieldSelector=metadata.name%3Dother`],
  ["GET", `${KEYS}?resourceVersion=0`],
  ["GET", `${KEYS}?pretty=true`],
  ["GET", `${KEYS}#a`],
  ["GET", `${KEYS};a=b`],
  ["GET", `${KEYS}/`],
  ["GET", `${KEYS}/status`],
  ["GET", `${KEYS}2`],
  ["GET", `${KEYS}/../token`],
  ["GET", "/api/v1/namespaces/team-a/secrets"],
  ["GET", "/api/v1/namespaces/team-a/secrets/"],
  ["GET", "/api/v1/namespaces/team-a/secrets?fieldSelector=metadata.name%3Dhookbox-e2b-keys"],
  ["GET", "/api/v1/secrets"],
  ["GET", "/api/v1/secrets?fieldSelector=metadata.name%3Dhookbox-e2b-keys"],
  ["GET", "/api/v1/secrets/hookbox-e2b-keys"],
  ["GET", "/api/v1/watch/namespaces/team-a/secrets/hookbox-e2b-keys"],
  ["GET", "/api/v1/namespaces/team-a/secrets/hookbox-e2b"],
  ["GET", "/api/v1/namespaces/team-a/secrets/hookbox%2De2b-keys"],
  ["GET", "/api/v1/namespaces/team-a/secrets/HOOKBOX-E2B-KEYS"],
  ["GET", "/api/v1/namespaces/team-a%2fsecrets%2ftoken/secrets/hookbox-e2b-keys"],
  ["GET", "/api/v1/namespaces/../secrets/hookbox-e2b-keys"],
  ["GET", "/api/v1/namespaces//secrets/hookbox-e2b-keys"],
  ["GET", "/api/v1/namespaces/a/b/secrets/hookbox-e2b-keys"],
  ["GET", "//api/v1/namespaces/team-a/secrets/hookbox-e2b-keys"],
  ["GET", "/api/v1/namespaces/team-a/configmaps/hookbox-e2b-keys"],
  ["HEAD", KEYS],
  ["POST", KEYS],
  ["PUT", KEYS],
  ["PATCH", KEYS],
  ["DELETE", KEYS],
  ["OPTIONS", KEYS],
])("%s %s is refused, and the API server never sees it", async ([method = "", path = ""]) => {
  const { ask, asked } = await start();
  expect((await ask(`/.hookbox/api${path}`, { method, headers })).status).toBe(403);
  expect(asked).toEqual([]);
  expect(isAllowed(method, path)).toBe(false);
});

test("a request for the keys without a token, or of another page, never reaches the API server", async () => {
  const { ask, asked } = await start();
  expect((await ask(`/.hookbox/api${KEYS}`)).status).toBe(401);
  const foreign = { ...headers, origin: "https://evil.example" };
  expect((await ask(`/.hookbox/api${KEYS}`, { headers: foreign })).status).toBe(403);
  expect(asked).toEqual([]);
});
