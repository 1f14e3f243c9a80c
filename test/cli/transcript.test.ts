/** What is normalised in the transcript of docs/cli.md: everything that depends on how long a step took. @module */
import { expect, test } from "vitest";
import { normal } from "../node/transcript/normal.ts";

test.for([
  "Creating a sandbox\n",
  "Connecting to session\n",
  "Waiting for 0s\n",
  "Waiting for 2m10s: DependenciesNotReady: Pod is not ready\n",
  "Waiting for session\n",
  "Copying project to session:: 12 KiB of 1 MiB, 3 files\n",
])("progress of a slow step is no part of the page: %j", (progress) => {
  expect(normal(`${progress}session\n`, [])).toBe("session\n");
  expect(normal(`${progress}${progress}out\nexit code 3\n`, [])).toBe("out\nexit code 3\n");
});

test("ages and renewals are the same however old they are", () => {
  const page = (age: string, renewed: string) =>
    normal(`NAME      READY   AGE\nsession   True    ${age}\n\nkeeper-0 holds Lease a/b, renewed ${renewed} ago\n`, []);
  expect(page("4m2s", "2m")).toBe(page("1s", "0s"));
});

test("what a command says stays", () => {
  const text = "Waiting:  may help\nCannot use claim a/b: it waits\n";
  expect(normal(text, [])).toBe(text);
});
