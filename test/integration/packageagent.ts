/** Programs that use the package in as many ways as fit, as texts, and what they print. @module */

const NAMES = "CommandExitError, FileNotFoundError, InvalidArgumentError, SandboxClient, SandboxError, " +
  "SandboxNotFoundError, UnsupportedError";

/** Arguments: kubeconfig, URL of a router, an empty folder. */
const MAIN = `
const [kubeconfig, routerUrl, folder] = process.argv.slice(2);
const failureOf = (promise) => promise.then(() => undefined, (error) => error);

async function main() {
  const forwarding = await new SandboxClient({ kubeconfig }).create({ image: "busybox" });
  const forwarded = await forwarding.commands.run("echo forwarded");
  await forwarding.kill();
  const client = new SandboxClient({ kubeconfig, routerUrl });
  const sandbox = await client.create({ image: "busybox" });
  const { stdout } = await sandbox.commands.run("echo hello");
  await sandbox.files.write("here/a.txt", "text");
  await sandbox.files.download("here", folder + "/copy");
  await sandbox.files.upload(folder + "/copy", "there");
  const text = await sandbox.files.read("there/a.txt");
  const answer = (await sandbox.runCode("6 * 7", { language: "javascript" })).text;
  const { isOk } = await sandbox.why();
  const failures = [
    [CommandExitError, await failureOf(sandbox.commands.run("exit 3", { check: true }))],
    [FileNotFoundError, await failureOf(sandbox.files.read("none"))],
    [SandboxNotFoundError, await failureOf(client.getInfo("none"))],
    [InvalidArgumentError, await failureOf(client.create({ pool: "a", image: "b" }))],
  ];
  const errors = failures.map(([type, error]) =>
    [error instanceof type, error instanceof SandboxError, error instanceof UnsupportedError, error?.name].join()
  );
  const killed = await sandbox.kill();
  console.log(JSON.stringify({ forwarded: forwarded.stdout, stdout, text, answer, isOk, errors, killed }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
`;

/** The program as a module. */
export const AGENT = `import { ${NAMES} } from "hookbox";\nimport process from "node:process";\n${MAIN}`;

/** The program in CommonJS. */
export const REQUIRING_AGENT = `const { ${NAMES} } = require("hookbox");\n${MAIN}`;

/** What both print, as JSON. */
export const PRINTED = {
  forwarded: "forwarded\n",
  stdout: "hello\n",
  text: "text",
  answer: "42",
  isOk: true,
  errors: [
    "true,true,false,CommandExitError",
    "true,true,false,FileNotFoundError",
    "true,true,false,SandboxNotFoundError",
    "true,true,false,InvalidArgumentError",
  ],
  killed: true,
};

/** A Cloudflare Worker, which reaches sandboxes through a router. */
export const WORKER = `
import { FileNotFoundError, SandboxClient, SandboxError } from "hookbox";

export default {
  async fetch(request, { ROUTER_URL }) {
    const client = new SandboxClient({ routerUrl: ROUTER_URL, token: "t" });
    const sandbox = await client.connect("box");
    const { stdout } = await sandbox.commands.run("echo hello");
    await sandbox.files.write("a.txt", "text");
    const text = await sandbox.files.read("a.txt");
    const error = await sandbox.files.read("none").catch((error) => error);
    return Response.json([stdout, text, error instanceof FileNotFoundError, error instanceof SandboxError]);
  },
};
`;
