/** What the binder sends through the router to give a runtime variables, and how much of an answer it reads. @module */
import type { RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { createRouterDelivery } from "../../packages/binder/routerdelivery.ts";
import { DeliveryRefused } from "../../packages/binder/state.ts";
import { startBackend } from "../router/stage.ts";

const SANDBOX = { namespace: "team-a", name: "demo", uid: "uid-of-demo", claim: "uid-of-claim" };

const of = (env: Record<string, string>) => ({ env, files: [], start: undefined });
const ALL = { env: { A: "1", B: "2" }, files: [{ path: "~/a", content: "YQ==" }], start: "serve" };
const SENT = { files: [{ path: "~/a", content_base64: "YQ==" }], start: "serve" };

/** A router that answers so, and records the requests. */
async function start(answer: RequestListener) {
  const asked: [string | undefined, unknown][] = [];
  const { port } = await startBackend(async (request, response) => {
    const body = await text(request);
    asked.push([request.method, body === "" ? undefined : JSON.parse(body)]);
    answer(request, response);
  });
  return { asked, deliver: createRouterDelivery(`http://127.0.0.1:${port}`, () => "token") };
}

/** A runtime with these variables; undefined: nothing is bound. */
const having = (names: string[] | undefined, claim = "uid-of-claim"): RequestListener => ({ method }, response) => {
  const isUnbound = method === "GET" && names === undefined;
  response.writeHead(isUnbound ? 404 : 200, { "Content-Type": "application/json" });
  response.end(
    JSON.stringify(isUnbound ? { code: "not_found", message: "nothing is bound" } : { env: names ?? [], claim }),
  );
};

test.for<[string, string[] | undefined, object | undefined]>([
  ["nothing", undefined, { A: "1", B: "2" }],
  ["all of them, and others", ["A", "B", "C"], undefined],
  ["what a program has bound since its start", ["C"], { A: "1", B: "2" }],
  ["some of them", ["A"], { B: "2" }],
])("a runtime that has %s gets again what it lacks, and keeps the rest", async ([, names, sent]) => {
  const { asked, deliver } = await start(having(names));
  await deliver(SANDBOX, of({ A: "1", B: "2" }), "again");
  expect(asked).toEqual([["GET", undefined], ...sent === undefined ? [] : [["PATCH", { env: sent }]]]);
});

test.for<[string, RequestListener]>([
  ["has nothing", having(undefined)],
  ["has what a program has bound", having(["C"], "")],
])("a runtime that %s goes on when there are no variables of the claim", async ([, runtime]) => {
  const { asked, deliver } = await start(runtime);
  await deliver(SANDBOX, of({}), "again");
  expect(asked).toEqual([["PATCH", { env: {} }]]);
});

test("the first delivery replaces everything", async () => {
  const { asked, deliver } = await start(having(["C"]));
  await deliver(SANDBOX, of({ A: "1" }), "first");
  await deliver(SANDBOX, ALL, "first");
  expect(asked).toEqual([["POST", { env: { A: "1" } }], ["POST", { env: ALL.env, ...SENT }]]);
});

test.for<[string, RequestListener, object | undefined]>([
  ["nothing", having(undefined), { env: ALL.env, ...SENT }],
  ["what a program has bound", having(["A"], ""), { env: { B: "2" }, ...SENT }],
  ["what the claim set", having(["A", "B"]), undefined],
  ["a part of what the claim sets now", having(["A"]), { env: { B: "2" } }],
])("a runtime that has %s gets files and start command only with the claim's first variables", async (given) => {
  const [, runtime, sent] = given;
  const { asked, deliver } = await start(runtime);
  await deliver(SANDBOX, ALL, "again");
  expect(asked).toEqual([["GET", undefined], ...sent === undefined ? [] : [["PATCH", sent]]]);
});

test("of an answer without an end only the beginning is read", async () => {
  const { deliver } = await start((_, response) => {
    response.writeHead(400, { "Content-Type": "application/json" });
    const chunk = new Uint8Array(64 * 1024);
    const more = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on("drain", more);
    more();
  });
  for (const how of ["first", "again"] as const) {
    const refused = deliver(SANDBOX, of({ A: "s3cr3t" }), how);
    await expect(refused).rejects.toBeInstanceOf(DeliveryRefused);
    await expect(refused).rejects.toThrow("its runtime refuses: HTTP 400");
  }
});

test.for([true, false])(
  "a runtime that never answers is refused if the router answers otherwise: %s",
  async (isAlive) => {
    const { port } = await startBackend(({ url }, response) => {
      if (url === "/healthz") response.writeHead(isAlive ? 200 : 500).end();
    });
    const deliver = createRouterDelivery(`http://127.0.0.1:${port}`, () => undefined, 100);
    const delivered = deliver(SANDBOX, of({ A: "1" }), "first");
    if (isAlive) await expect(delivered).rejects.toBeInstanceOf(DeliveryRefused);
    else await expect(delivered).rejects.not.toBeInstanceOf(DeliveryRefused);
    await expect(delivered).rejects.toThrow("does not answer");
  },
);
