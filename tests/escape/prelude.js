// What attacks in JavaScript share; it runs in the sandbox, before each of them.
const reached = [];
globalThis.result = reached;
/** A module of Node, by an import that whoever reads the program before it runs does not see. */
const node = (name) => (0, eval)(`import("node:${name}")`);
/** What `work` returns, noted as reached; nothing, if it was refused. */
const attempt = async (what, work, ...given) => {
  try {
    const got = await work(...given);
    reached.push(what);
    return got ?? true;
  } catch {
    return undefined;
  }
};
/** Note the canaries of the host in data. */
const leaks = (where, data) => {
  const text = data instanceof Uint8Array ? new TextDecoder().decode(data) : typeof data === "string" ? data : Deno.inspect(data);
  for (const found of new Set(text.match(/canary-[0-9a-f]{16}/g))) reached.push(`${where}: ${found}`);
};
/** Note the canaries in what `read` gives. */
const look = async (where, read, ...given) => {
  try {
    leaks(where, await read(...given));
  } catch { /* refused */ }
};
const soon = (promise, ms = 200) => Promise.race([promise, new Promise((_, fail) => setTimeout(() => fail(new Error("late")), ms))]);
/** A frame as sandbox and host exchange them. */
const frame = (value, raw) => {
  const line = new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));
  const size = line.length + (raw ? raw.length + 1 : 0);
  const bytes = new Uint8Array(4 + size);
  new DataView(bytes.buffer).setUint32(0, size);
  bytes.set(line, 4);
  if (raw) bytes.set([10, ...raw], 4 + line.length);
  return bytes;
};
/** Write past the runner into the channel. */
const send = async (bytes) => {
  const fs = await node("fs");
  for (let at = 0; at < bytes.length;) at += fs.writeSync(1, bytes.subarray(at));
};
