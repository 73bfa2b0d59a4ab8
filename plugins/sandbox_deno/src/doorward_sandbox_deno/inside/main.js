// Runs the programs of one sandbox: a single one, or those of a session one after the other.

import { SourceMap, stripTypeScriptTypes } from "node:module";
import process from "node:process";
import { setImmediate } from "node:timers";
import { module } from "./catalog.js";
import { allAnswered, ask, framed, limits, listen, send, sendFrame } from "./channel.js";
import { evaluate, Thrown } from "./evaluate.js";
import { failure, lines } from "./frames.js";
import { redirect } from "./output.js";
import { create, defineProperty, exec, includes, Later, parse, replace, split, text } from "./own.js";
import { begin, install, untold } from "./repeats.js";
import { outgoing } from "./values.js";

const PURE = [
  "assert", "async_hooks", "buffer", "crypto", "events", "path", "perf_hooks", "punycode", "querystring", "stream",
  "string_decoder", "timers", "url", "util", "zlib",
];
const NODE = /^node:([a-z_]+)(?:\/[a-z_/]+)?$/;
const MAP = "\n//# sourceMappingURL=data:application/json;base64,";
const PLACE = /at file:\/\/\/stripTypeScriptTypes\.ts:(\d+):\d+/;
const SYNTAX_ERROR = /^SyntaxError: /;
const TRIVIAL_PROGRAM = { code: "1 as number", types: true, before: "1", imports: [], servers: {}, params: {}, sets_result: true };
const BROKEN = framed({ done: { error: { type: "Error", message: "the program broke the runner", line: null } } });

let unhandled = [];
let count = 0;

const maps = create(null);
lines.of = (name, line, column) => maps[name]?.findEntry(line - 1, column - 1).originalLine + 1 || line;

class ModuleNotFoundError extends Error {}
class Exit extends Error {
  constructor(code = 0) {
    super(`the program ended itself with code ${code}`);
    this.code = code;
  }
}
for (const kind of [ModuleNotFoundError, Exit]) {
  defineProperty(kind.prototype, "name", { value: kind.name });
}

/** What a program has of the runner, by the one name that its edited text uses. */
const ours = create(null);
defineProperty(ours, "import", { value: imported });
defineProperty(globalThis, "__doorward__", { value: ours });

/** `import(…)` of a program. */
async function imported(given) {
  const name = text(given);
  const node = exec(NODE, name);
  if (node && includes(PURE, node[1])) return await import(name);
  if (!node) {
    for (const server of [ours.servers[name] ?? name, replace(name, /\W/g, "_")]) {
      const members = await ask({ members: server }, (answer) => answer.value);
      if (members) return module(server, members);
    }
  }
  throw new ModuleNotFoundError(`Cannot find module '${name}'`);
}

/** The values of a program's imports, in their order. */
async function bind(imports) {
  const values = [];
  for (const one of imports) {
    try {
      if (one.absent) {
        throw new SyntaxError(`The requested module '${one.name}' does not provide an export named '${one.absent}'`);
      }
      const from = one.server ? module(one.server, one.members) : await imported(one.name);
      for (const name of one.names) values[values.length] = name === null ? from : from[name];
    } catch (error) {
      throw new Thrown(error, one.line);
    }
  }
  return values;
}

/** A text without its types, in the same lines; or, where types become code (`enum`), with a map to them. */
function plain(code, name) {
  try {
    return stripTypeScriptTypes(code);
  } catch { // the other way also says where an error is
    return transformed(code, name);
  }
}

function transformed(code, name) {
  try {
    const made = split(stripTypeScriptTypes(code, { mode: "transform", sourceMap: true }), MAP);
    if (made[1]) maps[name] = new SourceMap(parse(atob(made[1])));
    return made[0];
  } catch (error) {
    const place = exec(PLACE, error.message);
    const said = split(replace(error.message, SYNTAX_ERROR, ""), "\n")[0];
    throw new Thrown(new SyntaxError(said), place ? Number(place[1]) : null);
  }
}

async function execute(program, name) {
  const code = program.types ? plain(program.code, name) : program.code;
  ours.servers = program.servers;
  ours.bound = await bind(program.imports);
  ours.params = program.params;
  if (program.before) await evaluate(program.before, "before.js");
  let value;
  try {
    value = await (await evaluate(code, name)).value;
  } catch (thrown) {
    if (!(thrown instanceof Thrown && thrown.error instanceof Exit && thrown.error.code === 0)) throw thrown;
  }
  if (program.sets_result) value = await result() ?? value;
  await allAnswered();
  await new Later((resolve) => setImmediate(resolve)); // the engine tells late of what nobody handles
  if (unhandled.length) throw unhandled[0];
  return value ?? null;
}

async function result() {
  return await (await evaluate("typeof result === 'undefined' ? undefined : result", "after.js")).value;
}

async function run(program) {
  send({ __proto__: null, began: true });
  count++;
  const name = `program${count === 1 ? "" : `-${count}`}.${program.types ? "ts" : "js"}`;
  limits.most = program.most;
  unhandled = [];
  begin(program.times, count === 1 ? program.seed : undefined);
  let frame;
  try {
    frame = ended({ __proto__: null, value: await execute(program, name) });
  } catch (thrown) {
    frame = ended({ __proto__: null, error: thrown instanceof Thrown ? failure(thrown.error, thrown.line) : failure(thrown, null) });
  }
  sendFrame(frame.length > limits.most ? framed({ done: { bytes: frame.length } }) : frame);
}

function ended(done) {
  return framed({ __proto__: null, seen: untold(), done }, undefined, outgoing.value);
}

for (const type of ["unhandledrejection", "error"]) {
  addEventListener(type, (event) => {
    event.preventDefault();
    unhandled[unhandled.length] = event.reason ?? event.error;
  });
}
for (const place of [Deno, process]) { // the engine's own evaluator cannot be left so
  defineProperty(place, "exit", {
    value: (code) => {
      throw new Exit(code);
    },
  });
}
for (const name of ["then", "constructor"]) { // what `await` looks for
  defineProperty(Promise.prototype, name, { writable: false, configurable: false });
}
redirect();
install();
await execute(TRIVIAL_PROGRAM, "warm.ts"); // compiles and copies ahead what the first run needs
send({ ready: Deno.pid });
await listen((message) => void run(message.run).catch(() => sendFrame(BROKEN)));
