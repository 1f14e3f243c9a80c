/** --user: who runs what the runtime starts, and whom its files belong to. @module */
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { becomeUser, findUser } from "../../packages/runtime/users/users.ts";
import { startMain } from "../mainprocess.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { send } from "./servers.ts";
import { FREE_PORTS } from "./freeports.ts";

const PASSWD = "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1001::/home/user:/bin/sh\nbare:x:7:8\n";

test.for([
  { name: "user", want: { name: "user", uid: 1000, gid: 1001, home: "/home/user" } },
  { name: "1000", want: { name: "user", uid: 1000, gid: 1001, home: "/home/user" } },
  { name: "bare", want: { name: "bare", uid: 7, gid: 8, home: "/" } },
  { name: "", want: undefined },
  { name: "x", want: undefined },
])("findUser($name)", ({ name, want }) => {
  expect(findUser(name, PASSWD)).toEqual(want);
});

test("becomeUser() refuses an unknown user, and stays the user that it is", () => {
  expect(() => becomeUser("nobody-there", PASSWD)).toThrow(
    "Cannot use --user nobody-there: /etc/passwd of the image has",
  );
  becomeUser("own", `own:x:${process.getuid?.()}:0::/own:\n`);
  expect(process.env["HOME"]).not.toBe("/own");
});

test("becomeUser() says what the Pod needs, if it is not root", () => {
  const isRoot = process.geteuid?.() === 0;
  const script = `import { becomeUser } from "./packages/runtime/users/users.ts";
    if (process.getuid() === 0) process.setuid(65534);
    try { becomeUser("user", "user:x:1000:1000::/home/user:"); } catch (error) { console.log(error.message); }`;
  const said = execFileSync("node_modules/.bin/node", ["--input-type=module", "-e", script], { encoding: "utf8" });
  expect([isRoot, said]).toEqual([
    isRoot,
    expect.stringMatching(/only root can switch.*runAsUser: 0.*hostUsers: false/),
  ]);
});

test("commands run as the user, and what requests write belongs to the user, too", async () => {
  const user = process.getuid?.() === 0 ? "nobody" : userInfo().username;
  const workdir = makeTempFolder();
  chmodSync(workdir, 0o777);
  const ports = ["--host", "127.0.0.1", ...FREE_PORTS];
  const args = ["packages/runtime/main.ts", "--user", user, "--workdir", workdir, ...ports];
  const { said } = await startMain("node", args, "Listening");
  const [{ port, restPort }] = said("Listening") as [{ port: number; restPort: number }];
  const body = JSON.stringify({ command: "sh -c 'id -un; id -g; echo > by-command'" });
  const { stdout } = JSON.parse((await send(port, "POST", "/execute", { body })).text);
  const { uid, gid, home } = findUser(user, readFileSync("/etc/passwd", "utf8"))!;
  expect(stdout).toBe(`${user}\n${gid}\n`);
  expect((await send(restPort, "PUT", "/v1/files/folder%2Fby-request", { body: "x" })).status).toBe(204);
  for (const path of ["by-command", "folder", "folder/by-request"]) {
    const { uid: owner, gid: group, mode } = statSync(join(workdir, path));
    expect([path, owner, group, mode & 0o022]).toEqual([path, uid, gid, 0]);
  }
  expect((await send(restPort, "GET", "/v1/files/%2Fetc%2Fshadow")).status).toBe(403);
  expect((await send(restPort, "GET", "/v1/stat/~")).text).toContain(
    statExists(home) ? `"path":"${home}"` : "NOT_FOUND",
  );
});

function statExists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
