/**
 * Runs JavaScript code piece by piece, and keeps its variables between the pieces.
 *
 * Requests arrive on descriptor 3, as one JSON object per line: {"code", "env", "typescript"} or {"interrupt"}. Events go to
 * descriptor 4, as in kernel.py, and {"exiting"} with the exit code when the code ends the process. The code runs on the main
 * thread, by V8's inspector: its REPL mode supports top-level await, and a name may be declared twice. A worker reads the
 * requests, numbers them and interrupts runs, because it also works while the main thread is in a loop.
 *
 * @module
 */
import { init, parse } from "es-module-lexer";
import { Buffer } from "node:buffer";
import { writeSync } from "node:fs";
import { Session } from "node:inspector";
import { createRequire, registerHooks, stripTypeScriptTypes } from "node:module";
import { Socket } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { Script } from "node:vm";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const IMPORT = "__hookboxImport";
const META = "__hookboxMeta";
/** Key of an object's own display method, which returns forms by MIME type, as in Deno's Jupyter kernel. */
const DISPLAY = Symbol.for("Jupyter.display");

/** Saved before any code runs, because the code may replace them. */
const { stringify, parse: parseJson } = JSON;
const encoder = new TextEncoder();

const taken = { value: undefined };
const REPL = { replMode: true, awaitPromise: true };
const TAKE = { functionDeclaration: "function (value) { this.value = value; }" };
const BROKEN_OFF = Object.assign(new Error(""), { name: "Interrupted", stack: "Interrupted" });

/** Indexes in the shared memory: lock, whether the worker wants it, last interrupted run, last ended run. */
const [LOCK, WANTED, BROKEN, ENDED] = [0, 1, 2, 3];
const [FREE, MAIN, WORKER] = [0, 1, 2];
/** Time after which a main thread that has not answered counts as busy with code, in milliseconds. */
const BUSY_MS = 10;
const shared = isMainThread ? new Int32Array(new SharedArrayBuffer(16)) : workerData;

let takerId;

if (isMainThread) await serveMain();
else serveWorker();

/**
 * Runs `change` on the main thread, without an interrupt during `change`. The worker interrupts only while it holds the
 * lock. The interrupt then hits the code, or this thread while it waits for the lock.
 */
function unbroken(change) {
  // The worker has priority, because code that prints all the time would never leave it the lock.
  while (Atomics.load(shared, WANTED) || Atomics.compareExchange(shared, LOCK, FREE, MAIN) !== FREE) {
    // Waits only briefly each time, because V8 can miss an interrupt of a waiting thread.
    Atomics.wait(shared, WANTED, 1, 1);
  }
  try {
    return change();
  } finally {
    Atomics.store(shared, LOCK, FREE);
    Atomics.notify(shared, LOCK);
  }
}

async function serveMain() {
  await init;
  const base = pathToFileURL(join(process.cwd(), "cell.mjs")).href;
  // Modules are searched from the working folder, not from the folder of this file.
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, context.parentURL === import.meta.url ? { ...context, parentURL: base } : context),
  });
  const load = (specifier, options) => import(specifier, options);
  const require = createRequire(base);
  const meta = {
    dirname: process.cwd(),
    filename: fileURLToPath(base),
    url: base,
    main: true,
    resolve: (specifier) => String(import.meta.resolve(specifier, base)),
  };
  Object.defineProperty(globalThis, IMPORT, { value: load, enumerable: false });
  Object.defineProperty(globalThis, META, { value: meta, enumerable: false });
  globalThis.require = require;
  globalThis.display = (...values) => values.forEach((value) => send({ result: bundle(value), main: false }));
  process.stdout.write = output("stdout");
  process.stderr.write = output("stderr");
  for (const event of ["uncaughtException", "unhandledRejection"]) {
    process.on(event, (error) => send({ stderr: `Uncaught ${shown(error)}\n` }));
  }
  // A child process that the code waits for also gets the signal, and ends. This process must not end.
  process.on("SIGINT", () => {});
  tellOfExit();
  const handle = runner();
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: shared });
  worker.on("message", handle);
  worker.once("exit", () => process.exit(0));
  send({ ready: true });
}

