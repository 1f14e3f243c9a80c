/** Variables of whatever is started, by either name. @module */
import { expect, test } from "vitest";
import { createCode } from "../../packages/sdk/code/code.ts";
import { createCommands } from "../../packages/sdk/commands/commands.ts";
import { InvalidArgumentError } from "../../packages/sdk/errors.ts";
import { createPTY } from "../../packages/sdk/pty.ts";
import { aSandbox } from "./localtransport.ts";
import { aClient } from "./testclient.ts";

test("commands, terminals, contexts and sandboxes take `envs` for `env`", async () => {
  const { runtimeClient } = await aSandbox();
  const envs = { COLOUR: "red" };
  expect((await createCommands(runtimeClient).run("echo $COLOUR", { envs })).stdout).toBe("red\n");
  let shown = "";
  const decoder = new TextDecoder();
  const onData = (bytes: Uint8Array) => void (shown += decoder.decode(bytes));
  const terminal = await createPTY(runtimeClient).create({
    cols: 80,
    rows: 24,
    command: "echo it is $COLOUR",
    envs,
    onData,
  });
  await terminal.wait();
  expect(shown).toContain("it is red");
  const code = createCode(runtimeClient);
  const context = await code.createCodeContext({ envs });
  expect((await code.runCode("import os; os.environ['COLOUR']", { context })).text).toBe("'red'");

  const { client, cluster } = await aClient();
  await client.create({ image: "node:24", envs });
  expect((await cluster.objects("Pod"))[0]).toMatchObject({
    spec: { containers: [{ env: [{ name: "COLOUR", value: "red" }] }] },
  });
});

test("both names at once are refused", async () => {
  const { runtimeClient } = await aSandbox();
  const both = { env: { A: "1" }, envs: { A: "2" } };
  await expect(createCommands(runtimeClient).run("true", both)).rejects.toBeInstanceOf(InvalidArgumentError);
});
