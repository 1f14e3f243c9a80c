/** ComputeSDK with its provider for E2B, as its README says. @module */
import process from "node:process";
import { e2b } from "@computesdk/e2b";
import { compute } from "computesdk";
import { check, report } from "./checks.mjs";

compute.setConfig({ provider: e2b({ apiKey: process.env.E2B_API_KEY }) });
let sandbox;
await check("create", async () => {
  sandbox = await compute.sandbox.create({ metadata: { user: "me" } });
  return typeof sandbox.sandboxId;
}, "string");
await check("command", async () => {
  const { stdout, stderr, exitCode } = await sandbox.runCommand("sh -c 'echo hello $WHO; echo no >&2; exit 3'", {
    env: { WHO: "you" },
  });
  return [stdout, stderr, exitCode];
}, ["hello you\n", "no\n", 3]);
await check("folder of a command", async () => (await sandbox.runCommand("pwd", { cwd: "/tmp" })).stdout, "/tmp\n");
await check("code", async () => (await sandbox.runCommand("python3 -c 'print(6 * 7)'")).stdout, "42\n");
await check("files", async () => {
  const { filesystem } = sandbox;
  await filesystem.mkdir("folder");
  await filesystem.writeFile("folder/a.txt", "text");
  const [{ name, size }] = await filesystem.readdir("folder");
  const text = await filesystem.readFile("folder/a.txt");
  await filesystem.remove("folder");
  return [name, size, text, await filesystem.exists("folder")];
}, ["a.txt", 4, "text", false]);
await check("list", async () => {
  return (await compute.sandbox.list()).some(({ sandboxId }) => sandboxId === sandbox.sandboxId);
}, true);
await check("reconnect", async () => {
  const again = await compute.sandbox.getById(sandbox.sandboxId);
  return (await again.runCommand("echo again")).stdout;
}, "again\n");
await check("port", async () => (await sandbox.getUrl({ port: 3000 })).startsWith("https://3000-"), true);
await check("kill", async () => {
  await sandbox.destroy();
  return await compute.sandbox.getById(sandbox.sandboxId);
}, null);
report();
