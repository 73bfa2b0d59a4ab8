"""Attacks in JavaScript that reach for the host: its files, environment, processes, network, and for privileges."""

from ..attack import Script, contained, either, failed, nothing, nothing_or_dead

_PATHS = "for (const path of [...HOST.canaries, `/proc/${HOST.gateway}/environ`, '/proc/self/environ', '/proc/1/environ']) {\n"

ATTACKS = [
    Script("files by Deno", _PATHS + """
  await look(path, Deno.readTextFileSync, path);
  await look(path, Deno.readFile, path);
  await look(path, async () => { const file = await Deno.open(path); const data = new Uint8Array(1000); await file.read(data); return data; });
}""", control=True),
    Script("files by Node", """const fs = await node("fs"), promises = await node("fs/promises");
""" + _PATHS + """
  await look(path, fs.readFileSync, path, "utf8");
  await look(path, promises.readFile, path, "utf8");
  await look(path, async () => { let text = ""; for await (const part of fs.createReadStream(path)) text += part; return text; });
}""", control=True),
    Script("files as modules and pages", _PATHS + """
  for (const type of ["text", "bytes", "json"]) {
    await look(path, async () => (await (0, eval)(`import("file://${path}", { with: { type: "${type}" } })`)).default);
  }
  await look(path, async () => (await soon(fetch(`file://${path}`))).text());
  await look(path, async () => { const { createRequire } = await node("module"); return createRequire("file:///")(path); });
  await look(path, async () => { try { return await (0, eval)(`import("file://${path}")`); } catch (error) { return String(error); } });
}""", control=True),
    Script("what is known of files", """
const fs = await node("fs");
for (const path of [...HOST.canaries, HOST.folder, HOST.drop]) {
  for (const work of [Deno.statSync, Deno.lstatSync, Deno.realPathSync, Deno.readLinkSync, Deno.readDirSync, Deno.watchFs, fs.statSync, fs.opendirSync, fs.accessSync]) {
    await attempt(`${work.name} of ${path}`, work, path);
  }
}""", control=True),
    Script("files are written", """
const fs = await node("fs");
const to = `${HOST.drop}/escaped`;
await attempt("writeTextFile", Deno.writeTextFileSync, to, "x");
await attempt("writeFileSync", fs.writeFileSync, to, "x");
await attempt("mkdir", Deno.mkdirSync, `${to}-folder`);
await attempt("makeTempFile", Deno.makeTempFileSync, { dir: HOST.drop });
await attempt("copyFile", Deno.copyFileSync, HOST.canaries[0], `${to}-copy`);
await attempt("symlink", Deno.symlinkSync, HOST.canaries[0], `${to}-link`);
await attempt("link", Deno.linkSync, HOST.canaries[0], `${to}-hard`);
for (const path of HOST.canaries) {
  await attempt("append", Deno.writeTextFileSync, path, "x", { append: true });
  await attempt("truncate", Deno.truncateSync, path);
  await attempt("rename", Deno.renameSync, path, `${path}-moved`);
  await attempt("remove", Deno.removeSync, path);
  await attempt("chmod", Deno.chmodSync, path, 0o600);
  await attempt("utime", Deno.utimeSync, path, 0, 0);
}"""),
    Script("files that engines write by themselves", """
const to = HOST.drop;
const v8 = await node("v8"), process = await node("process");
await attempt("a heap snapshot", () => v8.writeHeapSnapshot(`${to}/heap`));
await attempt("a coverage report", () => v8.takeCoverage?.() ?? nothing);
await attempt("a report", () => process.report.writeReport(`${to}/report`) || nothing);
await attempt("a database of Node", async () => new (await node("sqlite")).DatabaseSync(`${to}/db`));
await attempt("a database of Deno", () => Deno.openKv(`${to}/kv`));
await attempt("an attached database", async () => {
  const { DatabaseSync } = await node("sqlite");
  new DatabaseSync(":memory:").exec(`ATTACH '${to}/attached' AS a; CREATE TABLE a.t (x)`);
});
"""),
    Script("the system's interface for web assembly", """
const { WASI } = await node("wasi");
await attempt("a folder", () => new WASI({ version: "preview1", preopens: { "/": "/" } }).getImportObject().wasi_snapshot_preview1.path_open ? nothing : nothing);
""", contained),
    Script("variables", """
const process = await node("process");
await look("env", () => Deno.env.toObject());
await look("get", () => Deno.env.get("DW_ESCAPE"));
await look("process", () => ({ ...process.env }));
await look("argv", () => process.argv);
await look("getBuiltinModule", () => globalThis.process.getBuiltinModule("process").env.DW_ESCAPE);
""", control=True),
    Script("inherited descriptors", """
const fs = await node("fs");
for (let number = 3; number < 256; number++) {
  await look(`descriptor ${number}`, () => {
    const data = new Uint8Array(1000);
    if (fs.fstatSync(number).isFile()) fs.readSync(number, data, 0, 1000, 0);
    return data;
  });
  const path = `/proc/self/fd/${number}`;
  await look(path, () => Deno.statSync(path).isFile ? Deno.readTextFileSync(path) : "");
}""", control=True),
    Script("processes", """
const child = await node("child_process");
await attempt("Command", () => new Deno.Command("/bin/true").outputSync());
await attempt("its own program", () => new Deno.Command(Deno.execPath(), { args: ["eval", "1"] }).outputSync());
for (const name of ["execSync", "execFileSync"]) await attempt(name, child[name], "/bin/true");
for (const name of ["spawn", "exec", "execFile", "fork"]) {
  await attempt(name, () => soon(new Promise((done, fail) => { const one = child[name]("/bin/true"); one.on("exit", done); one.on("error", fail); })));
}
await attempt("spawnSync", () => { if (child.spawnSync("/bin/true").status !== 0) throw 0; });
await attempt("cluster", async () => { const cluster = (await node("cluster")).default; return soon(new Promise((done, fail) => { const one = cluster.fork(); one.on("online", done); one.on("error", fail); })); });
""", nothing_or_dead),
    Script("processes of the host are signalled", """
const process = await node("process");
for (const pid of [...HOST.pids, HOST.gateway, 1, -1]) {
  for (const signal of ["SIGTERM", "SIGSTOP", "SIGKILL"]) {
    await attempt(`${signal} ${pid}`, () => { Deno.kill(pid, signal); throw 0; });
    await attempt(`${signal} ${pid}`, () => { process.kill(pid, signal); throw 0; });
  }
}""", nothing_or_dead),
    Script("foreign functions", """
const process = await node("process");
for (const library of ["libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6", "libm.so.6"]) {
  await attempt(library, () => Deno.dlopen(library, { getpid: { parameters: [], result: "i32" } }));
  await attempt(`${library} as a module of Node`, () => process.dlopen({ exports: {} }, library));
}
await attempt("a pointer", () => Deno.UnsafePointerView.getCString(Deno.UnsafePointer.create(0x400000n)));
await attempt("memory", () => new Deno.UnsafePointerView(Deno.UnsafePointer.create(0x400000n)).getUint8(0));
""", nothing_or_dead),
    Script("the inside of Deno", """
const inside = Deno[Deno.internal];
await look("core", () => inside?.core?.ops?.op_read_file_text_sync?.(HOST.canaries[0]));
for (const name of Object.getOwnPropertyNames(inside ?? {})) {
  const part = inside[name];
  if (typeof part === "function") await look(name, () => part(HOST.canaries[0]));
}
const process = await node("process");
for (const name of ["fs", "process_wrap", "spawn_sync", "tcp_wrap", "pipe_wrap", "natives", "config"]) {
  await attempt(`binding ${name}`, () => process.binding(name).open?.(HOST.canaries[0], 0, 0) ?? nothing);
}""", contained),
    Script("permissions are asked for", """
for (const name of ["read", "write", "net", "env", "run", "ffi", "sys", "import"]) {
  for (const more of [{}, { path: "/" }, { host: "127.0.0.1" }, { variable: "PATH" }, { command: "sh" }, { kind: "inspector" }, { kind: "hostname" }]) {
    for (const ask of [Deno.permissions.querySync, Deno.permissions.requestSync]) {
      await attempt(`${name} ${Deno.inspect(more)}`, () => { if (ask.call(Deno.permissions, { name, ...more }).state !== "granted") throw 0; });
    }
  }
}"""),
    Script("more rights", """
const process = await node("process"), os = await node("os");
for (const name of ["setuid", "setgid", "seteuid", "setegid"]) await attempt(name, () => process[name](54321));
await attempt("setgroups", () => process.setgroups([0]));
await attempt("priority", () => os.setPriority(-20));
await attempt("chdir", () => process.chdir(HOST.folder));
await attempt("hostname", () => { if (os.hostname() !== HOST.hostname) throw 0; });
await attempt("user", () => os.userInfo());
await attempt("interfaces", () => { if (Object.keys(os.networkInterfaces()).length === 0) throw 0; });
await attempt("the debugger", async () => (await node("inspector")).open(0));
await attempt("a session of the debugger", async () => new (await node("inspector")).Session().connect());
await attempt("a session of the main thread", async () => new (await node("inspector")).Session().connectToMainThread());
"""),
    Script("connections by Deno", """
const { tcp, every, udp, tcp6 } = HOST.ports;
for (const port of [tcp, every, 22, 80]) {
  for (const hostname of ["127.0.0.1", "localhost", "0.0.0.0", HOST.address, "169.254.169.254"]) {
    await attempt(`${hostname}:${port}`, () => soon(Deno.connect({ hostname, port }), 200));
  }
}
await attempt("IPv6", () => soon(Deno.connect({ hostname: "::1", port: tcp6 ?? tcp })));
await attempt("an abstract socket", () => soon(Deno.connect({ transport: "unix", path: "\\0" + HOST.abstract })));
await attempt("a Unix socket", () => soon(Deno.connect({ transport: "unix", path: `${HOST.folder}/socket` })));
await attempt("vsock", () => soon(Deno.connect({ transport: "vsock", cid: 2, port: 47111 })));
await attempt("tls", () => soon(Deno.connectTls({ hostname: "127.0.0.1", port: tcp })));
await attempt("quic", () => soon(Deno.connectQuic({ hostname: "127.0.0.1", port: udp })));
await attempt("names", () => soon(Deno.resolveDns("localhost", "A")));
for (const work of [() => Deno.listen({ port: 0 }), () => Deno.serve({ port: 0 }, () => new Response()), () => Deno.listenDatagram({ port: 0, transport: "udp" })]) {
  await attempt(String(work), work);
}""", nothing_or_dead, control=True),
    Script("connections by Node and the web", """
const { tcp, udp } = HOST.ports;
const net = await node("net"), dgram = await node("dgram"), http = await node("http"), dns = await node("dns/promises");
const connected = (...to) => soon(new Promise((done, fail) => { const s = net.connect(...to, () => done(true)); s.on("error", fail); }));
await attempt("net", connected, tcp, "127.0.0.1");
await attempt("a Unix socket", connected, `${HOST.folder}/socket`);
await attempt("an abstract socket", connected, "\\0" + HOST.abstract);
await attempt("http", () => soon(new Promise((done, fail) => http.get(`http://127.0.0.1:${tcp}/`, done).on("error", fail))));
await attempt("udp", () => soon(new Promise((done, fail) => { const s = dgram.createSocket("udp4"); s.on("error", fail); s.send("x", udp, "127.0.0.1", (e) => e ? fail(e) : done(true)); })));
await attempt("dns", () => soon(dns.resolve4("localhost")));
await attempt("fetch", () => soon(fetch(`http://127.0.0.1:${tcp}/`)));
await attempt("a web socket", () => soon(new Promise((done, fail) => { const s = new WebSocket(`ws://127.0.0.1:${tcp}/`); s.onopen = done; s.onerror = fail; })));
await attempt("an event source", () => soon(new Promise((done, fail) => { const s = new EventSource(`http://127.0.0.1:${tcp}/`); s.onopen = done; s.onerror = (e) => { s.close(); fail(e); }; })));
await attempt("a client with a proxy", () => soon(fetch("http://example.com/", { client: Deno.createHttpClient({ proxy: { url: `http://127.0.0.1:${tcp}` } }) })));
""", either(nothing, failed("NotCapable")), control=True),
    Script("modules from elsewhere", """
for (const name of ["https://example.com/x.js", `http://127.0.0.1:${HOST.ports.tcp}/x.js`, "npm:acorn", "jsr:@std/path", "https://deno.land/x/a.ts", "https://esm.sh/lodash"]) {
  await attempt(name, () => soon((0, eval)(`import("${name}")`), 1000));
}"""),
    Script("threads with rights of their own", """
const threads = await node("worker_threads");
const text = "const { parentPort } = require('node:worker_threads'); let got; try { got = Deno.readTextFileSync('" + HOST.canaries[0] + "') } catch (e) { got = 'no' } parentPort.postMessage(got)";
await look("a thread", () => soon(new Promise((done, fail) => { const w = new threads.Worker(text, { eval: true, env: threads.SHARE_ENV }); w.on("message", done); w.on("error", fail); }), 2000));
await look("a worker", () => soon(new Promise((done, fail) => { const w = new Worker("data:text/javascript," + encodeURIComponent("postMessage(1)"), { type: "module", deno: { permissions: "inherit" } }); w.onmessage = done; w.onerror = fail; }), 2000));
""", nothing_or_dead),
    Script("other contexts", """
const vm = await node("vm");
for (const text of ["Deno", "process", "this.constructor.constructor('return Deno')().readTextFileSync(path)", "this.constructor.constructor('return process')().env.DW_ESCAPE"]) {
  await look(text, () => vm.runInNewContext(text, { path: HOST.canaries[0] }));
  await look(text, () => new Function("path", `return ${text}`)(HOST.canaries[0]));
}
await look("a realm", () => new ShadowRealm().evaluate("Deno.readTextFileSync('/proc/self/environ')"));
"""),
    Script("paths in errors", """
try { null.x; } catch (error) { leaks("stack", error.stack); if (/packages|inside|evaluate/.test(error.stack)) reached.push(error.stack); }
await look("url", () => (0, eval)("import.meta.url"));
"""),
]  # fmt: skip
