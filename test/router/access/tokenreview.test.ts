import { Buffer } from "node:buffer";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ApiRequest } from "../../../packages/kube/api.ts";
import { ACCESS_FLAGS } from "../../../packages/router/access/accessoptions.ts";
import { defaultsOf } from "../../../packages/process/flags.ts";
import { createTokenReviewAccess } from "../../../packages/router/access/tokenreview.ts";
import { createFakeApi, type FakeApi, refusal } from "../../kube/fakeapi.ts";

afterEach(() => void vi.useRealTimers());

const TARGET = { namespace: "team-a", name: "demo", port: 80 };

/** An API server that knows Ann, who may connect to team-a/demo, and Bob, who may not. */
function apiOfTwo(): FakeApi {
  const api = createFakeApi();
  api.intercept = ({ path, body }: ApiRequest) => {
    const { spec } = body as { spec: Record<string, unknown> };
    if (path.endsWith("/tokenreviews")) {
      const user = { ann: "Ann", bob: "Bob" }[String(spec["token"])];
      const status = user
        ? { authenticated: true, user: { username: user, groups: ["g"], extra: { k: ["v"] } }, audiences: ["router"] }
        : { authenticated: false, user: {} };
      return { status: 201, body: { status } };
    }
    const attributes = spec["resourceAttributes"] as Record<string, string>;
    const allowed = spec["user"] === "Ann" && attributes["name"] === "demo";
    return { status: 201, body: { status: { allowed } } };
  };
  return api;
}

function start(api: FakeApi, over: object = {}) {
  const options = { ...defaultsOf(ACCESS_FLAGS), authzTokenreviewCacheSize: 100, ...over };
  const access = createTokenReviewAccess({ api, log: () => {}, ...options });
  return (token: string | undefined, name = "demo") =>
    Promise.resolve(access({ target: { ...TARGET, name }, token, address: "1.2.3.4" }));
}

