/** Jupyter in sandboxes: its image, built by its Containerfile and pulled by the node, and the example that has it compute. @module */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../integration/kubectl.ts";
import { hasRealNode } from "../integration/suite.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { builtExample, isFull, WAYS } from "../node/builtimage.ts";

describe.runIf(hasRealNode)("Jupyter in a sandbox", () => {
  const { kubectl, json, run } = builtExample("jupyter", ["ws"]);

  test.for(WAYS)("the example has it compute %s", async (way) => {
    await until(() => json("get", "sandboxwarmpool", "jupyter"), isFull);
    const picture = join(makeTempFolder(), "squares.png");
    expect(await run(way, picture)).toBe(`The sum of squares is 14\n${picture} shows them\n`);
    expect(readFileSync(picture).subarray(1, 4).toString()).toBe("PNG");
    await until(() => json("get", "sandboxclaims"), ({ items }) => items.length === 0);
  });

  test("notebooks and commands share a folder", async () => {
    await until(() => json("get", "sandboxwarmpool", "jupyter"), isFull);
    const { items: [{ metadata: { name } }] } = await json("get", "pods");
    await kubectl("exec", name, "-c", "main", "--", "sh", "-c", "echo kept > note");
    expect(await kubectl("exec", name, "-c", "jupyter", "--", "cat", "note")).toBe("kept\n");
  });
});
