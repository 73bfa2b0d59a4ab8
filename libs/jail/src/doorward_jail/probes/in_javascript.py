"""The programs of the trials in JavaScript, for executors of it and of TypeScript: they reach for what Deno and Node
offer, and for what the language itself has."""

from __future__ import annotations

_TRY = """
const attempt = (work) => { try { return work(); } catch { return undefined; } };
const attempted = async (work) => { try { return await work(); } catch { return undefined; } };
const within = (promise) => Promise.race([promise, new Promise((done) => setTimeout(done, 1000))]);
const node = (name) => attempted(() => (0, eval)(`import("node:${name}")`));
"""
"""`eval` keeps the import from whoever reads the program before it runs."""

NETWORK = (
    _TRY
    + """
const TCP = 0;
const TCP6 = 0;
const UDP = 0;
const NAME = "";
const PATH = "";
const ROUTES = true;
const result = [];
const tcp = [["the host's loopback", "127.0.0.1", TCP], ["the host's loopback by IPv6", "::1", TCP6]];
for (const [what, hostname, port] of tcp) {
  if (await attempted(() => within(Deno.connect({ hostname, port })))) result.push(what);
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  if (await attempted(() => within(fetch(`http://${host}:${port}`)))) result.push(what);
}
const paths = [["an abstract Unix socket", "\\0" + NAME], ["a Unix socket", PATH]];
for (const [what, path] of paths) {
  if (await attempted(() => within(Deno.connect({ transport: "unix", path })))) result.push(what);
}
const net = await node("net");
const connected = (to) => new Promise((done) => {
  const socket = net.connect(to, () => { socket.write("x"); done(true); });
  socket.on("error", () => done(undefined));
});
const wanted = [["the host's loopback", { host: "127.0.0.1", port: TCP }], ["a Unix socket", { path: PATH }]];
for (const [what, to] of wanted) {
  if (await attempted(() => within(connected(to)))) result.push(what);
}
const dgram = await node("dgram");
const sent = (port, address) => new Promise((done) => {
  const socket = dgram.createSocket("udp4");
  socket.on("error", () => done(undefined));
  socket.send("x", port, address, (error) => done(error ? undefined : true));
});
await attempted(() => within(sent(UDP, "127.0.0.1")));
if (ROUTES && await attempted(() => within(sent(53, "192.0.2.1")))) result.push("a route to name servers");
if (await attempted(() => within(Deno.resolveDns("localhost", "A")))) result.push("a name server");
"""
)

READ = (
    _TRY
    + """
const PATH = "";
const fs = await node("fs");
const result = [
  attempt(() => Deno.readTextFileSync(PATH)),
  attempt(() => fs.readFileSync(PATH, "utf8")),
  await attempted(async () => (await fetch(`file://${PATH}`)).text()),
  await attempted(async () => (await (0, eval)(`import("file://${PATH}", { with: { type: "text" } })`)).default),
];
"""
)

LOOK = (
    _TRY
    + """
const PATHS = [""];
const FOLDERS = [""];
const fs = await node("fs");
const result = [];
for (const path of PATHS) {
  attempt(() => {
    Deno.readFileSync(path);
    const { dev, ino } = Deno.statSync(path);
    result.push([path, dev, ino]);
  });
  attempt(() => {
    fs.closeSync(fs.openSync(path));
    const { dev, ino } = fs.statSync(path);
    result.push([path, dev, ino]);
  });
}
for (const folder of FOLDERS) {
  attempt(() => result.push([folder, ...[...Deno.readDirSync(folder)].map((one) => one.name)]));
  attempt(() => result.push([folder, ...fs.readdirSync(folder)]));
}
"""
)

WRITE = (
    _TRY
    + """
const FOLDERS = [""];
const SPECIAL = [""];
const NAME = "";
const PATH = "";
const fs = await node("fs");
for (const folder of FOLDERS) {
  attempt(() => Deno.writeTextFileSync(`${folder}/${NAME}`, "x", { createNew: true }));
  attempt(() => fs.writeFileSync(`${folder}/${NAME}`, "x", { flag: "wx" }));
}
attempt(() => Deno.writeTextFileSync(PATH, "x", { append: true }));
attempt(() => fs.appendFileSync(PATH, "x"));
attempt(() => Deno.chmodSync(PATH, 0o600));
attempt(() => fs.chmodSync(PATH, 0o600));
attempt(() => Deno.removeSync(PATH));
attempt(() => fs.unlinkSync(PATH));
const result = [];
for (const path of SPECIAL) {
  if (attempt(() => Deno.openSync(path, { write: true }))) result.push(path);
  if (attempt(() => fs.openSync(path, "w")) !== undefined) result.push(path);
}
"""
)

