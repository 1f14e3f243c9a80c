/** Shows the inside of a sandbox: its files and a terminal, through the SDK, and the log of its container. @module */
/// <reference lib="dom" />
import { useEffect, useRef, useState } from "preact/hooks";
import type { Entry } from "../sdk/files/entry.ts";
import type { SandboxHandle } from "../sdk/sandbox.ts";
import { logOf, type Session } from "./session.ts";

/** The sandbox, and the token to open it with. */
export interface InsideProps {
  token: string;
  namespace: string;
  /** Name of the Sandbox, not of its claim. */
  sandbox: string;
}

/** Characters of the log that are kept: with more, browsers become slow. */
const MAX_LOG_CHARACTERS = 200_000;

/** Opens the sandbox. This resumes a suspended sandbox, so it happens only at the user's request. */
export async function open({ token, namespace, sandbox }: InsideProps): Promise<SandboxHandle> {
  const { SandboxClient } = await import("../sdk/client.ts");
  // No cookies are sent or stored: a sandbox's cookies must not stay in this origin.
  const client = new SandboxClient({ routerUrl: location.origin, token, namespace, credentials: "omit" });
  return await client.connect(sandbox);
}

/** Browses folders and files, one folder at a time. */
export function Files(props: InsideProps) {
  const [handle, setHandle] = useState<SandboxHandle>();
  const [folder, setFolder] = useState("");
  const [entries, setEntries] = useState<Entry[]>();
  const [trouble, setTrouble] = useState<string>();
  const [doing, setDoing] = useState<string>();
  const attempt = (what: string, work: () => Promise<void>) => {
    setDoing(what);
    return work().then(() => setTrouble(undefined), (error) => setTrouble(error.message)).finally(() =>
      setDoing(undefined)
    );
  };
  const list = async (sandbox: SandboxHandle, path: string) => {
    setEntries(await sandbox.files.list(path || "."));
    setFolder(path);
  };
  const show = (sandbox: SandboxHandle, path: string) => attempt("Opening…", () => list(sandbox, path));
  useEffect(() => {
    void attempt("Opening…", async () => {
      const sandbox = await open(props);
      setHandle(sandbox);
      await list(sandbox, "");
    });
  }, [props.token, props.namespace, props.sandbox]);
  const download = (entry: Entry) =>
    attempt(`Downloading ${entry.name}…`, async () => {
      const url = URL.createObjectURL(await handle!.files.read(entry.path, { format: "blob" }));
      Object.assign(document.createElement("a"), { href: url, download: entry.name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    });
  const upload = (files: FileList | null) =>
    attempt("Uploading…", async () => {
      for (const file of files ?? []) {
        await handle!.files.write(folder === "" ? file.name : `${folder}/${file.name}`, file);
      }
      await list(handle!, folder);
    });
  return (
    <>
      {trouble && <p role="alert">{trouble}</p>}
      {handle && entries && (
        <>
          <p class="chain">/{folder}</p>
          <ul class="files">
            {folder !== "" && (
              <li>
                <button type="button" onClick={() => show(handle, folder.replace(/\/?[^/]*$/, ""))}>..</button>
              </li>
            )}
            {entries.map((entry) => (
              <li key={entry.name}>
                <button
                  type="button"
                  onClick={() =>
                    entry.type === "directory"
                      ? show(handle, folder === "" ? entry.name : `${folder}/${entry.name}`)
                      : download(entry)}
                >
                  {entry.name}
                  {entry.type === "directory" && "/"}
                </button>
                {entry.type === "file" && <span>{entry.size.toLocaleString("en")} B</span>}
              </li>
            ))}
          </ul>
          <label>
            Upload <input type="file" multiple onChange={({ currentTarget }) => upload(currentTarget.files)} />
          </label>
        </>
      )}
      {/* Below: what is above must not move under a pointer. */}
      {doing && <p role="status">{doing}</p>}
    </>
  );
}

/** Runs a shell in the sandbox. */
export function Terminal(props: InsideProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [status, setStatus] = useState("Connecting…");
  useEffect(() => {
    const ending = new AbortController();
    openTerminal(frame.current!, () => open(props), setStatus, ending.signal).catch((error) =>
      ending.signal.aborted || setStatus(error.message)
    );
    return () => ending.abort();
  }, [props.token, props.namespace, props.sandbox]);
  return (
    <>
      {status && <p role="status">{status}</p>}
      <div ref={frame} class="terminal" />
    </>
  );
}

/** Shows the end of the log of a Pod's container, and follows it. */
export function Log(
  { session: { base, token }, namespace, pod }: { session: Session; namespace: string; pod: string },
) {
  const [text, setText] = useState("");
  const [end, setEnd] = useState("");
  const frame = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const ending = new AbortController();
    const read = async () => {
      for await (const part of logOf(base, token, { namespace, pod }, ending.signal)) {
        setText((before) => (before + part).slice(-MAX_LOG_CHARACTERS));
      }
      setEnd("The container has ended.");
    };
    read().catch((error) => ending.signal.aborted || setEnd(String(error.message ?? error)));
    return () => ending.abort();
  }, [base, token, namespace, pod]);
  useEffect(() => {
    const element = frame.current!;
    element.scrollTop = element.scrollHeight;
  }, [text]);
  return (
    <>
      <pre ref={frame} class="log" tabIndex={0}>{text}</pre>
      {end && <p role="status">{end}</p>}
    </>
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
 * Opens a shell and shows it until it ends or `signal` fires.
 *
 * @param onStatus called with the status for the user; "" while the shell runs
 * @throws {SandboxError} if the shell cannot be opened
 */
async function openTerminal(
  frame: HTMLElement,
  open: () => Promise<SandboxHandle>,
  onStatus: (status: string) => void,
  signal: AbortSignal,
): Promise<void> {
  // Loaded on demand, as it is larger than the rest of the page.
  const [{ Terminal }, { FitAddon }] = await Promise.all([import("@xterm/xterm"), import("@xterm/addon-fit")]);
  const sandbox = await open();
  if (signal.aborted) return;
  const screen = new Terminal({ fontSize: 13, cursorBlink: true, theme: { background: "#14171c" } });
  const fit = new FitAddon();
  screen.loadAddon(fit);
  screen.open(frame);
  fit.fit();
  const { cols, rows } = screen;
  const shell = await sandbox.pty.create({ cols, rows, onData: (bytes) => screen.write(bytes) });
  const onError = (error: Error) => onStatus(error.message);
  screen.onData(createOrderedSender((text) => shell.write(text), onError));
  screen.onResize((size) => void shell.resize(size).catch(onError));
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(frame);
  signal.addEventListener("abort", () => {
    observer.disconnect();
    screen.dispose();
    void shell.kill().catch(() => {});
  });
  onStatus("");
  screen.focus();
  const { exitCode } = await shell.wait();
  onStatus(`Ended with exit code ${exitCode}.`);
}
