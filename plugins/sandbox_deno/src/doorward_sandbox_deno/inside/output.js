// What a program prints: `console`, and the streams of Deno and Node, all to the standard error. The standard output is
// the channel, and no program's.

import { Console } from "node:console";
import process from "node:process";
import { print } from "./channel.js";
import { decode, defineProperty } from "./own.js";

const shown = (part) => typeof part === "string" ? part : decode(part);

const stream = {
  write(part, _encoding, done) {
    print(shown(part));
    (typeof _encoding === "function" ? _encoding : done)?.();
    return true;
  },
  writeSync(part) {
    print(shown(part));
    return part.length;
  },
  on: () => stream,
  once: () => stream,
  emit: () => false,
  removeListener: () => stream,
  isTTY: false,
  columns: 120,
};

const denoStream = { __proto__: stream, write: (part) => Promise.resolve(stream.writeSync(part)), isTerminal: () => false };

/** Puts these in the places of the real ones. */
export function redirect() {
  globalThis.console = new Console({ stdout: stream, stderr: stream, colorMode: false, ignoreErrors: false });
  for (const name of ["stdout", "stderr"]) {
    defineProperty(Deno, name, { value: denoStream, configurable: true });
    defineProperty(process, name, { value: stream, configurable: true });
  }
  defineProperty(Deno, "stdin", { value: undefined, configurable: true });
  defineProperty(process, "stdin", { value: undefined, configurable: true });
  // Nobody can type, and a worker would print into the channel.
  for (const name of ["prompt", "alert", "confirm", "Worker"]) delete globalThis[name];
}
