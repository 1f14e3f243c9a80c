/** Opens the inside of a sandbox through the router: the SDK's handle, plain requests, and terminals. @module */
/// <reference lib="dom" />
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JobInfo } from "../sdk/commands/commands.ts";
import type { SandboxHandle } from "../sdk/sandbox.ts";
import type { Terminal } from "../sdk/pty.ts";
import { Trouble } from "./parts.tsx";
import { routerFetch } from "./session.ts";

/** The sandbox, and the token to open it with. */
export interface InsideProps {
  token: string;
  namespace: string;
  /** Name of the Sandbox, not of its claim. */
  sandbox: string;
}

/** Opens the sandbox. This resumes a suspended sandbox, so it happens only at the user's request. */
export async function open({ token, namespace, sandbox }: InsideProps): Promise<SandboxHandle> {
  const { SandboxClient } = await import("../sdk/client.ts");
  // No cookies are sent or stored: a sandbox's cookies must not stay in this origin.
  const access = { routerUrl: location.origin, token, credentials: "omit", fetch: routerFetch } as const;
  const client = new SandboxClient({ ...access, namespace });
  return await client.connect(sandbox);
}

/** Sends a GET to a port of the sandbox. @param path with the query; begins with a slash */
export async function getFrom(
  { token, namespace, sandbox }: InsideProps,
  port: number | string,
  path: string,
  signal: AbortSignal,
): Promise<Response> {
  const headers = {
    "Authorization": `Bearer ${token}`,
    "X-Sandbox-ID": sandbox,
    "X-Sandbox-Namespace": namespace,
    "X-Sandbox-Port": String(port),
  };
  // No cookies, as above.
  return await routerFetch(location.origin + path, {
    headers,
    signal,
    cache: "no-store",
    credentials: "omit",
    redirect: "manual",
  });
}

/** A terminal that is open on the page. */
interface Tab {
  /** Differs from that of all other tabs. */
  key: number;
  /** The program to connect to; undefined: a new shell. */
  program: Program | undefined;
}

/** A program with a terminal. If the sandbox restarts, another one may get its process id, but not its request id. */
type Program = Pick<Terminal, "processId" | "requestId">;

/** A program with a terminal that runs in the sandbox. */
interface RunningTerminal extends Program {
  startedAt: Date;
}

let lastKey = 0;

