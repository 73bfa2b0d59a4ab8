// Runs texts in the engine's own mode for consoles: it knows the value of the last statement, allows `await` at the top,
// and keeps what a text declares for the next one.

import { Session } from "node:inspector";
import { lines } from "./frames.js";
import { Later, plainPrototype, Whole } from "./own.js";

const session = new Session();
session.connect();
Deno.permissions.revokeSync({ name: "sys", kind: "inspector" });
const post = session.post.bind(session);

/** Fields of the inspector's messages, and what would make all of them another text. */
const FIELDS = ["toJSON", "error", "id", "method", "params", "result", "then"];

/** Takes such fields, which a program has put into every object, out of them: the inspector would fall silent. */
function clean() {
  for (const field of FIELDS) {
    if (field in plainPrototype) delete plainPrototype[field];
  }
}

/** Asks the engine's inspector. */
function asked(method, params) {
  clean();
  return new Later((resolve, reject) => {
    post(method, params, (error, answer) => {
      clean();
      error ? reject(error) : resolve(answer);
    });
  });
}

let handed;
const PLACE = "__doorward_hand__";
globalThis[PLACE] = (value) => {
  handed = value;
};
const hand = (await asked("Runtime.evaluate", { expression: PLACE })).result.objectId;
delete globalThis[PLACE];

/** The object or primitive that the inspector names, as the field of an object. */
async function real(named) {
  if (named.unserializableValue !== undefined) {
    const said = named.unserializableValue;
    return { value: said.endsWith("n") ? Whole(said.slice(0, -1)) : Number(said) };
  }
  if (named.objectId === undefined) return { value: named.value };
  const argument = { objectId: named.objectId };
  await asked("Runtime.callFunctionOn", {
    objectId: hand,
    functionDeclaration: "function (value) { this(value); }",
    arguments: [argument],
  });
  await asked("Runtime.releaseObject", argument);
  const found = { value: handed };
  handed = undefined;
  return found;
}

/** What a text throws, with the line at which the engine says that it is. */
export class Thrown {
  constructor(error, line) {
    this.error = error;
    this.line = line;
  }
}

/** The line of what was thrown in the text called `name`, or where that text is wrong. Of what is no error the engine knows
 * none. */
function lineOf(wrong, name) {
  if (!wrong.stackTrace) return null;
  const at = wrong.stackTrace.callFrames.find((frame) => frame.url === name);
  if (at) return lines.of(name, at.lineNumber + 1, at.columnNumber + 1);
  return wrong.exception?.className === "SyntaxError" ? wrong.lineNumber + 1 : null;
}

/** The value of a text, as the field of an object: a promise would be awaited here. `name` is what its frames are called. */
export async function evaluate(text, name) {
  const { result, exceptionDetails: wrong } = await asked("Runtime.evaluate", {
    expression: `${text}\n//# sourceURL=${name}`,
    replMode: true,
    awaitPromise: true,
  });
  if (wrong) throw new Thrown((await real(wrong.exception ?? result)).value, lineOf(wrong, name));
  return real(result);
}
