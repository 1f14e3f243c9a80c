/** A browser in sandboxes: its image, built by its Containerfile and pulled by the node, and the example that drives it. @module */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../integration/kubectl.ts";
import type { Loose } from "../integration/namespace.ts";
import { hasRealNode } from "../integration/suite.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { builtExample, isFull, WAYS } from "../node/builtimage.ts";

/** What every PNG begins with, and where it says how wide and how high it is. Source: PNG, sections 5.2 and 11.2.1. */
const PNG = { signature: "89504e470d0a1a0a", width: 16, height: 20 };

describe.runIf(hasRealNode)("a browser in a sandbox", () => {
  const { kubectl, json, run } = builtExample("browser", ["playwright-core"]);

  test.for(WAYS)(
    "the example drives it %s",
    async (way) => {
      await until(() => json("get", "sandboxwarmpool", "browser"), isFull);
      const picture = join(makeTempFolder(), "page.png");
      expect(await run(way, picture)).toMatch(/^Clicks: 1\n\S+ shows it, by Chromium \d+\.[\d.]+\n$/);
      const bytes = readFileSync(picture);
      expect(bytes.subarray(0, 8).toString("hex")).toBe(PNG.signature);
      expect([bytes.readUInt32BE(PNG.width), bytes.readUInt32BE(PNG.height)]).toEqual([1280, 720]);
      await until(() => json("get", "sandboxclaims"), ({ items }) => items.length === 0);
    },
  );

  test("a browser that dies is started again, and the runtime goes on", async () => {
    await until(() => json("get", "sandboxwarmpool", "browser"), isFull);
    const { items: [{ metadata: { name } }] } = await json("get", "pods");
    // The first of its processes: the others go with it.
    await kubectl("exec", name, "-c", "browser", "--", "pkill", "-KILL", "-o", "-f", "/usr/lib/chromium/");
    const { status } = await until(
      () => json("get", "pod", name),
      ({ status }) => restarts(status) > 0 && isReady(status),
    );
    const counts = status.containerStatuses.map((one: Loose) => [one.name, one.restartCount]);
    expect(Object.fromEntries(counts)).toEqual({ main: 0, browser: 1 });
  });

  const isReady = ({ containerStatuses }: Loose) => containerStatuses.every(({ ready }: Loose) => ready);
  const restarts = ({ containerStatuses }: Loose) =>
    containerStatuses.reduce((sum: number, { restartCount }: Loose) => sum + restartCount, 0);
});
