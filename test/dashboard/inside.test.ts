/** What the page asks of sandboxes through the SDK: no cookie of theirs becomes one of the page's origin. @module */
import { expect, test, vi } from "vitest";
import { open } from "../../packages/dashboard/inside.tsx";

test("files and terminals are asked for without cookies, by the token alone", async () => {
  vi.stubGlobal("location", { origin: "http://router.example" });
  vi.stubGlobal("WebSocket", undefined);
  const asked = vi.spyOn(globalThis, "fetch").mockImplementation(() => Promise.resolve(Response.json({ entries: [] })));
  const { files, pty } = await open({ token: "mine", namespace: "team-a", sandbox: "demo" });
  await files.list("");
  await pty.create({ cols: 80, rows: 24, signal: AbortSignal.timeout(1000) }).catch(() => {});
  const seen = new Set(asked.mock.calls.map(([, init]) => init?.credentials));
  expect(asked.mock.calls.length).toBeGreaterThan(1);
  expect(seen).toEqual(new Set(["omit"]));
  expect(new Headers(asked.mock.calls[0]?.[1]?.headers).get("Authorization")).toBe("Bearer mine");
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});