DESCRIPTORS = (
    _TRY
    + """
const WHERE = [0];
const fs = await node("fs");
const result = [];
const isThere = ({ dev, ino }) => dev === WHERE[0] && ino === WHERE[1];
for (let number = 0; number < 512; number++) {
  attempt(() => {
    if (isThere(fs.fstatSync(number))) {
      fs.writeSync(number, "x");
      result.push(number);
    }
  });
  attempt(() => {
    const path = `/proc/self/fd/${number}`;
    if (isThere(Deno.statSync(path))) {
      Deno.writeTextFileSync(path, "x");
      result.push(path);
    }
  });
}
"""
)

PROCESS = (
    _TRY
    + """
const PID = 0;
const TOKEN = "";
const fs = await node("fs");
const result = [];
for (const { name } of attempt(() => [...Deno.readDirSync("/proc")]) ?? []) {
  for (const file of ["cmdline", "environ"]) {
    if (attempt(() => Deno.readTextFileSync(`/proc/${name}/${file}`))?.includes(TOKEN)) result.push(name);
  }
}
if (attempt(() => fs.readFileSync(`/proc/${PID}/cmdline`, "utf8"))?.includes(TOKEN)) result.push(PID);
attempt(() => Deno.kill(PID, "SIGKILL"));
const process = await node("process");
attempt(() => process.kill(PID, "SIGKILL"));
"""
)

ENVIRONMENT = (
    _TRY
    + """
const process = await node("process");
const fs = await node("fs");
const result = [
  attempt(() => Deno.env.toObject()),
  attempt(() => Deno.env.get("DOORWARD_PROBE")),
  attempt(() => ({ ...process.env })),
  attempt(() => process.env.DOORWARD_PROBE),
  attempt(() => Deno.readTextFileSync("/proc/self/environ")),
  attempt(() => fs.readFileSync("/proc/self/environ", "utf8")),
];
"""
)

PRIVILEGES = (
    _TRY
    + """
const process = await node("process");
const threads = await node("worker_threads");
const result = [];
const gained = (what, work) => { if (attempt(work) !== undefined) result.push(what); };
gained("foreign functions", () => Deno.dlopen("libc.so.6", { getuid: { parameters: [], result: "u32" } }));
gained("native modules", () => process.dlopen({ exports: {} }, "/lib/x86_64-linux-gnu/libc.so.6") ?? true);
gained("another user", () => process.setuid(54321) ?? true);
gained("another folder", () => Deno.chdir("/tmp") ?? true);
gained("the user's number", () => Deno.uid() ?? undefined);
for (const name of ["read", "write", "net", "env", "run", "ffi", "sys", "import"]) {
  const state = attempt(() => Deno.permissions.querySync({ name }).state);
  if (state === "granted") result.push(`the permission ${name}`);
  if (attempt(() => Deno.permissions.requestSync({ name }).state) === "granted") result.push(`to ask for ${name}`);
}
"""
)

MEMORY = """
const MIB = 0;
const held = [];
let taken = 0;
for (; taken < MIB; taken += 4) held.push(new Uint8Array(4194304).fill(taken % 10));
const result = taken;
"""

PROCESSES = (
    _TRY
    + """
const MOST = 0;
const NAME = "";
const SECONDS = 0.5;
const child = await node("child_process");
let result = 0;
for (let n = 0; n < MOST; n++) {
  const words = ["-c", `exec -a ${NAME} sleep ${SECONDS}`];
  const isOne = attempt(() => new Deno.Command("sh", { args: words }).spawn()) ??
    attempt(() => child.spawn("sh", words)) ?? attempt(() => child.execSync("true"));
  if (!isOne) break;
  result++;
}
"""
)

SCRATCH = (
    _TRY
    + """
const MIB = 0;
const fs = await node("fs");
const piece = new Uint8Array(8 * 2 ** 20);
const made = [];
let result = 0;
for (; result < MIB; result += 8) {
  const name = `probe-${result}`;
  const isMade = attempt(() => Deno.writeFileSync(name, piece) ?? true) ??
    attempt(() => fs.writeFileSync(name, piece) ?? true);
  if (!isMade) break;
  made.push(name);
}
for (const name of made) attempt(() => Deno.removeSync(name));
"""
)

DEADLINE = """
const NAME = "";
for (;;) {
  try {
    for (;;);
  } catch {
    continue;
  }
}
"""

LEAVE = (
    _TRY
    + """
const FOLDERS = [];
const NAME = "";
const fs = await node("fs");
const result = [];
for (const folder of FOLDERS) {
  const file = `${folder}/${NAME}`;
  if (attempt(() => Deno.statSync(file)) || attempt(() => fs.statSync(file))) result.push(folder);
  attempt(() => Deno.writeTextFileSync(file, "x"));
  attempt(() => fs.writeFileSync(file, "x"));
}
"""
)
