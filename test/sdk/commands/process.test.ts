/** What a page that came by plain HTTP lacks, the SDK does without. @module */
import { expect, test, vi } from "vitest";
import { requestOf } from "../../../packages/sdk/commands/process.ts";

test("commands have an id, each another one, where there is no crypto.randomUUID", () => {
  const { getRandomValues } = crypto;
  vi.stubGlobal("crypto", { getRandomValues: getRandomValues.bind(crypto) });
  const ids = Array.from({ length: 100 }, () => requestOf("true", {}).requestId);
  vi.unstubAllGlobals();
  expect(new Set(ids).size).toBe(100);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
});
