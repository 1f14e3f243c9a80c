// deno-lint-ignore-file no-console -- programs print
/**
 * Uses Jupyter in a sandbox: writes a file, has a kernel read it and draw a chart, and saves the picture.
 * Needs the pool of jupyter.yaml: node jupyter.ts [picture].
 */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import process from "node:process";
import { Sandbox } from "hookbox";
import WebSocket from "ws";

const [picture = "squares.png"] = process.argv.slice(2);
const CODE = `
import pandas
numbers = pandas.read_csv("numbers.csv")
numbers.plot("x", "y").figure.savefig("squares.png")
print(numbers["y"].sum())
`;

await using sandbox = await Sandbox.create({ pool: "jupyter", timeoutMs: 600_000 });
await sandbox.files.write("numbers.csv", "x,y\n1,1\n2,4\n3,9\n");

const address = await sandbox.getUrl(8889);
// The SDK sends the token itself; fetch and WebSocket need it for a router.
const token = process.env["HOOKBOX_TOKEN"];
const access: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
// Jupyter accepts requests that change something only with its cookie and the same value in a header.
const cookie =
  (await fetch(`${address}/tree`, { headers: access })).headers.getSetCookie().map((line) => line.split(";")[0] ?? "")
    .find((pair) => pair.startsWith("_xsrf=")) ?? "";
const headers = { ...access, Cookie: cookie, "X-XSRFToken": cookie.replace("_xsrf=", "") };
const kernel = await (await fetch(`${address}/api/kernels`, { method: "POST", headers })).json() as { id: string };

/** A message of a kernel. Source: Messaging in Jupyter, 5.3. */
interface Message {
  header: { msg_type: string };
  parent_header: { msg_id?: string };
  content: { text?: string; execution_state?: string; evalue?: string };
}

/** Runs code in the kernel, and returns its output. */
async function run(code: string): Promise<string> {
  const socket = new WebSocket(`${address.replace(/^http/, "ws")}/api/kernels/${kernel.id}/channels`, { headers });
  const header = {
    msg_id: randomUUID(),
    msg_type: "execute_request",
    session: randomUUID(),
    username: "",
    version: "5.3",
  };
  const content = { code, silent: false, store_history: true, allow_stdin: false };
  const request = { header, parent_header: {}, metadata: {}, content, channel: "shell" };
  let printed = "";
  await new Promise<void>((resolve, reject) => {
    socket.on("open", () => socket.send(JSON.stringify(request))).on("error", reject);
    socket.on("message", (data) => {
      const { header: { msg_type: type }, parent_header: { msg_id: id }, content } = JSON.parse(
        String(data),
      ) as Message;
      if (id !== header.msg_id) return;
      if (type === "stream") printed += content.text ?? "";
      if (type === "error") reject(new Error(content.evalue));
      if (type === "status" && content.execution_state === "idle") resolve();
    });
  });
  socket.close();
  return printed;
}

console.log(`The sum of squares is ${(await run(CODE)).trim()}`);
writeFileSync(picture, await sandbox.files.read("squares.png", { format: "bytes" }));
console.log(`${picture} shows them`);
