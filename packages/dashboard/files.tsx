/** Browses the files of a sandbox: renames, deletes, uploads and downloads them. @module */
/// <reference lib="dom" />
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { RUNTIME_PORT } from "../api/router/protocol.ts";
import { endpointPath, type Entry, joinPath } from "../sdk/files/entry.ts";
import type { SandboxHandle } from "../sdk/sandbox.ts";
import { getFrom, type InsideProps, open } from "./inside.tsx";
import { bytesText } from "./overview.tsx";
import { Dialog, saveAs, Trouble, visible } from "./parts.tsx";
import { beforeLeaving } from "./unsaved.ts";
import { Viewer } from "./viewer.tsx";

/** A file manager, one folder at a time. */
export function Files(props: InsideProps) {
  const [handle, setHandle] = useState<SandboxHandle>();
  const [folder, setFolder] = useState("");
  const [entries, setEntries] = useState<Entry[]>();
  const [viewed, setViewed] = useState<Entry>();
  const [asking, setAsking] = useState<ComponentChildren>();
  const [trouble, setTrouble] = useState<string>();
  const [doing, setDoing] = useState<string>();
  const [isOver, setOver] = useState(false);
  const attempt = (what: string, work: () => Promise<void>) => {
    setAsking(undefined);
    setDoing(what);
    return work().then(() => setTrouble(undefined), (error) => setTrouble(error.message)).finally(() =>
      setDoing(undefined)
    );
  };
  const list = async (sandbox: SandboxHandle, path: string) => {
    setEntries(await sandbox.files.list(path || "."));
    setFolder(path);
    setViewed(undefined);
  };
  useEffect(() => {
    void attempt("Opening…", async () => {
      const sandbox = await open(props);
      setHandle(sandbox);
      // Absolute, unless the runtime confines files to its root.
      const { path } = await sandbox.files.stat(".");
      await list(sandbox, path === "." ? "" : path);
    });
  }, [props.token, props.namespace, props.sandbox]);
  if (handle === undefined || entries === undefined) {
    return (
      <>
        <Trouble text={trouble} />
        {doing && <p role="status">{doing}</p>}
      </>
    );
  }
  const { files } = handle;
  const show = (path: string) => beforeLeaving(() => void attempt("Opening…", () => list(handle, path)));
  const change = (what: string, work: () => Promise<unknown>) =>
    attempt(what, async () => {
      await work();
      await list(handle, folder);
    });
  const download = (entry: Entry) =>
    attempt(`Downloading ${visible(entry.name)}…`, async () => {
      if (entry.type === "directory") return await downloadFolder(props, entry);
      saveAs(entry.name, await files.read(entry.path, { format: "blob" }));
    });
  const openEntry = (entry: Entry) => {
    if (entry.type === "directory") return show(entry.path);
    if (entry.type === "file") return setViewed(entry);
    void attempt("Opening…", async () => {
      const target = await targetOf(handle, entry);
      if (target.type === "directory") await list(handle, target.path);
      else setViewed(target);
    });
  };
  const write = (uploads: readonly Upload[]) =>
    change(
      `Uploading ${uploads.length === 1 ? visible(uploads[0]?.path ?? "") : `${uploads.length} files`}…`,
      () => files.write(uploads.map(({ path, file }) => ({ path: joinPath(folder, path), data: file }))),
    );
  const upload = (uploads: readonly Upload[]) => {
    const taken = uploads.filter(({ path }) => entries.some(({ name }) => name === path.split("/")[0]));
    if (uploads.length === 0) return;
    if (taken.length === 0) return void write(uploads);
    const names = [...new Set(taken.map(({ path }) => visible(path.split("/")[0] ?? "")))].join(", ");
    const text = `The sandbox has ${names} already. Files with the same path are replaced.`;
    setAsking(<Ask title="Replace files?" text={text} action="Replace" onYes={() => write(uploads)} onNo={close} />);
  };
  const close = () => setAsking(undefined);
  const askDelete = ({ name, path, type }: Entry) => {
    const isFolder = type === "directory";
    const text = isFolder ? "The folder and everything in it are lost." : "It cannot be restored.";
    const remove = () => change(`Deleting ${visible(name)}…`, () => files.remove(path, { recursive: isFolder }));
    setAsking(<Ask title={`Delete ${visible(name)}?`} text={text} action="Delete" onYes={remove} onNo={close} />);
  };
  const askName = (title: string, name: string, onName: (name: string) => void) =>
    setAsking(<AskName title={title} name={name} onName={onName} onNo={close} />);
  const rename = (entry: Entry) =>
    askName(
      `Rename ${visible(entry.name)}`,
      entry.name,
      (name) => change("Renaming…", () => files.rename(entry.path, joinPath(folder, name))),
    );
  const makeFolder = () =>
    askName("New folder", "", (name) => change("Creating…", () => files.makeDir(joinPath(folder, name))));
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    // Must be read before the event ends.
    const dropped = [...event.dataTransfer?.items ?? []].flatMap((item) => item.webkitGetAsEntry() ?? []);
    const read = async () => upload((await Promise.all(dropped.map((one) => filesBelow(one)))).flat());
    // The folder is shown again after an upload.
    beforeLeaving(() => void attempt("Reading…", read));
  };
  return (
    <div
      class={isOver ? "drop over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Trouble text={trouble} isForeign />
      {asking}
      <Path folder={folder} onOpen={show} />
      {viewed
        ? (
          <Viewer
            key={viewed.path}
            handle={handle}
            entry={viewed}
            onDownload={() => download(viewed)}
            onClose={() => show(folder)}
          />
        )
        : (
          <>
            <table class="files">
              <tbody>
                {entries.map((entry) => (
                  <tr key={entry.name}>
                    <td>
                      <button type="button" class={`name ${entry.type}`} onClick={() => openEntry(entry)}>
                        {visible(entry.name)}
                        {entry.type === "directory" && "/"}
                      </button>
                      {entry.type === "symlink" && (
                        <span class="faint">→ {visible(entry.target ?? "outside of the sandbox's root")}</span>
                      )}
                    </td>
                    <td class="size">{entry.type === "file" && bytesText(entry.size)}</td>
                    <td>
                      <FileActions
                        entry={entry}
                        onDownload={() => download(entry)}
                        onRename={() => rename(entry)}
                        onDelete={() => askDelete(entry)}
                      />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            <p class="faint">
              {entries.length === 0
                ? "This folder is empty. Drop files here to upload them."
                : "Drop files here to upload them."}
            </p>
            <div class="actions">
              <label class="upload">
                Upload
                <input
                  type="file"
                  multiple
                  onChange={({ currentTarget }) => {
                    upload([...currentTarget.files ?? []].map((file) => ({ path: file.name, file })));
                    currentTarget.value = "";
                  }}
                />
              </label>
              <button type="button" onClick={makeFolder}>New folder</button>
              <button type="button" onClick={() => show(folder)}>Refresh</button>
            </div>
          </>
        )}
      {/* Below: what is above must not move under a pointer. */}
      {doing && <p role="status">{doing}</p>}
    </div>
  );
}

/** The parents of a folder, each as a button. A relative path is below the root of a runtime that confines files. */
function Path({ folder, onOpen }: { folder: string; onOpen(path: string): void }) {
  const names = folder.split("/").filter((name) => name !== "");
  const top = folder.startsWith("/") ? "/" : "";
  return (
    <nav class="path" aria-label="Folder">
      <button type="button" onClick={() => onOpen(top)}>/</button>
      {names.map((name, index) => (
        <button
          key={index}
          type="button"
          onClick={() => onOpen(top + names.slice(0, index + 1).join("/"))}
        >
          {visible(name)}/
        </button>
      ))}
    </nav>
  );
}

interface FileActionsProps {
  entry: Entry;
  onDownload(): void;
  onRename(): void;
  onDelete(): void;
}

function FileActions({ entry, onDownload, onRename, onDelete }: FileActionsProps) {
  const { type } = entry;
  const name = visible(entry.name);
  return (
    <span class="row">
      {(type === "file" || type === "directory") && (
        <button type="button" aria-label={`Download ${name}`} onClick={onDownload}>Download</button>
      )}
      <button type="button" aria-label={`Rename ${name}`} onClick={onRename}>Rename</button>
      <button type="button" class="danger" aria-label={`Delete ${name}`} onClick={onDelete}>Delete</button>
    </span>
  );
}

interface AskProps {
  title: string;
  text: string;
  action: string;
  onYes(): void;
  onNo(): void;
}

function Ask({ title, text, action, onYes, onNo }: AskProps) {
  return (
    <Dialog title={title} onClose={onNo}>
      <p>{text}</p>
      <div class="actions">
        <button type="button" autofocus onClick={onNo}>Cancel</button>
        <button type="button" class="danger" onClick={onYes}>{action}</button>
      </div>
    </Dialog>
  );
}

function AskName(
  { title, name, onName, onNo }: { title: string; name: string; onName(name: string): void; onNo(): void },
) {
  const [typed, setTyped] = useState(name);
  const problem = typed.includes("/")
    ? 'A name must not contain "/". To create a folder in another folder, open that one first.'
    : typed === "." || typed === ".."
    ? `"${typed}" stands for a folder that exists. Choose another name.`
    : undefined;
  return (
    <Dialog title={title} onClose={onNo}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed !== "" && typed !== name && problem === undefined) onName(typed);
        }}
      >
        <label>
          Name
          <input autofocus required value={typed} onInput={({ currentTarget }) => setTyped(currentTarget.value)} />
        </label>
        <Trouble text={problem} />
        <div class="actions">
          <button type="button" onClick={onNo}>Cancel</button>
          <button type="submit" disabled={typed === "" || typed === name || problem !== undefined}>OK</button>
        </div>
      </form>
    </Dialog>
  );
}

