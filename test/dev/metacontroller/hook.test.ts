/** How a webhook is called and its answer decoded. @module */
import { expect, test } from "vitest";
import type { HookSpec } from "../../../packages/testing/metacontroller/definition.ts";
import { createFakeClock } from "../../../packages/testing/clock.ts";
import { ANSWERS, createHook, type Fetch, TooManyRequests } from "../../../packages/testing/metacontroller/hook.ts";

const clock = createFakeClock(Date.parse("2026-01-01T00:00:00Z"));
const never = new AbortController().signal;
type Webhook = NonNullable<HookSpec["webhook"]>;

function hookWith(answer: Response | Fetch, spec: HookSpec = {}, fields: keyof typeof ANSWERS = "composite") {
  const fetch = typeof answer === "function" ? answer : () => answer;
  const hook = createHook("sync", { webhook: { url: "http://h/sync" }, ...spec }, ANSWERS[fields], { fetch, clock });
  if (!hook) throw new Error("Cannot test: there is no hook");
  return hook;
}

test.for<{ webhook: Webhook; url: string }>([
  { webhook: { url: "http://a/b", service: { name: "n", namespace: "ns" }, path: "/p" }, url: "http://a/b" },
  { webhook: { service: { name: "n", namespace: "ns" }, path: "/p" }, url: "http://n.ns:80/p" },
  {
    webhook: { service: { name: "n", namespace: "ns", port: 8443, protocol: "https" }, path: "/p?x=1" },
    url: "https://n.ns:8443/p?x=1",
  },
])("posts JSON to $url", async ({ webhook, url }) => {
  const seen: unknown[] = [];
  const hook = hookWith((to, init) => {
    seen.push(to, init.method, new Headers(init.headers).get("content-type"), init.body);
    return Response.json({});
  }, { webhook });
  expect(await hook.call({ a: 1 }, never)).toStrictEqual({});
  expect(seen).toStrictEqual([url, "POST", "application/json", '{"a":1}']);
});

test.for<{ webhook: Webhook; message: RegExp }>([
  { webhook: {}, message: /neither webhook.url nor/ },
  { webhook: { service: { name: "n", namespace: "ns" } }, message: /neither webhook.url nor/ },
  { webhook: { url: "http://h", etag: { enabled: true } }, message: /has no webhook.etag/ },
  { webhook: { url: "http://h", timeout: "soon" }, message: /duration "soon"/ },
])("refuses webhook $webhook", ({ webhook, message }) => {
  expect(() => hookWith(Response.json({}), { webhook })).toThrow(message);
});

test("is absent without a webhook", () => {
  expect(createHook("finalize", undefined, ANSWERS.composite, { fetch: () => Response.json({}), clock }))
    .toBeUndefined();
});

