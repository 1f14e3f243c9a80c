/** Idleness is computed with the API server's time, independently of a router's own clock. @module */
import { expect, onTestFinished, test, vi } from "vitest";
import { key, startIdlers, TARGET } from "./idlers.ts";

test.for(
  [
    ["ahead", 2 * 3_600_000],
    ["behind", -2 * 3_600_000],
  ] as const,
)("a router whose clock is %s judges like the others", async ([, wrongMs]) => {
  const ago = (seconds: number) => new Date(new Date().getTime() - seconds * 1000).toISOString();
  const used = { [key("idle-seconds")]: "3600", [key("active-at")]: `${ago(300)} b` };
  const unused = { [key("idle-seconds")]: "3600", [key("active-at")]: `${ago(5000)} b` };
  for (const [annotations, then] of [[used, "Running"], [unused, "Suspended"]] as const) {
    const { make, mode, annotation } = await startIdlers(annotations);
    const real = Date.now;
    vi.spyOn(Date, "now").mockImplementation(() => real() + wrongMs);
    onTestFinished(() => void vi.restoreAllMocks());
    await make("a").checkAll();
    vi.restoreAllMocks();
    expect(mode()).toBe(then);
    if (then === "Running") continue;
    const { at } = JSON.parse(annotation("suspended") ?? "");
    expect(Math.abs(Date.parse(at) - Date.now()), "what it writes is the API server's time").toBeLessThan(60_000);
  }
});

test("what a router has seen itself counts by no wall clock, because that may be set in between", async () => {
  const { make, mode } = await startIdlers();
  const router = make("a");
  router.traffic.begun(TARGET);
  router.traffic.ended(TARGET);
  const real = Date.now;
  vi.spyOn(Date, "now").mockImplementation(() => real() + 3_600_000);
  onTestFinished(() => void vi.restoreAllMocks());
  await router.checkAll();
  expect(mode()).toBe("Running");
});
