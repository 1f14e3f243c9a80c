/** Replays of small recordings: counts, exit codes, gaps, and what is not a recording. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Exchange } from "../../../packages/webhook/exchange.ts";
import { replyOf } from "../../../packages/webhook/reply.ts";
import { loadHooks, type ReplayRequest, runReplay } from "../../../packages/cli/commands/replay.ts";
import { makeHooks } from "../../../hooks/all.ts";
import { aChild, aRequest, aSandbox, NOW } from "../../sandboxes.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { recordedIn, SETTINGS, writeRecording } from "./recorded.ts";

const [HOOK] = makeHooks(["sandbox"], SETTINGS);
const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

/** What the Sandbox hook answers for one with a Service, but for `change`. @param seconds after {@link NOW} */
function anExchange(name: string, seconds = 0, change: (answer: Answer) => void = () => {}): Exchange {
  const sandbox = aSandbox({ metadata: { name, uid: `uid-${name}` }, spec: { service: true } });
  const request = { controller: {}, ...aRequest(sandbox, [aChild("Service", { metadata: { name } })]) };
  const at = new Date(NOW.getTime() + seconds * 1000);
  if (!HOOK) throw new Error("Cannot replay: there is no hook");
  const { status, text } = replyOf(HOOK, "sync", { request }, at);
  const answer = JSON.parse(text);
  change(answer);
  return { at, hook: "sandbox", endpoint: "sync", status, request: bytes(request), answer: bytes(answer) };
}

// deno-lint-ignore no-explicit-any -- whatever a hook answered
type Answer = any;
const renamed = (answer: Answer) => void (answer.children[0].spec.hostname = "other");

async function replayed(paths: string[], more: Partial<ReplayRequest> = {}) {
  let [text, errors] = ["", ""];
  const code = await runReplay({
    paths,
    write: (part) => void (text += part),
    writeError: (part) => void (errors += part),
    ...more,
  });
  return { code, text, errors };
}

test("no difference is 0, and says how much was replayed", async () => {
  const { code, text, errors } = await replayed([recordedIn([anExchange("a"), anExchange("b", 60)], SETTINGS)]);
  expect([code, errors]).toEqual([0, ""]);
  expect(text).toBe("2 requests, no decision differs (2026-11-21T12:00:00Z to 2026-11-21T12:01:00Z)\n");
});

test("3,000 equal differences are one, with a count and an example", async () => {
  const many = Array.from({ length: 3000 }, (_, index) => anExchange(`a-${index % 500}`, index, renamed));
  const { code, text } = await replayed([recordedIn([...many, anExchange("b")], SETTINGS)]);
  expect(code).toBe(1);
  expect(text).toBe(`3,001 requests, 3,000 decisions differ (2026-11-21T12:00:00Z to 2026-11-21T12:49:59Z)

1. sandbox sync, 3,000 times on 500 objects; first Sandbox team-a/a-0, 2026-11-21T12:00:00.000Z, hooks-p-000001.jsonl:2
   ~ Pod/a-0 spec.hostname: "other" -> (none)
`);
});

test("differences of two kinds are two; JSON has them whole", async () => {
  const exchanges = [
    anExchange("a", 0, renamed),
    anExchange("b", 1, (answer) => answer.status.conditions[0].reason = "Fine"),
  ];
  const { code, text } = await replayed([recordedIn(exchanges, SETTINGS)], { output: "json" });
  expect(code).toBe(1);
  expect(JSON.parse(text)).toMatchObject({
    requests: { sandbox: 2 },
    differing: 2,
    kinds: [{ decisions: 1, objects: 1, example: { object: { name: "a" } } }, { example: { object: { name: "b" } } }],
  });
});

const ELSEWHERE = { ...SETTINGS, clusterDomain: "example.org" };
const elsewhere = (answer: Answer) => void (answer.status.serviceFQDN = "a.team-a.svc.example.org");

test("the settings are the recording's", async () => {
  expect((await replayed([recordedIn([anExchange("a", 0, elsewhere)], ELSEWHERE)])).code).toBe(0);
  expect((await replayed([recordedIn([anExchange("a")], ELSEWHERE)])).code).toBe(1);
});

test("settings that a recording of version 0.2.0 has under another name count as well", async () => {
  const file = join(makeTempFolder(), "hook.mjs");
  writeFileSync(
    file,
    "export default ({ allowedLabelDomains: domains, maxBatchSize: most }) => ({ name: `${domains} ${most}` });",
  );
  const make = await loadHooks([file]);
  expect([...make({ labelDomains: ["a.example"] }).keys()]).toEqual(["a.example 300"]);
});

test("each file of a folder is replayed with its own settings, whatever is missing between them", async () => {
  const folder = recordedIn([anExchange("a")], SETTINGS);
  const later = [anExchange("a", 1, elsewhere), anExchange("a", 2, elsewhere), anExchange("a", 3)];
  writeRecording(join(folder, "hooks-p-000003.jsonl"), later, ELSEWHERE);
  expect((await replayed([folder])).text).toMatch(/^4 requests, 1 decision differs/);
});

test("requests of hooks that there are not are counted", async () => {
  const foreign = { ...anExchange("a"), hook: "other" };
  expect((await replayed([recordedIn([foreign, anExchange("b")], SETTINGS)])).text)
    .toMatch(/^1 request, no decision differs .*\n1 request of other not replayed\n$/);
  expect(await replayed([recordedIn([foreign], SETTINGS)])).toMatchObject({
    code: 2,
    errors: "Cannot replay: the recording has no request, but of other\n",
  });
});

test.for<[string, (folder: string) => string, string]>([
  ["a path that is not there", (folder) => join(folder, "none"), "it does not exist"],
  ["an empty folder", (folder) => folder, "there is no recording in it"],
  ["an empty file", (folder) => written(folder, "a.jsonl", ""), "it has no line"],
  ["no JSON", (folder) => written(folder, "a.jsonl", "{\n"), "a line is not JSON"],
  ["JSON that is no recording", (folder) => written(folder, "a.jsonl", "{}\n"), "a line is not of a recording"],
  ["bytes that are not packed", (folder) => written(folder, "a.jsonl.zst", "not packed"), "Cannot read"],
])("%s is 2, with a sentence", async ([, make, message]) => {
  const { code, text, errors } = await replayed([make(makeTempFolder())]);
  expect([code, text]).toEqual([2, ""]);
  expect(errors).toMatch(/^Cannot read ".*": .+\n$/);
  expect(errors).toContain(message);
});

test("a module without a hook is 2", async () => {
  const module = written(makeTempFolder(), "hook.mjs", "export const x = 1;\n");
  const { code, errors } = await replayed([recordedIn([anExchange("a")], SETTINGS)], { hooks: [module] });
  expect([code, errors]).toEqual([2, expect.stringContaining("it exports no function whose name ends in Hook")]);
});

function written(folder: string, name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}