test.for<{ name: string; fields: keyof typeof ANSWERS; body: string; strict?: RegExp; loose?: RegExp }>([
  {
    name: "all fields",
    fields: "composite",
    body: '{"status":{},"children":[{"kind":"Pod"}],"resyncAfterSeconds":1.5,"finalized":true}',
  },
  { name: "nothing", fields: "composite", body: "{}" },
  { name: "null", fields: "composite", body: "null" },
  {
    name: "null fields",
    fields: "composite",
    body: '{"status":null,"children":null,"resyncAfterSeconds":null,"finalized":null}',
  },
  {
    name: "decorator",
    fields: "decorator",
    body: '{"labels":{"a":"1","b":null},"annotations":{},"status":null,"attachments":[]}',
  },
  {
    name: "customize",
    fields: "customize",
    body: '{"relatedResources":[{"apiVersion":"v1","resource":"pods","names":["a"]}]}',
  },
  { name: "an unknown field", fields: "composite", body: '{"childs":[]}', strict: /unknown field "childs"/ },
  { name: "another case", fields: "composite", body: '{"Children":[]}', strict: /unknown field "Children"/ },
  {
    name: "the fields of a decorator",
    fields: "composite",
    body: '{"attachments":[]}',
    strict: /unknown field "attachments"/,
  },
  {
    name: "an unknown field of a rule",
    fields: "customize",
    body: '{"relatedResources":[{"name":"a"}]}',
    strict: /wrong type/,
  },
  {
    name: "a name of Object.prototype",
    fields: "composite",
    body: '{"constructor":1}',
    strict: /unknown field "constructor"/,
  },
  {
    name: "a child without kind",
    fields: "composite",
    body: '{"children":[{"apiVersion":"v1"}]}',
    strict: /"children" has a wrong type/,
    loose: /"children" has a wrong type/,
  },
  { name: "a null child", fields: "composite", body: '{"children":[null]}', strict: /"children"/, loose: /"children"/ },
  {
    name: "children as a map",
    fields: "composite",
    body: '{"children":{}}',
    strict: /"children"/,
    loose: /"children"/,
  },
  {
    name: "a number as text",
    fields: "composite",
    body: '{"resyncAfterSeconds":"1"}',
    strict: /"resyncAfterSeconds"/,
    loose: /"resyncAfterSeconds"/,
  },
  {
    name: "a label that is no text",
    fields: "decorator",
    body: '{"labels":{"a":1}}',
    strict: /"labels"/,
    loose: /"labels"/,
  },
  { name: "a list", fields: "composite", body: "[]", strict: /not an object/, loose: /not an object/ },
  { name: "no JSON", fields: "composite", body: "<html>", strict: /not JSON/, loose: /not JSON/ },
  { name: "no body", fields: "composite", body: "", strict: /not JSON/, loose: /not JSON/ },
])("decodes $name", async ({ fields, body, strict, loose }) => {
  const specs: [HookSpec, RegExp | undefined][] = [
    [{ version: "v2" }, strict],
    [{ version: "v1" }, loose],
    [{}, loose],
    [{ version: "v2", webhook: { url: "http://h", responseUnMarshallMode: "loose" } }, loose],
    [{ version: "v1", webhook: { url: "http://h", responseUnMarshallMode: "strict" } }, strict],
  ];
  for (const [spec, error] of specs) {
    const call = hookWith(new Response(body), spec, fields).call({}, never);
    if (error) await expect(call, JSON.stringify(spec)).rejects.toThrow(error);
    else expect(await call, JSON.stringify(spec)).toStrictEqual(JSON.parse(body) ?? {});
  }
});

test.for([201, 204, 304, 400, 500, 503])("status %i is an error", async (status) => {
  const body = [204, 304].includes(status) ? null : "why";
  await expect(hookWith(new Response(body, { status })).call({}, never)).rejects.toThrow(
    `status ${status}, body ${body ?? ""}`,
  );
});

test.for<[string | undefined, number]>([
  ["3", 3],
  ["0", 0],
  ["-1", -1],
  ["Thu, 01 Jan 2026 00:00:09 GMT", 9],
  ["Wed, 31 Dec 2025 23:59:58 GMT", -2],
  ["1.5", 0],
  ["soon", 0],
  [undefined, 0],
])("429 with Retry-After %s is %d s", async ([header, seconds]) => {
  const headers = header === undefined ? {} : { "Retry-After": header };
  const failure = await hookWith(new Response("", { status: 429, headers })).call({}, never).catch((error) => error);
  expect(failure).toBeInstanceOf(TooManyRequests);
  expect((failure as TooManyRequests).seconds).toBe(seconds);
});

test.for<[string | undefined, number]>([
  [undefined, 10_000],
  ["5s", 5000],
  ["1m30s", 90_000],
  ["250ms", 250],
  ["1.5s", 1500],
  ["0s", 10_000],
  ["0", 10_000],
  ["-1s", 10_000],
])("timeout %s is %d ms", async ([timeout, milliseconds]) => {
  let signal: AbortSignal | null | undefined;
  const hook = hookWith((_, init) => {
    signal = init.signal;
    return new Promise<Response>(() => {});
  }, { webhook: { url: "http://h", ...(timeout !== undefined && { timeout }) } });
  let outcome = "";
  void hook.call({}, never).catch((error) => outcome = error.message);
  await clock.advance(milliseconds - 1);
  expect(outcome).toBe("");
  await clock.advance(1);
  expect(outcome).toBe(`Cannot reach hook: no answer within ${milliseconds} ms`);
  expect(signal?.aborted).toBe(true);
});

test("a body that does not end counts too", async () => {
  const hook = hookWith(new Response(new ReadableStream()));
  let outcome = "";
  void hook.call({}, never).catch((error) => outcome = error.message);
  await clock.advance(10_000);
  expect(outcome).toMatch(/no answer within/);
});

test("a call ends when its controller stops", async () => {
  const stopping = new AbortController();
  const call = hookWith(() => new Promise<Response>(() => {})).call({}, stopping.signal);
  stopping.abort();
  await expect(call).rejects.toThrow("the controller is stopping");
  await expect(hookWith(() => new Promise<Response>(() => {})).call({}, stopping.signal)).rejects.toThrow("stopping");
});