describe("createTokenReviewAccess()", () => {
  test("lets in whom the API server lets connect to this Sandbox", async () => {
    const api = apiOfTwo();
    const ask = start(api);
    expect(await ask("ann")).toEqual({ client: "user:Ann" });
    expect(await ask("ann", "other")).toMatchObject({
      status: 403,
      detail: "User Ann may not connect to sandbox team-a/other.",
      remedy: "An administrator can allow it: kubectl create rolebinding NAME -n team-a " +
        "--clusterrole=hookbox-sandbox-user --user=Ann",
      headers: { "X-Sandbox-Reason": "AccessDenied" },
    });
    expect(await ask("bob")).toMatchObject({ status: 403 });
    expect(await ask("eve")).toMatchObject({ status: 401, detail: "Invalid token." });
    expect(await ask(undefined)).toMatchObject({ status: 401, headers: { "WWW-Authenticate": "Bearer" } });
    expect(api.requests.find(({ path }) => path.endsWith("subjectaccessreviews"))?.body).toMatchObject({
      spec: {
        user: "Ann",
        groups: ["g"],
        extra: { k: ["v"] },
        resourceAttributes: {
          verb: "connect",
          group: "agents.x-k8s.io",
          resource: "sandboxes",
          namespace: "team-a",
          name: "demo",
        },
      },
    });
  });

  test("takes a denial for one, whatever else is allowed", async () => {
    const api = apiOfTwo();
    const { intercept } = api;
    api.intercept = (request) =>
      request.path.endsWith("/subjectaccessreviews")
        ? { status: 201, body: { status: { allowed: true, denied: true } } }
        : intercept(request);
    expect(await start(api)("ann")).toMatchObject({ status: 403 });
  });

  test("asks once, however many want to know, and again when the time is over", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const api = apiOfTwo();
    const ask = start(api);
    await Promise.all(Array.from({ length: 10 }, () => ask("ann")));
    expect(api.requests).toHaveLength(2);
    await ask("ann");
    expect(api.requests).toHaveLength(2);
    vi.advanceTimersByTime(30_001);
    await ask("ann");
    expect(api.requests).toHaveLength(4);
  });

  test("takes only tokens that are made for it", async () => {
    const api = apiOfTwo();
    expect(await start(api, { authzTokenreviewAudiences: ["router"] })("ann")).toEqual({ client: "user:Ann" });
    expect(await start(api, { authzTokenreviewAudiences: ["another"] })("ann")).toMatchObject({ status: 401 });
    expect(api.requests[0]?.body).toMatchObject({ spec: { token: "ann", audiences: ["router"] } });
  });

  test("lets nobody in while the API server does not say, and remembers nothing of that", async () => {
    const api = apiOfTwo();
    const good = api.intercept;
    const ask = start(api);
    for (const bad of [refusal(500, "etcd"), refusal(403, "forbidden"), { status: 201, body: {} }]) {
      api.intercept = () => bad;
      expect(await ask("ann")).toMatchObject({ status: 500 });
    }
    api.intercept = () => {
      throw new Error("unreachable");
    };
    expect(await ask("ann")).toMatchObject({ status: 500 });
    api.intercept = (request) => request.path.endsWith("tokenreviews") ? good(request) : refusal(500, "etcd");
    expect(await ask("ann")).toMatchObject({ status: 500 });
    api.intercept = good;
    expect(await ask("ann")).toEqual({ client: "user:Ann" });
  });

  test("does not let one address flood the API server with tokens", async () => {
    const api = apiOfTwo();
    const ask = start(api);
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    const statuses: unknown[] = [];
    for (let i = 0; i < 2000; i++) {
      void ask(`guess-${i}`).then((answer) => "status" in answer && statuses.push(answer.status));
    }
    await setImmediate();
    expect(api.requests.length).toBe(100);
    expect(statuses.filter((status) => status === 429), "no more than a thousand wait").toHaveLength(900);
    await vi.advanceTimersByTimeAsync(1000);
    expect(api.requests.length, "twenty a second").toBe(120);
    await vi.advanceTimersByTimeAsync(4500);
    expect(statuses.length, "nor longer than five seconds").toBe(2000);
  });

  test("lets in somebody new of an address that others guess from, though bad tokens have used its budget up", async () => {
    const api = apiOfTwo();
    const ask = start(api);
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    const guesses = Array.from({ length: 500 }, (_, i) => ask(`guess-${i}`));
    const ann = ask("ann");
    await vi.advanceTimersByTimeAsync(100);
    expect(await ann, "the newest is looked at first").toEqual({ client: "user:Ann" });
    await vi.advanceTimersByTimeAsync(6000);
    expect(new Set((await Promise.all(guesses)).map((answer) => "status" in answer && answer.status)))
      .toEqual(new Set([401, 429]));
  });

  test("lets in the next token of somebody who was let in before, however many guess", async () => {
    const api = apiOfTwo();
    const { intercept } = api;
    const tokenOf = (id: string) => `x.${Buffer.from(JSON.stringify({ sub: "Ann", id })).toString("base64url")}.y`;
    api.intercept = (request) => {
      const { spec } = request.body as { spec: { token?: string } };
      if (!spec.token?.startsWith("x.")) return intercept(request);
      return { status: 201, body: { status: { authenticated: true, user: { username: "Ann" } } } };
    };
    const ask = start(api);
    expect(await ask(tokenOf("old"))).toEqual({ client: "user:Ann" });
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    const guess = (from: number) => Array.from({ length: 500 }, (_, i) => void ask(`guess-${from + i}`));
    guess(0);
    const next = ask(tokenOf("new"));
    guess(500);
    await setImmediate();
    await setImmediate();
    expect(await next).toEqual({ client: "user:Ann" });
  });

  test("lets in whom it knows while others guess, and counts no good token as a guess", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    const api = apiOfTwo();
    const review = api.intercept;
    api.intercept = (request) => {
      const { spec } = request.body as { spec: { token?: string; user?: string } };
      const isUser = /^user-/.test(spec.token ?? spec.user ?? "");
      if (!isUser) return review(request);
      const status = spec.token ? { authenticated: true, user: { username: spec.token } } : { allowed: true };
      return { status: 201, body: { status } };
    };
    const ask = start(api);
    expect(await ask("ann")).toEqual({ client: "user:Ann" });
    const users = await Promise.all(Array.from({ length: 60 }, (_, i) => ask(`user-${i}`)));
    expect(users.filter((answer) => "status" in answer), "60 at once, from one address").toEqual([]);
    for (let i = 0; i < 300; i++) void ask(`guess-${i}`);
    await setImmediate();
    const before = api.requests.length;
    expect(await ask("ann")).toEqual({ client: "user:Ann" });
    expect(api.requests.length, "known all the time").toBe(before);
    vi.advanceTimersByTime(30_001);
    for (let i = 0; i < 300; i++) void ask(`guess-again-${i}`);
    expect(await ask("ann"), "and after the time of its answer").toEqual({ client: "user:Ann" });
  });

  test("does not let one user flood the API server with names, and counts no sandbox that is open to them", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const api = apiOfTwo();
    const review = api.intercept;
    api.intercept = (request) => {
      const name = (request.body as { spec: { resourceAttributes?: { name: string } } }).spec.resourceAttributes?.name;
      return name?.startsWith("own-") ? { status: 201, body: { status: { allowed: true } } } : review(request);
    };
    const ask = start(api);
    const statusesOf = async (token: string, prefix: string, count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, (_, i) => ask(token, `${prefix}-${i}`)));
      return answers.map((answer) => "status" in answer ? answer.status : 200);
    };
    for (let round = 0; round < 3; round++) {
      expect(new Set(await statusesOf("bob", `own-${round}`, 60)), "180 of their own").toEqual(new Set([200]));
    }
    const before = api.requests.length;
    const guesses = await statusesOf("bob", "guess", 300);
    expect(guesses.filter((status) => status === 429).length).toBe(200);
    expect(api.requests.length - before).toBe(100);
    expect(await ask("bob", "guess-more")).toMatchObject({ status: 429, headers: { "Retry-After": "1" } });
    expect(await ask("ann"), "another user").toEqual({ client: "user:Ann" });
    vi.advanceTimersByTime(30_001);
    await statusesOf("bob", "again", 300);
    expect(await ask("bob", "own-2-0"), "what was open before, after the time of its answer").toEqual({
      client: "user:Bob",
    });
    vi.advanceTimersByTime(1000);
    expect(await ask("bob", "guess-299"), "the refusal is not remembered").toMatchObject({ status: 403 });
  });

  test("nor the ServiceAccounts of a namespace, however many there are; another namespace's is another user", async () => {
    // Otherwise some of the budget is back on a slow machine.
    vi.useFakeTimers({ toFake: ["performance"] });
    const api = apiOfTwo();
    const review = api.intercept;
    api.intercept = (request) => {
      const { token } = (request.body as { spec: { token?: string } }).spec;
      return token
        ? { status: 201, body: { status: { authenticated: true, user: { username: token } } } }
        : review(request);
    };
    const ask = start(api, { authzTokenreviewCacheSize: 1000 });
    const account = (n: number, namespace = "evil") => `system:serviceaccount:${namespace}:bot-${n}`;
    const answers = await Promise.all(Array.from({ length: 300 }, (_, n) => ask(account(n))));
    expect(answers.filter((answer) => "status" in answer && answer.status === 429)).toHaveLength(200);
    expect(api.requests.filter(({ path }) => path.endsWith("subjectaccessreviews"))).toHaveLength(100);
    expect(await ask(account(0, "evil-twin"))).toMatchObject({ status: 403 });
  });

  test("lets in without a token only where that is asked for", async () => {
    const ask = start(apiOfTwo(), { authzTokenreviewRequireToken: false });
    expect(await ask(undefined)).toEqual({ client: "address:1.2.3.4" });
    expect(await ask("eve")).toMatchObject({ status: 401 });
  });
});
