import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ApiRequest } from "../../../packages/kube/api.ts";
import { createTokenReviewAccess } from "../../../packages/router/access/tokenreview.ts";
import { createFakeApi, type FakeApi } from "../../kube/fakeapi.ts";

afterEach(() => void vi.useRealTimers());

/** An API server whose users are called what stands before the dash in their tokens, and may connect to what does not begin with `not-`. */
function apiOfMany() {
  const api = createFakeApi();
  const seen = { tokens: { count: 0, running: 0, most: 0 }, rights: { count: 0, running: 0, most: 0 } };
  api.intercept = async ({ body }: ApiRequest) => {
    const { spec } = body as { spec: { token?: string; resourceAttributes?: { name: string } } };
    const kind = spec.token === undefined ? seen.rights : seen.tokens;
    kind.count++;
    kind.most = Math.max(kind.most, ++kind.running);
    await setImmediate();
    kind.running--;
    const { token, resourceAttributes: { name = "" } = {} } = spec;
    const authenticated = !token?.startsWith("guess");
    const status = token === undefined
      ? { allowed: !name.startsWith("not-") }
      : { authenticated, ...(authenticated && { user: { username: token.replace(/-.*/, "") } }) };
    return { status: 201, body: { status } };
  };
  return { api, seen };
}

function start(api: FakeApi, cacheSize = 100) {
  const access = createTokenReviewAccess({
    api,
    log: () => {},
    authzTokenreviewTtl: 30_000,
    authzTokenreviewCacheSize: cacheSize,
    authzTokenreviewAudiences: [],
    authzTokenreviewRequireToken: true,
  });
  return (token: string, name = "demo") =>
    Promise.resolve(access({ target: { namespace: "team-a", name, port: 80 }, token, address: "1.2.3.4" }));
}

const statusOf = (answer: object) => "status" in answer ? answer.status : 200;

describe("createTokenReviewAccess() for many at once", () => {
  test("lets one user in to any number of sandboxes at once, asking no more than a hundred questions at a time", async () => {
    const { api, seen } = apiOfMany();
    const ask = start(api);
    await ask("ann", "first");
    const answers = await Promise.all(Array.from({ length: 500 }, (_, i) => ask("ann", `own-${i}`)));
    expect(answers.filter((answer) => statusOf(answer) !== 200)).toEqual([]);
    expect(seen.rights.most).toBe(100);
  });

  test("lets any number of users of one address in at once, as behind an ingress", async () => {
    const { api, seen } = apiOfMany();
    const ask = start(api, 1000);
    const answers = await Promise.all(Array.from({ length: 500 }, (_, i) => ask(`user${i}`)));
    expect(answers.filter((answer) => statusOf(answer) !== 200)).toEqual([]);
    expect(seen.tokens.most).toBe(100);
  });

  test("lets in to what is open among what is not, until that has used the budget up", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { api } = apiOfMany();
    const ask = start(api);
    const names = (prefix: string, length: number) => Array.from({ length }, (_, i) => `${prefix}-${i}`);
    const askFor = (all: string[]) => Promise.all(all.map(async (name) => statusOf(await ask("bob", name))));
    const mixed = await askFor([...names("not", 99), ...names("own", 80)]);
    expect([...new Set(mixed.slice(0, 99)), ...new Set(mixed.slice(99))]).toEqual([403, 200]);
    expect(await askFor(["own-late", "not-one-more", "own-too-late"])).toEqual([200, 403, 429]);
  });

  test("keeps what it knows of others, however many sandboxes or tokens one user names that are good", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { api } = apiOfMany();
    const ask = start(api);
    const askAll = (count: number, each: (i: number) => readonly [string, string]) =>
      Promise.all(Array.from({ length: count }, async (_, i) => statusOf(await ask(...each(i)))));
    const own = () => askAll(20, (i) => ["vic", `own-${i}`]);
    await own();
    await askAll(500, (i) => ["eve", `none-${i}`]);
    await askAll(500, (i) => [`eve-${i}`, "none"]);
    const before = api.requests.length;
    expect(new Set(await own())).toEqual(new Set([200]));
    expect(api.requests.length).toBe(before);
    vi.advanceTimersByTime(30_001);
    await askAll(300, (i) => ["vic", `not-${i}`]);
    expect(await ask("vic", "not-known"), "the budget is used up").toMatchObject({ status: 429 });
    expect(new Set(await own()), "what was open before").toEqual(new Set([200]));
  });

  test("does not let one user flood the API server with names that are open to them", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { api, seen } = apiOfMany();
    const ask = start(api);
    const askFor = async (count: number, round: number) => {
      const all = Array.from({ length: count }, (_, i) => ask("eve", `none-${round}-${i}`));
      return (await Promise.all(all)).filter((answer) => statusOf(answer) === 429).length;
    };
    for (let round = 0; round < 4; round++) expect(await askFor(500, round)).toBe(0);
    expect(await askFor(500, 4)).toBe(500);
    expect(seen.rights.count).toBe(2000);
    expect(await ask("vic"), "another user").toEqual({ client: "user:vic" });
    vi.advanceTimersByTime(1000);
    expect(await askFor(500, 5)).toBe(300);
  });
});
