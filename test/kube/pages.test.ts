/** pagesOf(): every object once, and no answer that a process could not hold. @module */
import { expect, test } from "vitest";
import { AnswerTooLong } from "../../packages/kube/api.ts";
import { pagesOf } from "../../packages/kube/requests.ts";
import { createFakeApi, refusal } from "./fakeapi.ts";

const PATH = "/apis/example.com/v1/things";
const LARGE_BYTES = 1_500_000;

/** A server with objects of so many bytes, which keeps to the limit in number and in bytes as a real one and ours do. */
function served(sizes: number[]) {
  const api = createFakeApi();
  const answered: number[] = [];
  api.intercept = ({ query = {}, mostBytes = Infinity }) => {
    const from = Number(query["continue"] ?? 0);
    const to = from + Number(query["limit"]);
    const bytes = sizes.slice(from, to).reduce((sum, size) => sum + size, 0);
    if (bytes > mostBytes) throw new AnswerTooLong(mostBytes);
    answered.push(bytes);
    const items = sizes.slice(from, to).map((_, index) => from + index);
    return {
      status: 200,
      body: { items, metadata: { resourceVersion: "7", continue: to < sizes.length ? String(to) : "" } },
    };
  };
  return { api, answered };
}

async function read(sizes: number[], query?: Record<string, string>) {
  const { api, answered } = served(sizes);
  const items: unknown[] = [];
  for await (const page of pagesOf(api, PATH, query)) {
    expect(page.version).toBe("7");
    items.push(...page.items);
  }
  expect(items).toEqual(sizes.map((_, index) => index));
  return { answered, requests: api.requests };
}

test("small objects come a hundred at a time, with what narrows them down", async () => {
  const { requests } = await read(Array(250).fill(1000), { labelSelector: "a=b" });
  expect(requests.map(({ query }) => query)).toEqual([
    { labelSelector: "a=b", limit: "100" },
    { labelSelector: "a=b", limit: "100", continue: "100" },
    { labelSelector: "a=b", limit: "100", continue: "200" },
  ]);
});

test("of the largest objects few come at a time, wherever they stand, and of small ones many again", async () => {
  const small = Array(300).fill(1000);
  const { answered, requests } = await read([...small, ...Array(200).fill(LARGE_BYTES), ...small]);
  expect(Math.max(...answered)).toBeLessThan(9_000_000);
  expect(requests.length, "two in three are answered").toBeLessThan(200);
  expect(requests.at(-1)?.query).toMatchObject({ limit: "100" });
});

test("one object that is longer than a page may be is read anyway", async () => {
  await read([1000, 20_000_000, 1000]);
});

test("an empty collection is one page; a refusal is an error", async () => {
  await read([]);
  const { api } = served([]);
  api.intercept = () => refusal(403, "you may not");
  await expect(pagesOf(api, PATH).next()).rejects.toThrow(`Cannot list ${PATH}: you may not (status 403)`);
  api.intercept = () => {
    throw new Error("gone");
  };
  await expect(pagesOf(api, PATH).next()).rejects.toThrow("gone");
});
