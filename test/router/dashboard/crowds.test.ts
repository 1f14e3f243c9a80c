/** The dashboard's reviews for many requesters: a valid token uses up no budget, and pushes out no other requester. @module */
import type { IncomingMessage } from "node:http";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { until } from "../../eventually.ts";
import { hurry } from "../../hurry.ts";
import { open } from "../client.ts";
import { answerOf, SANDBOXES, start, subjectOf, tokenOf } from "./stage.ts";

const addressOf = ({ headers }: Pick<IncomingMessage, "headers">) => `${headers["x-from"]}`;

/** Starts a dashboard whose clients say where they are. Tokens that begin with `guess` are invalid. */
async function startCrowd(options: Parameters<typeof start>[0] = {}) {
  const { ask, ...rest } = await start({ addressOf, ...options });
  const look = async (token: string, { from = "ingress", query = "" } = {}) => {
    const headers = { authorization: `Bearer ${token}`, "x-from": from };
    return (await ask(`/.hookbox/api${SANDBOXES}${query}`, { headers })).status;
  };
  return { look, ...rest };
}

const isGuess = (token: string) => token.startsWith("guess");
const userOf = (token: string) => isGuess(token) ? undefined : token.replace(/-.*/, "");
/** How long an API server takes that has much to do. */
const soon = () => setTimeout(20);
const many = <T>(length: number, make: (i: number) => T) => Array.from({ length }, (_, i) => make(i));

test("a token is asked about once, however many requests show it at once, and costs no budget", async () => {
  const { look, seen } = await startCrowd({ userOf, delay: soon });
  const answers = await Promise.all(many(100, () => look("ada")));
  expect(answers.filter((status) => status !== 200)).toEqual([]);
  expect(seen.reviews).toBe(1);
  const guesses = await Promise.all(many(100, (i) => look(`guess-${i}`)));
  expect(guesses.filter((status) => status === 429)).toEqual([]);
});

test("any number of users of one address get in at once, as behind an ingress", async () => {
  const { look } = await startCrowd({ userOf, delay: soon });
  const answers = await Promise.all(many(300, (i) => look(`user${i}`)));
  expect(answers.filter((status) => status !== 200)).toEqual([]);
});

test("one namespace's tokens push no other's out of what is remembered", async () => {
  const { look, seen } = await startCrowd({ userOf: (token) => isGuess(token) ? undefined : subjectOf(token) });
  const ada = tokenOf("ada@example.com");
  expect(await look(ada)).toBe(200);
  for (let i = 0; i < 2100; i += 50) {
    const bots = many(50, (j) => look(tokenOf(`system:serviceaccount:team-a:bot-${i + j}`)));
    expect(new Set(await Promise.all(bots))).toEqual(new Set([200]));
  }
  const { reviews } = seen;
  await Promise.all(many(100, (i) => look(`guess-${i}`)));
  expect(await look(ada)).toBe(200);
  expect(seen.reviews, "she is remembered").toBe(reviews);
});

test("who was let in before does not wait behind those who guess", async () => {
  const { look } = await startCrowd({ userOf });
  expect(await look("ada")).toBe(200);
  await Promise.all(many(150, (i) => look(`guess-${i}`)));
  expect([await look("bob"), await look("ada")], "nor does somebody new").toEqual([200, 200]);
});

test("an answer that the API server gives before it looks at a token proves none", async () => {
  const { look, seen } = await startCrowd({ userOf });
  const answers = await Promise.all(many(120, (i) => look(`guess-${i}`, { query: "?timeout=x" })));
  expect(answers.filter((status) => status !== 401 && status !== 429)).toEqual([]);
  expect(seen.unknown).toBeGreaterThan(0);
  expect(await look("ada", { query: "?timeout=x", from: "elsewhere" })).toBe(400);
});

test("tokens that are forged hold no places of the user whom they name, while the API server is asked", async () => {
  const { promise: waiting, resolve: go } = Promise.withResolvers<void>();
  const forged = (token: string) => token.endsWith("x-forged");
  const { look } = await startCrowd({
    maxOpenRequests: 50,
    userOf: (token) => forged(token) ? undefined : "ada@example.com",
    delay: (token) => forged(token) ? waiting : undefined,
  });
  const guesses = many(60, (i) => look(`${tokenOf("ada@example.com", `${i}`)}-forged`, { from: "elsewhere" }));
  await setTimeout(50);
  expect(await look(tokenOf("ada@example.com"))).toBe(200);
  go();
  expect(new Set(await Promise.all(guesses))).toEqual(new Set([401]));
});

test.for([403, 404])(
  "where nobody may ask who he is (%i), a token's own words count, which were checked for that",
  async (status) => {
    const { look, seen } = await startCrowd({ reviewStatus: status, maxOpenRequests: 5 });
    expect(await look(tokenOf("ada@example.com"))).toBe(200);
    expect(seen.reviews).toBe(1);
  },
);

test("an API server that does not say who somebody is, is a 502, and asked again by the next", async () => {
  let isDown = true;
  const { look } = await startCrowd({ delay: () => isDown ? Promise.reject(new Error("refused")) : undefined });
  expect(await look("ada")).toBe(502);
  isDown = false;
  expect(await look("ada")).toBe(200);
});

const WATCH = `${SANDBOXES}?fieldSelector=metadata.name%3Ddemo&watch=1&resourceVersion=7`;
const LOG = "/api/v1/namespaces/a/pods/b/log";

/** Opens something of the dashboard that lasts. */
async function startLasting(port: number, path: string, token: string) {
  const lasting = await open(port, {
    path: `/.hookbox/api${path}`,
    headers: { authorization: `Bearer ${token}` },
  });
  const state = { isOver: false };
  lasting.resume().on("error", () => {}).once("close", () => state.isOver = true);
  return state;
}

test.for([
  { what: "watch", path: WATCH, again: `${SANDBOXES}?fieldSelector=metadata.name%3Ddemo&limit=1` },
  { what: "log", path: `${LOG}?follow=true&tailLines=500`, again: `${LOG}?tailLines=1&limitBytes=1` },
])("a $what ends once its user may not see any more what it shows", async ({ path: asked, again }) => {
  let maySee = true;
  const paths: string[] = [];
  const { port } = await start({
    authzRecheckInterval: 20,
    apiProxy: ({ path }) => {
      paths.push(path);
      return Promise.resolve(path === asked ? lasting() : answerOf(maySee ? 200 : 403, { items: [] }));
    },
  });
  const state = await startLasting(port, asked, "ada");
  await until(() => paths.length > 2);
  expect(paths.at(-1)).toBe(again);
  maySee = false;
  await until(() => state.isOver);
});

test("a watch ends with its token", async () => {
  const { port } = await start({ authzRecheckInterval: 3_600_000, apiProxy: () => Promise.resolve(lasting()) });
  hurry(1000);
  const state = await startLasting(port, WATCH, tokenOf("ada@example.com", "", Date.now() / 1000 + 600));
  expect(state.isOver).toBe(false);
  await until(() => state.isOver);
});

const lasting = () => ({ status: 200, chunks: endless(), text: () => Promise.resolve("") });

async function* endless(): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode("{}\n");
  await new Promise(() => {});
}
