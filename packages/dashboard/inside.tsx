/** Shows the inside of a sandbox, through the router with the SDK: its files, and a terminal. @module */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Entry } from "../sdk/files/entry.ts";
import type { SandboxHandle } from "../sdk/sandbox.ts";
import { openTerminal } from "./terminal.ts";

/** The sandbox, and the token to open it with. */
export interface InsideProps {
  token: string;
  namespace: string;
  /** Name of the Sandbox, not of its claim. */
  sandbox: string;
}

/** Opens the sandbox. This wakes a suspended sandbox, so it happens only at the user's request. */
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

/** A terminal with a shell. */
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
