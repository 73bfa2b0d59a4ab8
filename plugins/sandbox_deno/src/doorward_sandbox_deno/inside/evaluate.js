// Runs texts in the engine's own mode for consoles: it knows the value of the last statement, allows `await` at the top,
// and keeps what a text declares for the next one.

import { Session } from "node:inspector";
import { Later, Whole } from "./own.js";

const session = new Session();
session.connect();
Deno.permissions.revokeSync({ name: "sys", kind: "inspector" });
const post = session.post.bind(session);

/** Asks the engine's inspector. It answers once with `error`, or with what was asked for. */
function asked(method, params) {
  return new Later((resolve, reject) => {
    post(method, params, (error, answer) => error ? reject(error) : resolve(answer));
  });
}

let handed;
const PLACE = "__doorward_hand__";
globalThis[PLACE] = (value) => {
  handed = value;
};
const hand = (await asked("Runtime.evaluate", { expression: PLACE })).result.objectId;
delete globalThis[PLACE];

/** The object or primitive that the inspector names. */
async function real(named) {
  if (named.unserializableValue !== undefined) {
    const said = named.unserializableValue;
    return said.endsWith("n") ? Whole(said.slice(0, -1)) : Number(said);
  }
  if (named.objectId === undefined) return named.value;
  const argument = { objectId: named.objectId };
  await asked("Runtime.callFunctionOn", {
    objectId: hand,
    functionDeclaration: "function (value) { this(value); }",
    arguments: [argument],
  });
  await asked("Runtime.releaseObject", argument);
  const value = handed;
  handed = undefined;
  return value;
}

/** What a text throws, with the line at which the engine says that it is. */
export class Thrown {
  constructor(error, line) {
    this.error = error;
    this.line = line;
  }
}

/** The value of a text. `name` is what its frames are called. It is in an array, since a promise would be awaited here. */
export async function evaluate(text, name) {
  const { result, exceptionDetails: wrong } = await asked("Runtime.evaluate", {
    expression: `${text}\n//# sourceURL=${name}`,
    replMode: true,
    awaitPromise: true,
  });
  if (wrong) throw new Thrown(await real(wrong.exception ?? result), wrong.lineNumber + 1);
  return [await real(result)];
}
