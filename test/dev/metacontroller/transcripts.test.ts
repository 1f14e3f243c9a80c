/** The fake Metacontroller does what the real one did, sync by sync: see dev/metacontroller/record. @module */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readTranscript, type Request, writeTranscript } from "../../../dev/metacontroller/record/transcript.ts";
import { replaySync } from "./replay.ts";
import { wakeFaults } from "./wakes.ts";

const FOLDER = new URL("transcripts/", import.meta.url);

const FILES = readdirSync(FOLDER).filter((file) => file.endsWith(".jsonl") && file !== "merges.jsonl");

const read = (file: string) => readTranscript(readFileSync(new URL(file, FOLDER), "utf8"));

test("every scenario and every engine test is recorded: npm run record -- transcripts", () => {
  const scenarios = readdirSync(new URL("../../../packages/testing/scenarios/", import.meta.url));
  const tests = readdirSync(new URL("../../integration/", import.meta.url)).filter((file) =>
    /^engine.*\.test\.ts$/.test(file)
  );
  const wanted = [...scenarios, ...tests].map((file) => file.replace(/(\.test\.ts|\.yaml)$/, ".jsonl"));
  expect(FILES.sort()).toEqual(wanted.sort());
});

test.for(FILES)("%s: the fake Metacontroller asks what the real one asked, sync by sync", async (file) => {
  const { header, syncs } = read(file);
  const differences: string[] = [];
  for (const [index, sync] of syncs.entries()) {
    for (const difference of await replaySync(sync, header.resources)) {
      differences.push(
        `sync ${index + 1}, ${sync.controller.metadata.name} of ${sync.parent.metadata.name}: ${difference}`,
      );
    }
  }
  expect(differences).toEqual([]);
  expect(syncs.length).toBeGreaterThan(5);
});

test.for(FILES)("%s: what Metacontroller was shown would have woken the same parents", async (file) => {
  const { header, courses } = read(file);
  const faults: string[] = [];
  for (const course of courses) {
    const { name } = course.controller.metadata;
    for (const fault of await wakeFaults(course, header.resources)) faults.push(`${name}: ${fault}`);
  }
  expect(faults).toEqual([]);
  expect(courses.length).toBeGreaterThan(0);
});

test("writeTranscript() and readTranscript() lose nothing", () => {
  for (const file of FILES) expect(readTranscript(writeTranscript(read(file)))).toStrictEqual(read(file));
});

test.for<[string, (request: Request) => Request | undefined]>([
  ["a write more", () => undefined],
  ["another name", (request) => ({ ...request, name: "other" })],
  ["another verb", (request) => ({ ...request, verb: request.verb === "update" ? "updateStatus" : "update" })],
  ["another body", ({ body, ...request }) => ({ ...request, body: { ...body, extra: true } })],
  ["and was answered otherwise", (request) => ({ ...request, refusal: { status: 500, reason: "x", message: "" } })],
])("replaySync() notices where the fake Metacontroller has asked %s", async ([, change]) => {
  const { header, syncs } = read("claim-warm.jsonl");
  const sync = syncs.find(({ after }) => after.length > 2 && after[0]?.verb === "update");
  if (!sync) throw new Error("Cannot find a sync with an update");
  const [first, ...rest] = sync.after;
  const changed = first && change(first);
  expect(await replaySync(sync, header.resources)).toEqual([]);
  expect(await replaySync({ ...sync, after: [...changed ? [changed] : [], ...rest] }, header.resources)).not.toEqual(
    [],
  );
});