/** Whether the process is exiting. The exit code is then sent already, and the run sends no other end. */
let leaving = false;

/**
 * Sends the exit code when the code ends the process. Node would then wait for blocking reads of a terminal or a FIFO, and
 * would never end. The process therefore ends right after the listeners of "exit".
 */
function tellOfExit() {
  const tell = (code) => {
    if (!leaving) send({ exiting: Number(code ?? process.exitCode ?? 0) });
    leaving = true;
  };
  process.on("exit", tell);
  process.reallyExit = (code) => {
    tell(code);
    process.kill(process.pid, "SIGKILL");
  };
}

/** Runs one request at a time; `{"interrupted"}` ends that run at once, even if its code still waits for something. */
function runner() {
  const session = new Session();
  session.connect();
  return ({ id, interrupted, ...request }) => {
    if (interrupted !== undefined) return end(interrupted, [failure(BROKEN_OFF)]);
    if (shared[BROKEN] >= id) return end(id, [failure(BROKEN_OFF)]);
    restore = setVariables(request.env);
    evaluate(session, request, (error, value) => end(id, error ? [failure(error.thrown)] : result(value)));
  };
}

/** Gives the variables of the current run their previous values. */
let restore = () => {};

/** Sets variables of the environment, and returns a function that gives them back their previous values. */
function setVariables(env) {
  const before = Object.keys(env).map((name) => [name, process.env[name]]);
  Object.assign(process.env, env);
  return () => {
    restore = () => {};
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}

/** Ends a run with its last events. Does nothing for an interrupted run, which has ended already. */
function end(id, events) {
  unbroken(() => {
    if (leaving || shared[ENDED] >= id) return;
    restore();
    for (const event of events) writeOrFail(event);
    write({ done: true });
    Atomics.store(shared, ENDED, id);
    Atomics.notify(shared, ENDED);
  });
}

/** Evaluates code. Calls `then` with the thrown value, or with the result. */
function evaluate(session, { code, typescript }, then) {
  let expression;
  try {
    expression = withImports(typescript ? withoutTypes(code) : inJavaScript(code));
  } catch (error) {
    return then({ thrown: error });
  }
  session.post("Runtime.evaluate", { ...REPL, expression }, (error, answer) => {
    // An error of the inspector itself means that the code was interrupted.
    if (error) return then({ thrown: BROKEN_OFF });
    const { exceptionDetails, result } = answer;
    const remote = exceptionDetails ? exceptionDetails.exception ?? { value: exceptionDetails.text } : result;
    // Gets the value itself from the inspector's handle.
    session.post("Runtime.callFunctionOn", { ...TAKE, objectId: taker(session), arguments: [argumentOf(remote)] });
    then(exceptionDetails ? { thrown: taken.value } : undefined, taken.value);
  });
}

function withoutTypes(code) {
  return stripTypeScriptTypes(code, { mode: "transform" });
}

/** Other interpreters take TypeScript for JavaScript, too. Returns code that is neither unchanged, for V8's message. */
function inJavaScript(code) {
  const valid = answerOf(() => new Script(`async () => {\n${withImports(code)}\n}`));
  return valid ? code : answerOf(() => withoutTypes(code)) ?? code;
}

/** Returns the inspector's handle of `taken`. */
function taker(session) {
  if (takerId) return takerId;
  Object.defineProperty(globalThis, "__hookboxTaken", { value: taken, configurable: true });
  session.post("Runtime.evaluate", { expression: "__hookboxTaken" }, (_, { result }) => takerId = result.objectId);
  delete globalThis.__hookboxTaken;
  return takerId;
}

function output(stream) {
  // The bytes of one character may arrive in several writes.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return (data, encoding, done) => {
    const bytes = typeof data === "string" && isText(encoding) ? undefined : bytesOf(data, encoding);
    const text = bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode() + data;
    // Each call is a message of its own, as in other kernels of JavaScript.
    if (text !== "") send({ [stream]: text, flushed: true });
    const callback = typeof encoding === "function" ? encoding : done;
    if (callback) process.nextTick(callback);
    return true;
  };
}

