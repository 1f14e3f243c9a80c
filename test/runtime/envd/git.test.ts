/** Git by E2B's published client, against the runtime: it is made of commands. @module */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startSandbox } from "./sandbox.ts";

test("git commits, branches, clones and pushes", async () => {
  const { sandbox, home } = await startSandbox();
  const { git, files } = sandbox;
  execFileSync("git", ["init", "--quiet", "--bare", join(home, "remote.git")]);
  await git.init("own", { initialBranch: "main" });
  await git.configureUser("Some One", "one@example.com", { path: "own", scope: "local" });
  await git.setConfig("core.abbrev", "12", { path: "own", scope: "local" });
  expect(await git.getConfig("core.abbrev", { path: "own", scope: "local" })).toBe("12");
  await files.write("own/file", "1");
  expect((await git.status("own")).hasUntracked).toBe(true);
  await git.add("own");
  await git.commit("own", "First");
  expect((await git.status("own")).isClean).toBe(true);
  await git.createBranch("own", "other");
  expect(await git.branches("own")).toMatchObject({ currentBranch: "other", branches: ["main", "other"] });
  await git.checkoutBranch("own", "main");
  await git.deleteBranch("own", "other", { force: true });
  await files.write("own/file", "2");
  await git.add("own", { files: ["file"] });
  await git.reset("own", { mode: "mixed" });
  await git.restore("own", { paths: ["file"] });
  expect(await files.read("own/file")).toBe("1");
  await git.remoteAdd("own", "origin", join(home, "remote.git"));
  expect(await git.remoteGet("own", "origin")).toBe(join(home, "remote.git"));
  await git.push("own", { remote: "origin", branch: "main", setUpstream: true });
  await git.clone(join(home, "remote.git"), { path: "clone", branch: "main" });
  expect(await files.read("clone/file")).toBe("1");
  await git.pull("clone");
  await expect(git.clone(join(home, "none"), { path: "none" })).rejects.toMatchObject({ exitCode: 128 });
});
