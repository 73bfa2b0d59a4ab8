// Runs the programs of one sandbox: a single one, or those of a session one after the other.

import { SourceMap, stripTypeScriptTypes } from "node:module";
import { setImmediate } from "node:timers";
import { module } from "./catalog.js";
import { allAnswered, ask, framed, limits, listen, send, sendFrame } from "./channel.js";
import { evaluate, Thrown } from "./evaluate.js";
import { failure, lines } from "./frames.js";
import { redirect } from "./output.js";
import { create, exec, Later, parse } from "./own.js";
import { outgoing } from "./values.js";

const NODE = /^node:(assert|async_hooks|buffer|crypto|events|path|perf_hooks|punycode|querystring|stream|string_decoder|timers|url|util|zlib)(\/|$)/;
const MAP = "\n//# sourceMappingURL=data:application/json;base64,";
const PLACE = /at file:\/\/\/stripTypeScriptTypes\.ts:(\d+):\d+/;
const maps = create(null);
lines.of = (name, line, column) => maps[name]?.findEntry(line - 1, column - 1).originalLine + 1 || line;

const TRIVIAL_PROGRAM = { code: "1 as number", types: true, before: "1", imports: [], params: {}, sets_result: true };

let unhandled = [];
let count = 0;

class ImportError extends Error {}
class ModuleNotFoundError extends ImportError {}
ImportError.prototype.name = "ImportError";
ModuleNotFoundError.prototype.name = "ModuleNotFoundError";

/** What a program has of the runner, by the one name that its edited text uses. */
const ours = Object.defineProperties(create(null), {
  import: { value: imported },
  params: { value: {}, writable: true },
  bound: { value: [], writable: true },
});
Object.defineProperty(globalThis, "__doorward__", { value: ours });

/** `import(…)` of a program. */
async function imported(name) {
  name = String(name);
  if (exec(NODE, name)) return await import(name);
  for (const server of [name, name.replace(/\W/g, "_")]) {
    const members = await ask({ members: server }, (answer) => answer.value);
    if (members) return module(server, members);
  }
  throw new ModuleNotFoundError(`No module named '${name}'`);
}

/** The values of a program's imports, in their order. */
async function bind(imports) {
  const values = [];
  for (const one of imports) {
    try {
      if (one.error) throw new (one.error === "ImportError" ? ImportError : ModuleNotFoundError)(one.message);
      const from = one.server ? module(one.server, one.members) : await imported(one.name);
      for (const name of one.names) {
        values[values.length] = name === null ? from : from[name];
      }
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
    const made = stripTypeScriptTypes(code, { mode: "transform", sourceMap: true });
    const [text, map] = made.split(MAP);
    if (map) maps[name] = new SourceMap(parse(atob(map)));
    return text;
  } catch (error) {
    const place = exec(PLACE, error.message);
    const said = error.message.replace("SyntaxError: ", "").split("\n")[0];
    throw new Thrown(new SyntaxError(said), place ? Number(place[1]) : null);
  }
}

async function execute(program, name) {
  const code = program.types ? plain(program.code, name) : program.code;
  ours.bound = await bind(program.imports);
  ours.params = program.params;
  if (program.before) await evaluate(program.before, "before.js");
  let [value] = await evaluate(code, name);
  if (program.sets_result) {
    const [result] = await evaluate("typeof result === 'undefined' ? undefined : result", "after.js");
    if (result !== undefined) value = result;
  }
  value = await value;
  await allAnswered();
  await new Later((resolve) => setImmediate(resolve)); // the engine tells late of what nobody handles
  if (unhandled.length) throw unhandled[0];
  return value;
}

async function run(program) {
  send({ began: true });
  count++;
  const name = `program${count === 1 ? "" : `-${count}`}.${program.types ? "ts" : "js"}`;
  limits.most = program.most;
  unhandled = [];
  let done;
  try {
    done = { value: await execute(program, name) ?? null };
  } catch (thrown) {
    done = thrown instanceof Thrown ? failed(thrown.error, thrown.line) : failed(thrown, null);
  }
  end(done);
}

function failed(error, line) {
  return { error: failure(error, line) };
}

function end(done) {
  let frame;
  try {
    frame = framed({ done }, undefined, outgoing.value);
  } catch (error) {
    frame = framed({ done: failed(error, null) });
  }
  sendFrame(frame.length > limits.most ? framed({ done: { bytes: frame.length } }) : frame);
}

for (const type of ["unhandledrejection", "error"]) {
  addEventListener(type, (event) => {
    event.preventDefault();
    unhandled[unhandled.length] = event.reason ?? event.error;
  });
}
redirect();
await execute(TRIVIAL_PROGRAM, "warm.ts"); // compiles and copies ahead what the first run needs
send({ ready: Deno.pid });
await listen((message) => void run(message.run));
Deno.exit(0);