function isText(encoding) {
  return typeof encoding !== "string" || /^utf-?8$/i.test(encoding);
}

function bytesOf(data, encoding) {
  return typeof data === "string" ? Buffer.from(data, encoding) : data;
}

function send(event) {
  unbroken(() => write(event));
}

/** Writes an event. If that fails, writes the error instead, so that the run can still end. */
function writeOrFail(event) {
  try {
    write(event);
  } catch (error) {
    write(failure(error));
  }
}

function write(event) {
  const line = encoder.encode(`${stringify(event)}\n`);
  for (let at = 0; at < line.length;) at += writeSync(4, line, at);
}

function result(value) {
  try {
    return value === undefined ? [] : [{ result: bundle(value), main: true }];
  } catch (error) {
    return [failure(error)];
  }
}

function failure(error) {
  const unknown = () => ({ name: "Error", value: shown(error), traceback: `Uncaught ${shown(error)}` });
  return { error: answerOf(() => described(error)) ?? unknown() };
}

/** Describes an error; undefined if the thrown value is not an error. */
function described(error) {
  if (error === null || typeof error !== "object") return undefined;
  const { name, message, stack } = error;
  if (typeof message !== "string") return undefined;
  const traceback = typeof stack === "string" ? ownTrace(stack) : `Uncaught ${inspect(error)}`;
  return { name: String(name), value: message, traceback: traceback + reasonsOf(error, new Set([error])) };
}

/** Largest number of causes of an error that are shown. */
const MOST_REASONS = 20;

/**
 * Returns the causes of an error, which its stack lacks: only the cause of `fetch failed` says why.
 *
 * @param seen errors that were already shown
 */
function reasonsOf({ cause, errors }, seen) {
  const reasons = [
    ...(cause === undefined ? [] : [["cause", cause]]),
    ...(Array.isArray(errors) ? errors.slice(0, MOST_REASONS).map((one, i) => [`errors ${i}`, one]) : []),
  ];
  return reasons.map(([role, one]) => {
    if (seen.has(one) || seen.size > MOST_REASONS) return "";
    seen.add(one);
    const isError = typeof one === "object" && one !== null && typeof one.stack === "string";
    return `\n[${role}]: ${isError ? ownTrace(one.stack) + reasonsOf(one, seen) : inspect(one)}`;
  }).join("");
}

function shown(error) {
  return answerOf(() => inspect(error)) ?? "<a value that cannot be shown>";
}

/** Returns undefined if `ask` throws: a thrown value can throw again when its properties are read. */
function answerOf(ask) {
  try {
    return ask();
  } catch {
    return undefined;
  }
}

/** Removes the frames below the code from a stack. */
function ownTrace(stack) {
  const lines = stack.split("\n");
  const own = lines.findIndex((line) => line.includes("(node:inspector:"));
  return (own < 0 ? lines : lines.slice(0, own)).join("\n");
}

function bundle(value) {
  const forms = { "text/plain": inspect(value) };
  const show = value?.[DISPLAY];
  if (typeof show !== "function") return forms;
  try {
    for (const [mime, form] of Object.entries(show.call(value))) forms[mime] = plain(encoded(form));
  } catch (error) {
    send({ stderr: `Cannot display a value: ${inspect(error)}\n` });
  }
  return forms;
}

/** Copies a form as JSON. @throws if that is not possible: it may contain a BigInt, or itself */
function plain(form) {
  const text = stringify(form);
  return text === undefined ? undefined : parseJson(text);
}

function encoded(form) {
  return ArrayBuffer.isView(form) ? btoa(Array.from(form, (byte) => String.fromCharCode(byte)).join("")) : form;
}

function serveWorker() {
  const session = new Session();
  session.connectToMainThread();
  // Not a file stream: its reads block, so this thread could not end.
  const lines = createInterface({ input: new Socket({ fd: 3, readable: true, writable: false }) });
  lines.on("close", () => process.exit(0));
  let id = 0;
  // An interrupt must not hit a request that arrives after it.
  let settled = Promise.resolve();
  lines.on("line", async (line) => {
    const request = JSON.parse(line);
    const number = request.interrupt ? id : ++id;
    if (request.interrupt) settled = settled.then(() => interrupt(session, number));
    await settled;
    if (!request.interrupt) parentPort.postMessage({ ...request, id: number });
  });
}

