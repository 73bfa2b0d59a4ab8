"""The network: the host's listeners, whatever their family, routes to anywhere, and odd kinds of sockets."""

from ..attack import Attack, nothing_or_dead

_CONNECT = """
def connect(what, family, kind, address, seconds=0.5):
    try:
        with socket.socket(family, kind) as s:
            s.settimeout(seconds)
            s.connect(address)
            s.sendall(b"escaped")
            reached.append(what)
    except FAILURES:
        pass
"""

ATTACKS = [
    Attack("the loopback of the host", _CONNECT + """
for name, port in HOST["ports"].items():
    if name != "udp":
        for address in ("127.0.0.1", "localhost", "0.0.0.0", "127.1.2.3", HOST["address"]):
            connect(f"{address}:{port}", socket.AF_INET, socket.SOCK_STREAM, (address, port))
""", control=True),
    Attack("IPv6", _CONNECT + """
for name, port in HOST["ports"].items():
    for address in ("::1", "::", "::ffff:127.0.0.1", "fe80::1%lo"):
        connect(f"{address}:{port}", socket.AF_INET6, socket.SOCK_STREAM, (address, port))
connect("2001:db8::1", socket.AF_INET6, socket.SOCK_DGRAM, ("2001:db8::1", 53))
""", control=True),
    Attack("UDP", """
s = None
try:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b"escaped", ("127.0.0.1", HOST["ports"]["udp"]))
    s.connect(("192.0.2.1", 53))
    reached.append("a route by UDP")
except FAILURES:
    pass
try:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.sendto(b"escaped", ("255.255.255.255", HOST["ports"]["udp"]))
    reached.append("broadcast")
except FAILURES:
    pass
""", control=True),
    Attack("addresses of clouds and of this machine", _CONNECT + """
for address in ("169.254.169.254", "100.100.100.200", "192.168.0.1", "10.0.0.1", "172.17.0.1", "8.8.8.8", "1.1.1.1", HOST["address"]):
    connect(address, socket.AF_INET, socket.SOCK_STREAM, (address, 80), 0.2)
    connect(address, socket.AF_INET, socket.SOCK_STREAM, (address, HOST["ports"]["every"]), 0.2)
    connect("UDP " + address, socket.AF_INET, socket.SOCK_DGRAM, (address, 53), 0.2)
""", control=True),
    Attack("names are resolved", """
for name in ("example.com", "metadata.google.internal", "host.docker.internal", "gateway.docker.internal", "kubernetes.default.svc", HOST["hostname"] + ".local"):
    attempt("resolved " + name, socket.gethostbyname, name)
servers = []
try:
    servers = re.findall(r"nameserver\\s+(\\S+)", open("/etc/resolv.conf").read())
except OSError:
    pass
for server in [*servers, "8.8.8.8"]:
    try:
        s = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(0.3)
        s.sendto(b"\\x12\\x34\\x01\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\3com\\0\\0\\1\\0\\1", (server, 53))
        s.recv(512)
        reached.append("an answer of " + server)
    except FAILURES:
        pass
"""),
    Attack("by libraries and tools", """
import http.client, urllib.request
port = HOST["ports"]["tcp"]
attempt("urllib", urllib.request.urlopen, f"http://127.0.0.1:{port}/", timeout=0.3)
attempt("http.client", lambda: http.client.HTTPConnection("127.0.0.1", port, timeout=0.3).request("GET", "/"))
for words in (["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"], ["curl", "-m1", f"http://127.0.0.1:{port}"], ["nc", "-w1", "127.0.0.1", str(port)], ["wget", "-T1", f"http://127.0.0.1:{port}"]):
    try:
        if subprocess.run(words, timeout=0.7, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            reached.append(words[0])
    except FAILURES:
        pass
""", control=True),
    Attack("asyncio", """
import asyncio
async def go():
    try:
        await asyncio.wait_for(asyncio.open_connection("127.0.0.1", HOST["ports"]["tcp"]), 0.5)
        reached.append("asyncio")
    except (*FAILURES, asyncio.TimeoutError):
        pass
await go()
"""),
    Attack("without Python's sockets", """
fd = libc.socket(2, 1, 0)
address = struct.pack("<H", 2) + struct.pack(">H", HOST["ports"]["tcp"]) + socket.inet_aton("127.0.0.1") + bytes(8)
if fd >= 0 and libc.connect(fd, address, 16) == 0:
    reached.append("connected")
if fd >= 0 and libc.sendto(libc.socket(2, 2, 0), b"x", 1, 0, struct.pack("<H", 2) + struct.pack(">H", HOST["ports"]["udp"]) + socket.inet_aton("127.0.0.1") + bytes(8), 16) > 0:
    pass  # an empty network takes it and drops it; the host looks whether it has come
""", control=True),
    Attack("abstract sockets", _CONNECT + """
connect("a stream", socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + HOST["abstract"])
connect("a datagram", socket.AF_UNIX, socket.SOCK_DGRAM, "\\0" + HOST["abstract"] + "-d")
for name in ("/tmp/.X11-unix/X0", "/org/freedesktop/systemd1/notify", "/run/systemd/notify", "/containerd-shim"):
    connect(name, socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + name)
""", control=True),
    Attack("sockets in the file system", _CONNECT + """
paths = [HOST["folder"] + "/socket", "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/docker.sock", "/var/run/docker.sock", "/run/user/0/bus",
         "/run/containerd/containerd.sock", "/dev/log", "/run/snapd.socket", "/run/systemd/journal/socket"]
for path in paths:
    connect(path, socket.AF_UNIX, socket.SOCK_STREAM, path)
    connect(path, socket.AF_UNIX, socket.SOCK_DGRAM, path)
    connect(path, socket.AF_UNIX, socket.SOCK_SEQPACKET, path)
""", control=True),
    Attack("sockets that the kernel lists", """
for path in ("/proc/net/unix", "/proc/self/net/unix", "/proc/1/net/unix", "/proc/net/tcp"):
    try:
        text = open(path).read()
    except OSError:
        continue
    if HOST["abstract"] in text or f":{HOST['ports']['tcp']:04X} " in text:
        reached.append(path)
    for name in re.findall(r"@\\S+", text):
        reached.append(name)
""", control=True),
    Attack("raw sockets", """
for protocol in (1, 6, 17, 255):
    attempt(f"raw {protocol}", socket.socket, socket.AF_INET, socket.SOCK_RAW, protocol)
    attempt(f"raw6 {protocol}", socket.socket, socket.AF_INET6, socket.SOCK_RAW, protocol)
""", control=True),
    Attack("packet sockets", """
for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM, 10):
    attempt(f"packet {kind}", socket.socket, 17, kind, socket.htons(3))
""", control=True),
    Attack("netlink", """
for protocol in (0, 2, 4, 6, 7, 9, 12, 15, 16):
    attempt(f"netlink {protocol}", socket.socket, 16, socket.SOCK_RAW, protocol)
""", control=True),
    Attack("sockets between machines (vsock)", """
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    attempt(f"vsock {kind}", socket.socket, 40, kind, 0)
for cid in (0, 1, 2, 3, 0xFFFFFFFF):
    try:
        with socket.socket(40, socket.SOCK_STREAM) as s:
            s.settimeout(0.1)
            s.connect((cid, 47111))
            reached.append(f"vsock {cid}")
    except FAILURES:
        pass
""", control=True),
    Attack("families that nobody needs", """
for family in (3, 4, 5, 6, 8, 9, 11, 12, 15, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 41, 42, 43, 44, 45):
    for kind in (1, 2, 3, 5):
        attempt(f"family {family} kind {kind}", lambda: socket.socket(family, kind, 0).close())
""", nothing_or_dead),
    Attack("interfaces", """
names = []
try:
    names = [name for _, name in socket.if_nameindex()]
except OSError:
    pass
try:
    names += [line.split(":")[0].strip() for line in open("/proc/net/dev").read().splitlines()[2:]]
except OSError:
    pass
try:
    names += os.listdir("/sys/class/net")
except OSError:
    pass
reached.extend(sorted({name for name in names if name not in ("lo", "bonding_masters") and not name.startswith(("tunl", "sit", "ip6", "gre", "erspan", "ip_vti", "dummy", "teql"))}))
""", control=True),
    Attack("an interface is made", """
import fcntl
try:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    flags = struct.pack("16sH14x", b"lo", 0x41)
    fcntl.ioctl(s, 0x8914, flags)
    reached.append("changed lo")
except FAILURES:
    pass
try:
    fd = os.open("/dev/net/tun", os.O_RDWR)
    reached.append("opened tun")
    fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH22x", b"dw0", 0x1001))
    reached.append("made tun")
except FAILURES:
    pass
"""),
]  # fmt: skip