/** Returns what a symlink leads to. @throws {Error} if that is outside of a confined root, or does not exist */
async function targetOf({ files }: SandboxHandle, { name, type, target }: Entry): Promise<Entry> {
  if (type !== "symlink") throw new Error(`Cannot open ${visible(name)}: it is a socket, a pipe or a device.`);
  if (target === undefined) {
    throw new Error(`Cannot open ${visible(name)}: the link cannot be followed, or leads out of the sandbox's root.`);
  }
  return await files.stat(target);
}

async function downloadFolder(props: InsideProps, { name, path }: Entry): Promise<void> {
  const response = await getFrom(
    props,
    RUNTIME_PORT,
    endpointPath("archive", path, { gzip: "true" }),
    new AbortController().signal,
  );
  if (response.status !== 200) throw new Error(`Cannot download ${visible(name)}: ${await response.text()}`);
  // If the archive breaks off, this throws, so that nobody takes a part for the whole.
  saveAs(`${name}.tar.gz`, await response.blob());
}

/** A file to write, with its path below the open folder. */
interface Upload {
  path: string;
  file: File;
}

/** Lists a dropped file, or all files of a dropped folder. */
async function filesBelow(entry: FileSystemEntry, prefix = ""): Promise<Upload[]> {
  const path = `${prefix}${entry.name}`;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [{ path, file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: Upload[] = [];
  for (;;) {
    // Browsers return at most 100 entries at a time.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return found;
    for (const one of some) found.push(...await filesBelow(one, `${path}/`));
  }
}