/**
 * Interrupts a run: prevents it from starting, ends it if it only waits, or interrupts the running code. Repeats this
 * until the run has ended, because an interrupt between two turns of the event loop has no effect on the code.
 */
async function interrupt(session, id) {
  shared[BROKEN] = id;
  while (!await isEnded(id)) {
    await lock();
    if (shared[ENDED] < id) {
      const hit = new Promise((resolve) => session.post("Runtime.terminateExecution", () => resolve()));
      // If no code runs, the interrupt hits the next code, which must be the handler of this message.
      parentPort.postMessage({ interrupted: id });
      await hit;
    }
    unlock();
  }
}

/** Asks the main thread to end a run. Returns false if the main thread is busy with code. */
async function isEnded(id) {
  parentPort.postMessage({ interrupted: id });
  await Atomics.waitAsync(shared, ENDED, id - 1, BUSY_MS).value;
  return shared[ENDED] >= id;
}

async function lock() {
  Atomics.store(shared, WANTED, 1);
  while (Atomics.compareExchange(shared, LOCK, FREE, WORKER) !== FREE) {
    await Atomics.waitAsync(shared, LOCK, MAIN).value;
  }
}

function unlock() {
  Atomics.store(shared, LOCK, FREE);
  Atomics.store(shared, WANTED, 0);
  Atomics.notify(shared, WANTED);
}

/**
 * Replaces `import x from "y"`, `import("y")` and `import.meta` by calls of our functions, because a script cannot
 * contain imports.
 */
function withImports(code) {
  let imports;
  try {
    [imports] = parse(code);
  } catch {
    // V8 will report the error.
    return code;
  }
  let changed = code;
  for (const { ss, se, s, e, d, a } of [...imports].reverse()) {
    const put = (text, from, to) => changed = changed.slice(0, from) + text + changed.slice(to);
    if (d >= 0) put(IMPORT, ss, ss + "import".length);
    else if (d === -2) put(META, ss, se);
    else put(awaited(code.slice(ss, s - 1), code.slice(s, e), a < 0 ? "" : code.slice(a, se)), ss, se);
  }
  return changed;
}

const NAME = String.raw`[\p{ID_Continue}$\u200c\u200d]+`;
const COMMENTS = /\/\*[\s\S]*?\*\/|\/\/.*/g;

/** `import a, { b as c } from` becomes `const { default: a, b: c } = await …`. @param attributes `{ type: "json" }`, or "" */
function awaited(clause, specifier, attributes) {
  const options = attributes ? `, { with: ${attributes} }` : "";
  const source = `await ${IMPORT}(${stringify(specifier)}${options})`;
  const names = /^import\s*([\s\S]*?)\s*(?:\bfrom\s*)?$/.exec(clause.replaceAll(COMMENTS, " "))?.[1] ?? "";
  if (!names) return source;
  const [, space] = new RegExp(String.raw`\*\s*as\s+(${NAME})`, "u").exec(names) ?? [];
  const [, first] = new RegExp(`^(${NAME})`, "u").exec(names) ?? [];
  const [, braced] = /\{([\s\S]*)\}/.exec(names) ?? [];
  const parts = first ? [`default: ${first}`] : [];
  const one = new RegExp(String.raw`^\s*(${NAME}|"[^"]*"|'[^']*')(\s+as\s+(${NAME}))?\s*$`, "u");
  for (const part of braced?.split(",") ?? []) {
    const [, name, , as] = one.exec(part) ?? [];
    if (name) parts.push(as ? `${name}: ${as}` : name);
  }
  const object = parts.length > 0 ? `{ ${parts.join(", ")} }` : "";
  if (!space) return `const ${object} = ${source}`;
  return `const ${space} = ${source}${object ? `; const ${object} = ${space}` : ""}`;
}

/** Converts a value of the inspector to an argument for the inspector. */
function argumentOf({ objectId, unserializableValue, value }) {
  if (objectId) return { objectId };
  return unserializableValue ? { unserializableValue } : { value };
}
