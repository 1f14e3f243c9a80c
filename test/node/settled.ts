/** After each file on the real node: nothing of its tests is still being cleared away while the next file runs. @module */
import { afterAll } from "vitest";
import { run, until } from "../integration/kubectl.ts";
import { shared } from "../integration/shared.ts";

afterAll(async () => {
  const suite = await shared("suite");
  const namespaces = () => run(suite, ["get", "namespaces", "-o", "name"]);
  await until(namespaces, (names) => !/\/t-/.test(names), 300);
}, 310_000);