/** Terminals in the sandbox, one at a time. Offers to reconnect to shells that were left running. */
export function Terminals(props: InsideProps) {
  const [handle, setHandle] = useState<SandboxHandle>();
  const [tabs, setTabs] = useState<Tab[]>([]);
  const [active, setActive] = useState<number>();
  const [left, setLeft] = useState<RunningTerminal[]>([]);
  const [jobs, setJobs] = useState<JobInfo[]>([]);
  const [isFull, setFull] = useState(false);
  /** Changes when the user is to type in the terminal. */
  const [focusing, setFocusing] = useState(0);
  const [trouble, setTrouble] = useState<string>();
  const add = (program?: RunningTerminal) => {
    const key = ++lastKey;
    setTabs((before) => [...before, { key, program }]);
    setLeft((before) => before.filter((one) => one !== program));
    setActive(key);
  };
  useEffect(() => {
    let isOver = false;
    const start = async () => {
      const opened = await open(props);
      // Without the runtime, there is no list, and a shell cannot be opened again.
      const running = await opened.commands.list().catch(() => []);
      const working = await opened.commands.listJobs().catch(() => []);
      if (isOver) return;
      setHandle(opened);
      setJobs(working);
      const shells = running.filter(({ terminal, exitCode }) => terminal && exitCode === undefined);
      setLeft(shells);
      if (shells.length === 0) add();
    };
    start().catch((error) => isOver || setTrouble(error.message));
    return () => void (isOver = true);
  }, [props.token, props.namespace, props.sandbox]);
  const choose = (key: number) => {
    setActive(key);
    setFocusing(focusing + 1);
  };
  const toggleFull = () => {
    setFull(!isFull);
    setFocusing(focusing + 1);
  };
  const close = (key: number) => {
    const others = tabs.filter((one) => one.key !== key);
    setTabs(others);
    if (active === key) setActive(others.at(-1)?.key);
    if (others.length === 0) setFull(false);
  };
  return (
    <div class={isFull ? "terminals full" : "terminals"}>
      <div class="actions" role="tablist" aria-label="Terminals">
        {isFull && <b>{props.sandbox}</b>}
        {tabs.map(({ key }, index) => (
          <span key={key} class="tab">
            <button type="button" role="tab" aria-selected={key === active} onClick={() => choose(key)}>
              Shell {index + 1}
            </button>
          </span>
        ))}
        {handle && <button type="button" onClick={() => add()}>New terminal</button>}
        {tabs.length > 0 && (
          <button type="button" aria-pressed={isFull} onClick={toggleFull}>
            {isFull ? "Leave full size" : "Full size"}
          </button>
        )}
      </div>
      {left.map((program) => (
        <p key={program.processId} class="actions">
          A shell runs since {program.startedAt.toLocaleTimeString()}, process {program.processId}.
          <button type="button" onClick={() => add(program)}>Reconnect</button>
        </p>
      ))}
      {jobs.length > 0 && (
        <details>
          <summary>{jobs.length === 1 ? "1 background job" : `${jobs.length} background jobs`}</summary>
          {jobs.map(({ processId, command, startedAt, cpuSeconds }) => (
            <p key={processId} class="faint">
              <code>{command.join(" ")}</code>: process {processId}, since {startedAt.toLocaleTimeString()},{" "}
              {cpuSeconds.toFixed(1)} s of CPU time
            </p>
          ))}
        </details>
      )}
      <Trouble text={trouble} />
      {!handle && !trouble && <p role="status">Connecting…</p>}
      {handle &&
        tabs.map(({ key, program }) => (
          <Shell
            key={key}
            handle={handle}
            program={program}
            isShown={key === active}
            focusing={focusing}
            onClose={() => close(key)}
          />
        ))}
      {tabs.length > 0 && !isFull && (
        <p class="faint">
          If you leave this page, shells run on, and you can reconnect to them. While one runs, the sandbox is not
          suspended as idle. "End" ends it.
        </p>
      )}
    </div>
  );
}

interface ShellProps {
  handle: SandboxHandle;
  /** The program to connect to; undefined: a new shell is started. */
  program: Program | undefined;
  isShown: boolean;
  /** The terminal gets the focus when this changes. */
  focusing: number;
  /** The shell has ended, and its terminal can go. */
  onClose(): void;
}

/** One terminal. If it is removed, its shell runs on. */
function Shell({ handle, program, isShown, focusing, onClose }: ShellProps) {
  const frame = useRef<HTMLDivElement>(null);
  const shell = useRef<Terminal | undefined>(undefined);
  const [status, setStatus] = useState("Connecting…");
  const [attempt, setAttempt] = useState(0);
  const known = useRef(program);
  const screen = useRef<{ focus(): void } | undefined>(undefined);
  const isOver = status !== "" && status !== "Connecting…";
  useEffect(() => {
    const ending = new AbortController();
    setStatus("Connecting…");
    const run = async () => {
      const opened = await openTerminal(frame.current!, handle, known.current, setStatus, ending.signal);
      if (opened === undefined) return;
      screen.current = opened.screen;
      shell.current = opened.shell;
      known.current = opened.shell;
      const { exitCode } = await opened.shell.wait();
      known.current = undefined;
      setStatus(`The shell has ended with exit code ${exitCode}.`);
    };
    run().catch((error) => {
      if (ending.signal.aborted) return;
      if (error.code === "NOT_FOUND") known.current = undefined;
      setStatus(error.message);
    });
    return () => ending.abort();
  }, [handle, attempt]);
  // At once: what the user types until then would be lost.
  useLayoutEffect(() => {
    if (isShown) screen.current?.focus();
  }, [isShown, focusing]);
  const end = async () => {
    try {
      // After a restart of the sandbox, another program may have the process id.
      const isThere = !isOver ||
        (await handle.commands.list()).some(({ requestId }) => requestId === known.current?.requestId);
      if (isThere) await shell.current?.kill();
    } catch (error) {
      setStatus((error as Error).message);
    }
    onClose();
  };
  return (
    <div class="shell" hidden={!isShown} role="tabpanel" aria-label="Terminal">
      <div class="actions">
        {status && <span role="status">{status}</span>}
        {isOver && (
          <button type="button" onClick={() => setAttempt(attempt + 1)}>
            {known.current === undefined ? "Start a new shell" : "Reconnect"}
          </button>
        )}
        {isOver && known.current === undefined
          ? <button type="button" onClick={onClose}>Close</button>
          : <button type="button" onClick={end}>End</button>}
      </div>
      <div ref={frame} class="terminal" />
    </div>
  );
}

