internal import Foundation

/// A proxy for tests that speaks HTTP, SOCKS 4a and SOCKS 5, and connects to loopback whatever host it is asked for
/// (python3).
package final class ProxyServer: Sendable {
    /// What it does with a request.
    package enum Manner: String, Sendable, CaseIterable {
        case serve, hang, close, deny, unreachable
    }

    /// The port on 127.0.0.1.
    package let port: UInt16
    private let program: Program

    /// True if python3(1) is installed.
    package static var isAvailable: Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/python3") }

    /// Starts it; with a user it requires `USER:PASSWORD`, with a certificate it speaks TLS to its clients, and with a
    /// reply of SOCKS it gives this one to every request.
    package init(
        _ manner: Manner = .serve, user: String = "", identity: TestAuthority.Identity? = nil, reply: Int? = nil
    ) async throws {
        let mode = reply.map { "\($0)" } ?? manner.rawValue
        let files = identity.map { [$0.certificate, $0.key] } ?? []
        let program = try Program(["python3", "-u", "-c", Self.script, mode, user] + files)
        guard await eventually({ program.outputSoFar.contains("\n") }),
            let port = program.outputSoFar.split(separator: "\n").first.flatMap({ UInt16($0) })
        else { throw Program.NotStarted(description: "proxy: \(program.errorsSoFar)") }
        self.port = port
        self.program = program
    }

    deinit { self.program.signal(9) }

    /// What it was asked for, in order: `VERSION HOST:PORT`, where VERSION is `http`, `socks4` or `socks5`.
    package var requests: [String] {
        self.program.outputSoFar.split(separator: "\n").dropFirst().map(String.init)
    }

    private static let script = """
        import base64, socket, ssl, struct, sys, threading, time
        manner, user = sys.argv[1], sys.argv[2]
        def exactly(c, n):
            b = b''
            while len(b) < n:
                p = c.recv(n - len(b))
                if not p: raise EOFError
                b += p
            return b
        def until(c, end):
            b = b''
            while not b.endswith(end): b += exactly(c, 1)
            return b
        def relay(a, b):
            def copy(x, y):
                try:
                    while True:
                        p = x.recv(65536)
                        if not p: break
                        y.sendall(p)
                except OSError: pass
                try: y.shutdown(socket.SHUT_WR)
                except OSError: pass
            t = threading.Thread(target=copy, args=(a, b), daemon=True); t.start(); copy(b, a); t.join()
        def manners():
            if manner == 'hang': time.sleep(600)
            if manner == 'close': raise EOFError
        def socks5(c):
            exactly(c, exactly(c, 1)[0])
            if user:
                c.sendall(b'\\x05\\x02'); exactly(c, 1)
                name = exactly(c, exactly(c, 1)[0]).decode(); word = exactly(c, exactly(c, 1)[0]).decode()
                good = name + ':' + word == user
                c.sendall(b'\\x01\\x00' if good else b'\\x01\\x01')
                if not good: return
            else: c.sendall(b'\\x05\\x00')
            kind = exactly(c, 4)[3]
            if kind == 1: host = socket.inet_ntoa(exactly(c, 4))
            elif kind == 4: host = socket.inet_ntop(socket.AF_INET6, exactly(c, 16))
            else: host = exactly(c, exactly(c, 1)[0]).decode()
            to = struct.unpack('>H', exactly(c, 2))[0]
            print('socks5 %s:%d' % (host, to)); manners()
            code = int(manner) if manner.isdigit() else {'deny': 2, 'unreachable': 4}.get(manner, 0)
            c.sendall(bytes([5, code, 0, 1]) + bytes(6))
            if code == 0: relay(c, socket.create_connection(('127.0.0.1', to)))
        def socks4(c):
            to, address = struct.unpack('>xH4s', exactly(c, 7)); until(c, b'\\0')
            named = address[:3] == b'\\0\\0\\0'
            host = until(c, b'\\0')[:-1].decode() if named else socket.inet_ntoa(address)
            print('socks4 %s:%d' % (host, to)); manners()
            code = int(manner) if manner.isdigit() else {'deny': 91, 'unreachable': 91}.get(manner, 90)
            c.sendall(bytes([0, code]) + bytes(6))
            if code == 90: relay(c, socket.create_connection(('127.0.0.1', to)))
        def http(c, first):
            head = (first + until(c, b'\\r\\n\\r\\n')).decode()
            target = head.split(' ')[1]
            print('http ' + target); manners()
            token = base64.b64encode(user.encode()).decode()
            if user and 'Proxy-Authorization: Basic ' + token not in head:
                challenge = b'Proxy-Authenticate: Basic realm="p"\\r\\n'
                return c.sendall(b'HTTP/1.1 407 No\\r\\n' + challenge + b'Content-Length: 0\\r\\n\\r\\n')
            status = {'deny': 403, 'unreachable': 502}.get(manner)
            if status: return c.sendall(b'HTTP/1.1 %d No\\r\\nContent-Length: 0\\r\\n\\r\\n' % status)
            if not head.startswith('CONNECT '):
                return c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 8\\r\\nConnection: close\\r\\n\\r\\nby proxy')
            c.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\n')
            relay(c, socket.create_connection(('127.0.0.1', int(target.rsplit(':', 1)[1]))))
        def serve(c):
            try:
                if tls: c = tls.wrap_socket(c, server_side=True)
                first = exactly(c, 1)
                {5: socks5, 4: socks4}.get(first[0], lambda c: http(c, first))(c)
            except (OSError, EOFError): pass
            finally: c.close()
        tls = None
        if len(sys.argv) > 3:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); tls.load_cert_chain(sys.argv[3], sys.argv[4])
        s = socket.create_server(('127.0.0.1', 0))
        print(s.getsockname()[1])
        while True:
            c = s.accept()[0]
            threading.Thread(target=serve, args=(c,), daemon=True).start()
        """
}