/**
 * Sends text in order, one request at a time: parallel requests might overtake each other. Text that arrives during a
 * request is sent together.
 */
function createOrderedSender(
  send: (text: string) => Promise<void>,
  onError: (error: Error) => void,
): (text: string) => void {
  let waiting = "";
  let isSending = false;
  return async (text) => {
    waiting += text;
    if (isSending) return;
    isSending = true;
    try {
      while (waiting !== "") {
        const next = waiting;
        waiting = "";
        await send(next);
      }
    } catch (error) {
      onError(error as Error);
    } finally {
      isSending = false;
    }
  };
}

/**
 * Shows a shell until `signal` fires; the shell then runs on.
 *
 * @param program undefined: a new shell is started
 * @param onStatus called with the status for the user; "" when the shell is open
 * @returns undefined if `signal` has fired
 * @throws {SandboxError} if the shell cannot be opened
 */
async function openTerminal(
  frame: HTMLElement,
  handle: SandboxHandle,
  program: Program | undefined,
  onStatus: (status: string) => void,
  signal: AbortSignal,
): Promise<{ shell: Terminal; screen: { focus(): void } } | undefined> {
  // Loaded on demand, as it is larger than the rest of the page.
  const [{ Terminal }, { FitAddon }] = await Promise.all([import("@xterm/xterm"), import("@xterm/addon-fit")]);
  if (signal.aborted) return undefined;
  const screen = new Terminal({ fontSize: 13, cursorBlink: true, theme: { background: "#14171c" } });
  const fit = new FitAddon();
  screen.loadAddon(fit);
  screen.open(frame);
  fit.fit();
  let pastWrites = 0;
  const onData = (bytes: Uint8Array, isPast = false) => {
    if (isPast) pastWrites++;
    screen.write(bytes, () => void (isPast && pastWrites--));
  };
  signal.addEventListener("abort", () => screen.dispose());
  const { cols, rows } = screen;
  const size = { cols, rows, onData, signal };
  const { processId, requestId } = program ?? {};
  const connecting = processId === undefined
    ? handle.pty.create({ ...size, background: true })
    : handle.pty.connect(processId, { ...size, requestId });
  const onError = (error: Error) => signal.aborted || onStatus(error.message);
  // The prompt may be shown before the answer is here. What the user types until then waits for the shell.
  const send = createOrderedSender(async (text) => (await connecting).write(text), onError);
  // A program may have asked the terminal something in the past, and must not get the answer again. Answers begin so.
  screen.onData((text) => (pastWrites > 0 && text.startsWith("\x1b")) || send(text));
  screen.focus();
  const shell = await connecting;
  screen.onResize((now) => void shell.resize(now).catch(onError));
  // A hidden terminal has no size.
  const observer = new ResizeObserver(() => frame.clientWidth > 0 && fit.fit());
  observer.observe(frame);
  signal.addEventListener("abort", () => observer.disconnect());
  onStatus("");
  // xterm.js draws only what is in view.
  frame.scrollIntoView({ block: "nearest" });
  return { shell, screen };
}
